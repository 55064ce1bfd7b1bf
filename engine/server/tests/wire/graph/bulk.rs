//! Bulk creation: lines of JSON in, a report out.

use std::{thread, time::Duration};

use expect_test::{Expect, expect};

use super::{Graph, shown};
use crate::support::Wire;

/// Lines to `/nodes` or `/relationships`, and the report.
fn check(graph: &mut Graph, what: &str, lines: &str, expected: &Expect) {
    let answer = graph.ask(&format!("POST /{what} {lines}"));
    expected.assert_eq(&answer.replace("}, {", "},\n  {"));
}

#[test]
fn lines_become_nodes_and_relationships_and_faults_are_told_by_line() {
    let mut graph = Graph::start();
    graph.ask("POST /schema/nodes/User");
    graph.ask("POST /schema/nodes/User/properties/age/integer");
    check(
        &mut graph,
        "nodes",
        concat!(
            r#"{"type": "User", "key": "Max", "properties": {"age": 42, "undeclared": 1}}"#,
            "\n\n",
            r#"{"id": 7, "type": "User", "key": "Helene", "properties": {}}"#,
            "\r\n",
            r#"{"type": "User", "key": "Max"}"#,
            "\n",
            r#"{"type": "User", "key": "Old", "properties": {"age": "old"}}"#,
            "\n",
            r#"{"type": "User", "kee": "x"}"#,
            "\n",
            r#"{"type": "User"}"#,
            "\n",
            r#"{"type": "User", "key": 5}"#,
            "\n",
            "nonsense\n",
            r#"["User", "x"]"#,
            "\n",
            r#"{"type": "Item", "key": "a/b"}"#,
        ),
        &expect![[r#"
            200 {"created": 3, "failed": 7, "last_line": 11, "errors": [{"line": 4, "error": "a node of type `User` with this key exists"},
              {"line": 5, "error": "the value of `age` is no integer"},
              {"line": 6, "error": "unknown field `kee`, expected one of `type`, `key`, `properties`, `id` at byte 22"},
              {"line": 7, "error": "missing field `key` at byte 16"},
              {"line": 8, "error": "invalid type: integer `5`, expected a string at byte 25"},
              {"line": 9, "error": "it is no object"},
              {"line": 10, "error": "it is no object"}]}"#]],
    );
    check(
        &mut graph,
        "relationships",
        concat!(
            r#"{"type": "KNOWS", "from": {"type": "User", "key": "Max"}, "to": {"key": "Helene", "type": "User"}}"#,
            "\n",
            r#"{"type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}"#,
            "\n",
            r#"{"type": "KNOWS", "from": 1027, "to": 99}"#,
            "\n",
            r#"{"type": "KNOWS", "from": 1027, "to": 2051}"#,
            "\n",
            r#"{"type": "KNOWS", "from": 1027, "to": -1}"#,
            "\n",
            r#"{"type": "KNOWS", "from": 1027, "to": {"type": "User", "key": "Nobody"}}"#,
            "\n",
            r#"{"type": "KNOWS", "from": 1027}"#,
            "\n",
        ),
        &expect![[r#"
            200 {"created": 2, "failed": 5, "last_line": 7, "errors": [{"line": 3, "error": "`to`: 99 is no id of a node"},
              {"line": 4, "error": "there is no such node"},
              {"line": 5, "error": "invalid type: integer `-1`, expected an id, or an object with `type` and `key` at byte 40"},
              {"line": 6, "error": "`to`: there is no node of this type and key"},
              {"line": 7, "error": "missing field `to` at byte 31"}]}"#]],
    );
    graph.check(expect![[r#"
        GET /nodes
          200 [{"id": 2049, "type": "Item", "key": "a/b", "properties": {}}, {"id": 1026, "type": "User", "key": "Helene", "properties": {}}, {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42}}]
        GET /relationships
          200 [{"id": 1027, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67109891, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
        POST /nodes
          200 {"created": 0, "failed": 0, "last_line": 0, "errors": []}
        PUT /nodes {"type": "User", "key": "x"}
          404 {"message": "Not found", "code": 404}
        POST /nodes/User {"type": "User", "key": "x"}
          404 {"message": "Not found", "code": 404}
    "#]]);
}

#[test]
fn what_was_reported_is_there_after_a_restart() {
    let mut graph = Graph::start();
    let lines = |range: std::ops::Range<u32>| {
        range.map(|key| format!("{{\"type\": \"User\", \"key\": \"{key}\"}}\n")).collect::<Vec<_>>().concat()
    };
    check(
        &mut graph,
        "nodes",
        &lines(0..20_000),
        &expect![[r#"200 {"created": 20000, "failed": 0, "last_line": 20000, "errors": []}"#]],
    );
    // Of many faults the first hundred are told.
    let report = graph.ask(&format!("POST /nodes {}", lines(19_800..20_100)));
    assert!(
        report
            .starts_with(r#"200 {"created": 100, "failed": 200, "last_line": 300, "errors": [{"line": 1, "#)
    );
    assert!(report.ends_with(r#"{"line": 100, "error": "a node of type `User` with this key exists"}]}"#));
    let mut graph = graph.restart();
    graph.check(expect![[r#"
        GET /node/User/20099/degree
          200 {"degree": 0}
        GET /node/User/20100
          404
    "#]]);
}

/// What came behind its deletion was reported as created, and was nowhere.
#[test]
fn a_body_for_a_database_that_is_dropped_meanwhile_is_stopped() {
    let mut graph = Graph::start();
    graph.ask("POST //dbs/other");
    let [first, second] = ["a", "b"].map(|key| format!("{{\"type\": \"User\", \"key\": \"{key}\"}}\n"));
    let length = first.len() + second.len();
    let mut wire = Wire::to(graph.address());
    wire.send(format!(
        "POST /db/other/nodes HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{first}"
    ));
    while graph.ask("GET //db/other/nodes") == "200 []" {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(graph.ask("DELETE //dbs/other"), "204");
    wire.send(second);
    let response = shown(&wire.response());
    assert!(response.starts_with("404 ") && response.contains("was dropped"), "{response}");
}

#[test]
fn lines_and_bodies_have_limits() {
    let mut graph = Graph::with(|settings| {
        settings.max_body_bytes = 40;
        settings.max_bulk_bytes = 200;
    });
    let long = format!("{{\"type\": \"User\", \"key\": \"{}\"}}\n", "x".repeat(50));
    let short = "{\"type\": \"User\", \"key\": \"a\"}\n";
    check(
        &mut graph,
        "nodes",
        &format!("{short}{long}{short}"),
        &expect![[r#"
        200 {"created": 1, "failed": 2, "last_line": 3, "errors": [{"line": 2, "error": "the line is longer than 40 bytes (max_body_bytes)"},
          {"line": 3, "error": "a node of type `User` with this key exists"}]}"#]],
    );
    check(
        &mut graph,
        "nodes",
        &short.repeat(20),
        &expect![[
            r#"413 connection: close {"created": 0, "failed": 0, "last_line": 0, "errors": [], "stopped": "the body is over the limit of 200 bytes (max_bulk_bytes)"}"#
        ]],
    );
}
