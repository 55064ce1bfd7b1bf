//! The access log and the ids of requests, on the fast path and by hyper.

use std::{fs, path::Path};

use serde_json::{Value as Json, json};

use super::{ACCESS, access, bearer, signed, token, unix_now};
use crate::support::{Server, Wire, get, post_with};

fn serve(change: impl FnOnce(&mut prony_server::config::Settings)) -> Server {
    let access = access(ACCESS);
    Server::with(|settings| {
        settings.access = access;
        change(settings);
    })
}

fn logging(log: &Path) -> Server {
    serve(|settings| {
        log.clone_into(&mut settings.access_log.file);
        settings.access_log.request_ids = true;
    })
}

/// On the fast path, and by hyper, which closes the connection.
fn both(server: &Server, headers: &str, body: &str) -> [String; 2] {
    let headers = format!("{}{headers}content-type: application/json\r\n", bearer(&token("customer", 2)));
    let mut wire: Wire = server.connect();
    wire.send(post_with(&headers, body));
    [wire.response(), server.ask(post_with(&format!("connection: close\r\n{headers}"), body))]
}

fn id_of(response: &str) -> Option<&str> {
    response.lines().find_map(|line| line.strip_prefix("x-request-id: ")).map(str::trim)
}

#[test]
fn requests_are_known_by_their_ids_and_have_a_line_each() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let log = folder.path().join("access.jsonl");
    let server = logging(&log);
    for response in both(&server, "X-Request-Id: mine-7\r\n", r#"{"query":"{ nothing"}"#) {
        assert!(response.contains("errors"), "{response}");
    }
    let named = r#"{"query":"query Titles { albums(limit: 1) { Title } }"}"#;
    for response in both(&server, "x-request-id: mine-8\r\n", named) {
        assert_eq!(id_of(&response), Some("mine-8"), "{response}");
        assert!(response.contains("Title") && !response.contains("request_id"), "{response}");
    }
    for response in both(&server, "X-Request-Id: mine-9\r\n", r#"{"query":"query Wrong { nothing }"}"#) {
        assert_eq!(id_of(&response), Some("mine-9"), "{response}");
        assert!(response.contains(r#""request_id":"mine-9""#), "{response}");
    }
    let [one, two] = both(&server, "X-Request-Id: not \"sane\"\r\n", named);
    let made = [id_of(&one).expect("it has an id"), id_of(&two).expect("it has an id")];
    assert!(made[0] != made[1] && made.iter().all(|id| id.len() >= 24), "{made:?}");
    let live = server.ask(get("/live"));
    assert!(id_of(&live).is_some(), "{live}");
    server.running.stop();

    let text = fs::read_to_string(log).expect("it is there");
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(lines.len(), 9, "{text}");
    let titles: Vec<_> = lines.iter().filter(|line| line["request_id"] == "mine-8").collect();
    assert_eq!(titles.len(), 2);
    for line in titles {
        let expected =
            [("method", "POST"), ("path", "/graphql"), ("operation", "Titles"), ("role", "customer")];
        for (name, value) in expected {
            assert_eq!(line[name], value, "{line}");
        }
        assert_eq!(line["status"], 200);
        assert!(line["bytes"].as_u64().is_some_and(|bytes| bytes > 20), "{line}");
        assert!(line["duration_ms"].as_f64().is_some_and(|duration| duration > 0.0), "{line}");
    }
    assert_eq!(lines[8]["path"], "/live");
}

/// Behind a proxy that is trusted, and as limits by address count.
#[test]
fn a_line_names_the_user_and_the_clients_address() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let log = folder.path().join("access.jsonl");
    let access =
        access(&ACCESS.replace("[auth]", "[auth]\ntrusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]"));
    let server = Server::with(|settings| {
        settings.access = access;
        log.clone_into(&mut settings.access_log.file);
    });
    let claims = json!({
        "iss": "https://login.test/", "aud": "shop", "exp": unix_now() + 600, "sub": "ann", "role": "customer", "customer": 2,
    });
    let named = bearer(&signed(&claims));
    let forwarded = "x-forwarded-for: 6.6.6.6, 192.0.2.7, 10.0.0.2\r\n";
    for headers in [format!("{named}{forwarded}"), named, String::new()] {
        let headers = format!("{headers}content-type: application/json\r\n");
        for way in ["", "connection: close\r\n"] {
            let response = server.ask(post_with(&format!("{headers}{way}"), r#"{"query":"{ __typename }"}"#));
            assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        }
    }
    server.running.stop();
    let text = fs::read_to_string(log).expect("it is there");
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let said: Vec<_> = lines.iter().map(|line| [&line["client"], &line["user"], &line["role"]]).collect();
    let expected = [
        [json!("192.0.2.7"), json!("ann"), json!("customer")],
        [json!("127.0.0.1"), json!("ann"), json!("customer")],
        [json!("127.0.0.1"), Json::Null, json!("visitor")],
    ];
    let expected: Vec<_> = expected.iter().flat_map(|line| [line.each_ref(), line.each_ref()]).collect();
    assert_eq!(said, expected, "{text}");
    assert!(!text.contains("Bearer") && !text.contains(&signed(&claims)), "{text}");
}

#[test]
fn without_them_nothing_is_said_of_requests() {
    let server = serve(|_| {});
    for response in both(&server, "X-Request-Id: mine-7\r\n", r#"{"query":"{ nothing }"}"#) {
        assert!(id_of(&response).is_none() && !response.contains("mine-7"), "{response}");
    }
}
