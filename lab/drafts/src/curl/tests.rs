//! What commands become; `prony/tests/drafts.rs` runs such plans.

use std::fs;

use expect_test::{Expect, expect};

use super::*;

fn plan_of(command: &str) -> String {
    let made = from_curl(&[command.to_owned()]).unwrap().write("prony from-curl");
    // Without the comments and the load, which all have.
    let lines = made.plan.lines().filter(|line| !line.starts_with('#') || line.contains("left out"));
    lines.filter(|line| !["users = 5", "duration = \"30s\""].contains(line)).collect::<Vec<_>>().join("\n")
        + "\n"
}

fn check(command: &str, expected: &Expect) {
    expected.assert_eq(&plan_of(command));
}

#[test]
fn a_browsers_copy_becomes_a_request() {
    check(
        "curl 'https://shop.example:8443/api/carts/7?x=%20y' \\\n  -H 'accept: */*' -H 'Authorization: Bearer a.b-c' \\\n  \
         -H 'content-type: application/json' \\\n  --data-raw $'{\"name\":\"it\\'s \\u0021\",\"price\":1.50,\"note\":\"${x}\"}' --compressed",
        &expect![[r##"
            # `--compressed` is left out: answers are looked at as they were sent; add the header Accept-Encoding to have them compressed
            name = "shop.example:8443"
            target = "https://shop.example:8443"

            [[requests]]
            name = "POST /api/carts/7"
            path = "/api/carts/7?x=%20y"
            headers = { accept = "*/*", Authorization = "Bearer a.b-c" }
            json = { name = "it's !", price = 1.5, note = "$${x}" }
        "##]],
    );
}

#[test]
fn data_and_methods_follow_curl() {
    let request = |command: &str| {
        let draft = from_curl(&[command.to_owned()]).unwrap();
        let request = &draft.requests[0];
        let headers: Vec<String> =
            request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let body = match &request.body {
            Body::None => "-".to_owned(),
            Body::Text(text) => text.clone(),
            other => format!("{other:?}"),
        };
        format!("{} {} [{}] {body}", request.method, request.path, headers.join(", "))
    };
    let form = "Content-Type: application/x-www-form-urlencoded";
    for (command, expected) in [
        ("curl localhost:8080", "GET / [] -".to_owned()),
        ("curl -d a=1 -d b=2 h/p", format!("POST /p [{form}] a=1&b=2")),
        ("curl -XPUT -da=1 h/p", format!("PUT /p [{form}] a=1")),
        ("curl -sSGd a=1 -d b=2 'h/p?c=3'", "GET /p?c=3&a=1&b=2 [] -".to_owned()),
        ("curl -I h/p", "HEAD /p [] -".to_owned()),
        // As Chromium copies them.
        (r"curl 'http://[::1]/p?f\[a\]=1&q=\{b\}&c=\d'", r"GET /p?f[a]=1&q={b}&c=\d [] -".to_owned()),
        ("curl -g 'http://h/?f[a]=1&q={b}'", "GET /?f[a]=1&q={b} [] -".to_owned()),
        ("curl -b a=1 -b 'b=2; c=3' h", "GET / [Cookie: a=1; b=2; c=3] -".to_owned()),
        (
            "curl --data-urlencode 'q=a b&c' --data-urlencode 'x/y' h",
            format!("POST / [{form}] q=a%20b%26c&x%2Fy"),
        ),
        ("curl -u ada:secret h", "GET / [Authorization: Basic YWRhOnNlY3JldA==] -".to_owned()),
        (
            "curl -H 'Accept:' -H 'X-Empty;' -H 'host: x' -H 'a: 1' -H 'A: 2' h",
            "GET / [X-Empty: , host: x, A: 2] -".to_owned(),
        ),
        ("curl -H 'Host: h:81' h:81/p", "GET /p [] -".to_owned()),
        (
            "curl 'http://us%20er:p%40ss@h/p'",
            "GET /p [Authorization: Basic dXMgZXI6cEBzcw==] -".to_owned(),
        ),
        ("curl -k http://h/p", "GET /p [] -".to_owned()),
        (
            r#"curl --json '{"a":1,"a":2}' h"#,
            r#"POST / [Content-Type: application/json, Accept: application/json] {"a":1,"a":2}"#.to_owned(),
        ),
        (
            r#"curl --json '{"a":12345678901234567890123}' h"#,
            r#"POST / [Content-Type: application/json, Accept: application/json] {"a":12345678901234567890123}"#
                .to_owned(),
        ),
        (
            "curl --json '[1,null]' h",
            "POST / [Content-Type: application/json, Accept: application/json] [1,null]".to_owned(),
        ),
        (
            "curl -b 'a=1; b=2' -A me -e http://x h",
            "GET / [Cookie: a=1; b=2, User-Agent: me, Referer: http://x] -".to_owned(),
        ),
    ] {
        assert_eq!(request(command), expected, "{command}");
        plan_of(command);
    }
}

#[test]
fn graphql_several_requests_and_connections() {
    check(
        "curl -k -m 2.5 --http2 --cacert ca.pem https://api.example/graphql --json '{\"query\":\"{ a(x: $x) }\",\"variables\":{\"x\":[1]}}' \
         --next -F 'name=Ünal \"x\"' http://[::1]:9/up",
        &expect![[r#"
            name = "api.example"
            targets = { "api.example" = "https://api.example", "[::1]:9" = "http://[::1]:9" }
            timeout = "2500ms"
            protocol = "http2"
            tls = { insecure = true }
            steps = [
              "POST /graphql",
              "POST /up",
            ]

            [[requests]]
            name = "POST /graphql"
            path = "/graphql"
            headers = { Accept = "application/json" }
            graphql = { query = "{ a(x: $x) }", variables = { x = [1] } }

            [[requests]]
            name = "POST /up"
            target = "[::1]:9"
            path = "/up"
            headers = { Content-Type = "multipart/form-data; boundary=----prony-form-boundary" }
            body = """
            ------prony-form-boundary\r
            Content-Disposition: form-data; name="name"\r
            \r
            Ünal "x"\r
            ------prony-form-boundary--\r
            """
        "#]],
    );
}

#[test]
fn what_is_sent_otherwise_is_told() {
    check(
        "curl --path-as-is -H 'a: 1' -H 'A: 2' -H 'accept:' --json '[\"${x}\"]' http://h/a/../b",
        &expect![[r##"
            # `--path-as-is` is left out: dots in paths are resolved; write the path into the plan as it is to be sent
            # headers of one name are left out but for the last: a plan has each name once; write several values with commas between them
            name = "h"
            target = "http://h"

            [[requests]]
            name = "POST /b"
            path = "/b"
            headers = { A = "2" }
            json = ["$${x}"]
        "##]],
    );
    let nested = r#"curl --json '{"${a}":{"b":"${c}"}}' h"#;
    assert!(plan_of(nested).contains(r#"json = { "$${a}" = { b = "$${c}" } }"#), "{}", plan_of(nested));
}

#[test]
fn what_cannot_be_said_is_refused() {
    for (command, expected) in [
        ("curl", "the command holds no request for a plan: no address is given"),
        (
            "curl --frob h",
            "`--frob` is no option of curl that is known here; leave it out, or add what it does to the plan by hand",
        ),
        (
            "curl -sQ x h",
            "`-Q` is no option of curl that is known here; leave it out, or add what it does to the plan by hand",
        ),
        ("curl h -H", "`-H` of curl wants a value"),
        ("curl -H nothing h", "the value of `-H` cannot be read: `nothing` is no `Name: value`"),
        ("curl -x p:1 h", "`-x` of curl cannot be said in a plan: requests go to the target itself"),
        (
            "curl -b jar.txt h",
            "`-b` of curl cannot be said in a plan: it names a file of cookies; write them as `name=value`",
        ),
        ("curl ftp://h/x", "`ftp://h/x` is no address of HTTP: it begins with neither http:// nor https://"),
        (
            "curl http://h/{a,b}",
            "`http://h/{a,b}` is no address of HTTP: curl makes several addresses of braces and brackets; write one, or a variable into the plan",
        ),
        (
            "curl 'http://h/[1-3]'",
            "`http://h/[1-3]` is no address of HTTP: curl makes several addresses of braces and brackets; write one, or a variable into the plan",
        ),
        ("curl -m soon h", "the value of `-m` cannot be read: `soon` is no number of seconds"),
        ("curl -d @/nowhere h", "cannot read /nowhere"),
    ] {
        assert_eq!(from_curl(&[command.to_owned()]).unwrap_err().to_string(), expected);
    }
}

#[test]
fn files_are_read_and_words_may_be_parted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("body.txt");
    fs::write(&path, "a\r\nb").unwrap();
    let at = format!("@{}", path.display());
    let body = |flag: &str| {
        let words = ["curl", flag, &at, "http://h/"].map(str::to_owned);
        from_curl(&words).unwrap().requests.remove(0).body
    };
    assert_eq!(body("-d"), Body::Text("ab".to_owned()));
    assert_eq!(body("--data-binary"), Body::Text("a\r\nb".to_owned()));
    assert_eq!(body("--data-raw"), Body::Text(at.clone()));
    let request = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        from_curl(&words).unwrap().requests.remove(0)
    };
    let Body::Text(form) = request(&["curl", "-F", &format!("f={at}"), "http://h/"]).body else {
        panic!("a form is a text")
    };
    let part = "name=\"f\"; filename=\"body.txt\"\r\nContent-Type: text/plain\r\n\r\na\r\nb\r\n";
    assert!(form.contains(part), "{form}");
    let file = path.to_str().unwrap();
    for (address, wanted) in
        [("http://h/up/", "/up/body.txt"), ("h", "/body.txt"), ("h/up", "/up"), ("h/?a=/", "/?a=/")]
    {
        assert_eq!(request(&["curl", "-T", file, address]).path, wanted, "{address}");
    }
    fs::write(directory.path().join("headers"), "A: 1\r\n\r\nB: 2\n").unwrap();
    let headers = format!("@{}", directory.path().join("headers").display());
    let sent = request(&["curl", "-H", &headers, "h"]).headers;
    assert_eq!(sent, [("A", "1"), ("B", "2")].map(|(name, value)| (name.to_owned(), value.to_owned())));
    fs::write(&path, [0xff, 0xfe]).unwrap();
    let words = ["-T", path.to_str().unwrap(), "http://h/"].map(str::to_owned);
    let refused = from_curl(&words).unwrap_err().to_string();
    assert!(refused.contains("is no text in UTF-8"), "{refused}");
}

/// Whoever copies a command from a browser or a colleague has their key in it.
#[test]
fn credentials_of_a_command_are_named() {
    let noted = |command: &str| {
        let notes = from_curl(&[command.to_owned()]).unwrap().notes;
        notes.into_iter().filter(|note| note.contains("Credentials")).collect::<Vec<_>>()
    };
    let put = "put a variable in their place before you give this file to others.";
    assert_eq!(
        noted("curl -H 'X-Api-Key: k' -u ada:x h"),
        [format!("Credentials are in it (x-api-key, authorization): {put}")]
    );
    assert!(noted("curl -H 'Accept: */*' h").is_empty());
}
