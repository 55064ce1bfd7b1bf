//! Rules of `[[operation]]` for calls of the HTTP APIs of sources: who is let in, what is counted, and what is written down.

use serde_json::Value as Json;

use super::{access, bearer, graph_calls::of_graph_with, signed, token, unix_now};
use crate::support::{Server, get};

const RULES: &str = r#"
[auth]
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", scopes = "/scope", "user.id" = "/customer" }
[roles.admin]
unrestricted = true
[roles.reader.sources.graph.types]
User = { select = true }

[[operation]]
match = "POST /db/{graph}/node/{type}/{key}"
rate_limit = [{ by = "user", rate = "1/h", burst = 2 }]
[[operation]]
match = "DELETE /db/*"
scopes = ["graph:write"]
[[operation]]
match = "GET /db/{graph}/nodes"
quota = [{ by = "user", day = 1 }]
[[operation]]
match = "GET /db/{graph}/relationships"
concurrency = { most = 1 }
"#;

fn serve(change: impl FnOnce(&mut prony_server::config::Settings)) -> (Server, tempfile::TempDir) {
    let settings = access(RULES);
    of_graph_with(|of| {
        of.access = settings;
        change(of);
    })
}

fn call(server: &Server, headers: &str, request: &str, body: &str) -> String {
    let length = body.len();
    server.ask(format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))
}

fn user(name: &str, role: &str, scope: &str) -> String {
    bearer(&signed(&serde_json::json!({
        "iss": "https://login.test/", "aud": "shop", "exp": unix_now() + 60, "sub": name, "role": role, "scope": scope,
    })))
}

fn status(response: &str) -> u16 {
    response["HTTP/1.1 ".len()..][..3].parse().expect("a status is a number")
}

/// However the path is written, and whoever asks: roles that may do everything and others.
#[test]
fn calls_are_limited_by_method_and_path() {
    let (server, _directory) = serve(|_| {});
    let (ann, bob) = (user("ann", "admin", ""), user("bob", "reader", ""));
    let create = |headers: &str, path: &str| call(&server, headers, &format!("POST {path}"), "{\"age\": 7}");
    assert_eq!(status(&create(&ann, "/db/rage/node/User/a")), 201);
    assert_eq!(status(&create(&ann, "/db/%72age/node/Us%65r/b")), 201);
    let refused = create(&ann, "/db/rage/node/Other/c");
    assert_eq!(status(&refused), 429);
    let field = |name: &str| refused.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    assert!(
        field("retry-after: ").and_then(|value| value.parse::<u64>().ok()).is_some_and(|value| value > 0)
    );
    assert!(field("ratelimit-policy: ").is_some_and(|value| value.contains("q=2")), "{refused}");
    assert!(field("ratelimit: ").is_some_and(|value| value.contains("r=0")), "{refused}");
    assert!(refused.contains("is reached; there is more in"), "{refused}");
    // What has no rule, or another one, is not counted by it.
    assert_eq!(status(&call(&server, &ann, "PUT /db/rage/node/User/a/properties", "{\"age\": 8}")), 204);
    for _ in 0..4 {
        assert_eq!(status(&call(&server, &ann, "GET /db/rage/node/User/a", "")), 200);
        assert_eq!(status(&call(&server, &ann, "GET /db/rage/relationships", "")), 200);
    }
    // Another user, whose role may not create anything, is counted for itself.
    for expected in [403, 403, 429] {
        assert_eq!(status(&create(&bob, "/db/rage/node/User/x")), expected);
    }
    assert_eq!(status(&call(&server, &ann, "GET /db/rage/nodes", "")), 200);
    assert_eq!(status(&call(&server, &ann, "GET /db/rage/nodes?limit=1", "")), 429);
}

