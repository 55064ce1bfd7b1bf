//! Calls on a graph by roles that may not do everything.

use std::sync::Arc;

use expect_test::expect;
use prony_server::config::{self, AccessSettings, CommandLine, Settings};

use super::{access, bearer, token};
use crate::support::{KINDS, Server};

pub(super) const ACCESS: &str = r#"
[auth]
anonymous = "visitor"
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", "user.id" = "/customer" }

[roles.visitor.sources.graph.types]
User = { select = { columns = ["name"], rows = { age = { gt = "$user.id" } } } }
KNOWS = { select = true }
[roles.admin]
unrestricted = true
"#;

fn call(server: &Server, headers: &str, method: &str, path: &str, body: &str) -> String {
    format!("{method} {path}\n  {}\n", ask(server, headers, method, &format!("/db/rage/{path}"), body))
}

/// The status and the body of a response.
pub(super) fn ask(server: &Server, headers: &str, method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    let response = server.ask(format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ));
    let status = response["HTTP/1.1 ".len()..][..3].to_owned();
    format!("{status} {}", response.lines().last().unwrap_or_default())
}

/// A server of a graph, and the graph's directory.
pub(super) fn of_graph(access: Arc<AccessSettings>) -> (Server, tempfile::TempDir) {
    of_graph_with(|settings| settings.access = access)
}

/// The same with other settings.
pub(super) fn of_graph_with(change: impl FnOnce(&mut Settings)) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let graph = format!("graph:{}", directory.path().display());
    let server = Server::with(|settings| {
        let line = CommandLine { sources: vec![graph], ..CommandLine::default() };
        let with = config::load(KINDS, None, line, &|_| None).expect("the source is right");
        settings.sources.extend(with.sources);
        "graph".clone_into(&mut settings.sources[1].name);
        change(settings);
    });
    (server, directory)
}

/// The same, which an admin has filled.
fn filled() -> (Server, tempfile::TempDir) {
    let (server, directory) = of_graph(access(ACCESS));
    let admin = bearer(&token("admin", 0));
    for (method, path, body) in [
        ("POST", "schema/nodes/User", ""),
        ("POST", "schema/nodes/User/properties/name/string", ""),
        ("POST", "schema/nodes/User/properties/age/integer", ""),
        ("POST", "schema/nodes/Secret", ""),
        ("POST", "schema/relationships/KNOWS", ""),
        ("POST", "schema/relationships/HATES", ""),
        ("POST", "node/User/Old", r#"{"name": "Ann", "age": 40}"#),
        ("POST", "node/User/Elder", r#"{"name": "Bea", "age": 50}"#),
        ("POST", "node/User/Young", r#"{"name": "Cid", "age": 20}"#),
        ("POST", "node/Secret/s", ""),
        ("POST", "node/User/Old/relationship/User/Elder/KNOWS", ""),
        ("POST", "node/User/Old/relationship/User/Young/KNOWS", ""),
        ("POST", "node/User/Old/relationship/User/Elder/HATES", ""),
    ] {
        let made = call(&server, &admin, method, path, body);
        assert!(made.contains("\n  201"), "{made}");
    }
    (server, directory)
}

/// What can be seen can be read; hidden things are as those that are not there, and calls that write are refused.
#[test]
fn roles_read_what_they_can_see() {
    let (server, _directory) = filled();
    let admin = bearer(&token("admin", 0));
    let id_of = |path: &str| {
        let text = call(&server, &admin, "GET", path, "");
        let id = text.split("\"id\": ").nth(1).and_then(|rest| rest.split([',', '}']).next());
        id.unwrap_or_else(|| panic!("{text} has no id")).to_owned()
    };
    let (old, young) = (id_of("node/User/Old"), id_of("node/User/Young"));
    let links: Vec<String> = call(&server, &admin, "GET", "node/User/Old/relationships", "")
        .split("\"id\": ")
        .skip(1)
        .filter_map(|rest| rest.split(',').next().map(str::to_owned))
        .collect();
    assert_eq!(links.len(), 3);
    // The schema of the role follows that of the graph.
    let reader = bearer(&token("visitor", 30));
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while call(&server, &reader, "GET", "node/User/Old", "").contains("404") {
        assert!(std::time::Instant::now() < deadline, "the role never sees it");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut told = String::new();
    for path in [
        "node/User/Old",
        "node/User/Young",
        "node/User/Nobody",
        "node/Secret/s",
        "node/User/Old/properties",
        "node/User/Old/property/name",
        "node/User/Old/property/age",
        "node/User/Young/property/name",
        "node/User/Young/properties",
        "node/User/Old/neighbors",
        "node/User/Old/degree",
        "nodes/User",
        "schema/nodes",
        "node/User/%FF",
    ] {
        told.push_str(&call(&server, &reader, "GET", path, ""));
    }
    for (method, path) in
        [("POST", "node/User/New"), ("DELETE", "node/User/Old"), ("PUT", "node/User/Old/properties")]
    {
        told.push_str(&call(&server, &reader, method, path, "{}"));
    }
    expect![[r#"
        GET node/User/Old
          200 {"id": 1025, "type": "User", "key": "Old", "properties": {"name": "Ann"}}
        GET node/User/Young
          404 
        GET node/User/Nobody
          404 
        GET node/Secret/s
          404 
        GET node/User/Old/properties
          200 {"name": "Ann"}
        GET node/User/Old/property/name
          200 {"name": "Ann"}
        GET node/User/Old/property/age
          200 {"age": null}
        GET node/User/Young/property/name
          200 {"name": null}
        GET node/User/Young/properties
          200 {}
        GET node/User/Old/neighbors
          200 [{"id": 1026, "type": "User", "key": "Elder", "properties": {"name": "Bea"}}]
        GET node/User/Old/degree
          200 {"degree": 1}
        GET nodes/User
          200 [{"id": 1025, "type": "User", "key": "Old", "properties": {"name": "Ann"}}, {"id": 1026, "type": "User", "key": "Elder", "properties": {"name": "Bea"}}]
        GET schema/nodes
          200 ["User"]
        GET node/User/%FF
          400 "Invalid path: a segment is not UTF-8 in percent-encoding, such as %2F for a slash"
        POST node/User/New
          403 "the role is not allowed"
        DELETE node/User/Old
          403 "the role is not allowed"
        PUT node/User/Old/properties
          403 "the role is not allowed"
    "#]]
    .assert_eq(&told);
    let status = |path: &str| {
        call(&server, &reader, "GET", path, "").split("\n  ").nth(1).map(|rest| rest[..3].to_owned())
    };
    assert_eq!(status(&format!("node/{old}")).as_deref(), Some("200"));
    assert_eq!(status(&format!("node/{young}")).as_deref(), Some("404"));
    let mut seen: Vec<_> = links.iter().filter_map(|id| status(&format!("relationship/{id}"))).collect();
    seen.sort_unstable();
    // One leads to a hidden node, one is of a hidden type.
    assert_eq!(seen, ["200", "404", "404"]);
    // Who has no value for the condition sees nothing.
    assert!(call(&server, "", "GET", "node/User/Old", "").contains("\n  404"));
}