#[test]
fn calls_need_the_scopes_of_their_rule() {
    let (server, _directory) = serve(|_| {});
    let (without, with) = (user("ann", "admin", "graph:read"), user("ann", "admin", "graph:write"));
    assert_eq!(status(&call(&server, &without, "POST /db/rage/node/User/a", "")), 201);
    let refused = call(&server, &without, "DELETE /db/rage/node/User/a", "");
    assert_eq!(status(&refused), 403);
    assert!(refused.contains("insufficient_scope") && refused.contains("a scope is missing"), "{refused}");
    assert_eq!(status(&call(&server, &with, "DELETE /db/rage/node/User/a", "")), 204);
}

#[test]
fn the_rule_for_all_is_for_calls_too() {
    let text = RULES.split("[[operation]]").next().expect("it has a beginning");
    let all = access(&format!(
        "{text}[[operation]]\nmatch = \"*\"\nrate_limit = [{{ by = \"user\", rate = \"1/h\", burst = 3 }}]\n"
    ));
    let (server, _directory) = of_graph_with(|settings| settings.access = all);
    let admin = bearer(&token("admin", 0));
    assert_eq!(status(&call(&server, &admin, "GET /db/rage/nodes", "")), 200);
    assert_eq!(status(&super::ask(&server, &admin, "{ __typename }")), 200);
    assert_eq!(status(&call(&server, &admin, "GET /dbs", "")), 200);
    assert_eq!(status(&call(&server, &admin, "GET /db/rage/nodes", "")), 429);
}

#[test]
fn calls_are_counted_and_written_down() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let path = folder.path().join("audit.jsonl");
    let (server, _directory) = serve(|settings| settings.operation_limits.audit_log.clone_from(&path));
    let (ann, bob) = (user("ann", "admin", ""), user("bob", "reader", ""));
    for _ in 0..3 {
        call(&server, &ann, "POST /db/rage/node/User/secret", "");
    }
    call(&server, &ann, "PUT /db/rage/node/User/secret/property/none", "7");
    call(&server, &bob, "DELETE /db/rage/node/User/secret", "");
    call(&server, &bob, "PUT /db/rage/node/User/secret/properties", "{}");
    call(&server, &ann, "POST /db/rage/nodes/User/age/EQ", "7");
    call(&server, &ann, "GET /db/rage/node/User/secret", "");
    let metrics = server.ask(get("/metrics"));
    server.running.stop();
    let rule = "POST /db/{graph}/node/{type}/{key}";
    for (line, value) in [
        (format!("prony_operation_requests_total{{operation=\"{rule}\"}}"), "3.0"),
        (format!("prony_operation_errors_total{{operation=\"{rule}\"}}"), "1.0"),
        (format!("prony_operation_refusals_total{{operation=\"{rule}\",reason=\"limit\"}}"), "1.0"),
        ("prony_operation_refusals_total{operation=\"DELETE /db/*\",reason=\"scope\"}".to_owned(), "1.0"),
    ] {
        let found = metrics.lines().find_map(|known| known.strip_prefix(&*line)).map(str::trim);
        assert_eq!(found, Some(value), "{line}\n{metrics}");
    }
    let text = std::fs::read_to_string(path).expect("it is there");
    assert!(!text.contains("secret"), "{text}");
    let lines: Vec<Json> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            let field = &line["fields"][0];
            format!("{} {} {} {}", line["outcome"], line["user"], field["field"], field["rows"])
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#""executed" "ann" "POST /db/{graph}/node/{type}/{key}" 1"#,
            r#""failed" "ann" "POST /db/{graph}/node/{type}/{key}" 0"#,
            r#""refused" "ann" "POST /db/{graph}/node/{type}/{key}" null"#,
            r#""executed" "ann" "PUT /db/{graph}/node/{type}/{key}/property/{name}" 0"#,
            r#""refused" "bob" "DELETE /db/{graph}/node/{type}/{key}" null"#,
            r#""refused" "bob" "PUT /db/{graph}/node/{type}/{key}/properties" null"#,
        ]
    );
    assert!(lines[2]["reason"].as_str().is_some_and(|reason| reason.contains("by user")), "{text}");
}
