//! Answers of any length: they come in pieces, are those of short ones, and hold up nobody.

use std::fmt::Write as _;

use prony_server::config::{CoreChoice, Settings};

use super::{Client, Graph};
use crate::support::{Wire, give_options, query};

/// More than are written in one go.
const NODES: usize = 9000;

/// Nodes of two types, and a hub with a relationship to and from each of one of them, two to node 7.
fn graph(cores: usize) -> Graph {
    let mut graph = Graph::with(|settings| settings.cores = CoreChoice::Count(cores));
    for request in
        ["POST /node/User/hub", "POST /schema/nodes/User/properties/rank/integer", "POST /node/Item/x"]
    {
        assert!(graph.ask(request).starts_with("201"), "{request}");
    }
    let (mut nodes, mut relationships) = (String::new(), String::new());
    for number in 0..NODES {
        let _ =
            writeln!(nodes, r#"{{"type": "User", "key": "{number}", "properties": {{"rank": {number}}}}}"#);
        let (hub, node) =
            (r#"{"type": "User", "key": "hub"}"#, format!(r#"{{"type": "User", "key": "{number}"}}"#));
        let _ = writeln!(relationships, r#"{{"type": "KNOWS", "from": {hub}, "to": {node}}}"#);
        let _ = writeln!(relationships, r#"{{"type": "LIKES", "from": {node}, "to": {hub}}}"#);
        if number == 7 {
            let _ = writeln!(relationships, r#"{{"type": "KNOWS", "from": {hub}, "to": {node}}}"#);
        }
    }
    for (what, lines) in [("nodes", nodes), ("relationships", relationships)] {
        let answer = graph.ask(&format!("POST /{what} {}", lines.trim_end()));
        assert!(answer.contains(r#""failed": 0"#), "{answer}");
    }
    graph
}

/// A whole answer, however long; of HTTP/1.0, so that its end is the connection's.
fn whole(graph: &Graph, call: &str, body: &str) -> String {
    let mut wire = Wire::to(graph.address());
    let (method, path) = call.split_once(' ').expect("a call has a path");
    wire.send(format!("{method} /db/rage{path} HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let answer = wire.rest();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.0 200"), "{head}");
    body.to_owned()
}

/// The members of a list.
fn members(answer: &str) -> Vec<&str> {
    let inside = answer.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).expect("a list");
    inside.split("}, {").collect()
}

#[test]
fn long_lists_have_the_members_of_short_ones() {
    let graph = graph(2);
    let all = whole(&graph, "GET /nodes/User?limit=100000", "");
    assert_eq!(members(&all).len(), NODES + 1);
    let mut paged = Vec::new();
    for skip in (0..=NODES).step_by(1000) {
        let page = whole(&graph, &format!("GET /nodes/User?limit=1000&skip={skip}"), "");
        paged.push(page[1..page.len() - 1].to_owned());
    }
    assert!(format!("[{}]", paged.join(", ")) == all, "pages are parts of the whole");
    let of_all_types = whole(&graph, "GET /nodes?limit=100000", "");
    assert_eq!(of_all_types.matches(r#""key": "#).count(), NODES + 2);
    let relationships = whole(&graph, "GET /relationships?limit=1000000", "");
    assert_eq!(relationships.matches(r#""from": "#).count(), 2 * NODES + 1);
    assert_eq!(whole(&graph, "GET /nodes/User?limit=5&skip=1000000", ""), "[]");
    assert_eq!(whole(&graph, "GET /nodes/User?limit=0", ""), "[]");
}

/// Hyper writes a response that the fast path has begun; the body of its request, more than hyper reads at once, is read
/// all the same.
#[test]
fn a_connection_goes_on_behind_a_long_find() {
    let graph = graph(1);
    let expected = whole(&graph, "POST /nodes/User/rank/GTE?limit=100000", "0");
    let mut wire = Wire::to(graph.address());
    let body = format!("{}0", " ".repeat(40_000));
    let find = format!(
        "POST /db/rage/nodes/User/rank/GTE?limit=100000 HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let get = "GET /db/rage/node/User/7 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    wire.send(format!("{get}{find}{get}"));
    assert!(wire.response().contains("\"key\": \"7\""));
    assert!(wire.chunked() == expected, "the find's response");
    assert!(wire.response().contains("\"key\": \"7\""));
}

#[test]
fn finds_that_look_at_much_are_the_same_with_an_index() {
    let mut graph = graph(2);
    let finds = [
        ("POST /nodes/User/rank/GTE?limit=100000", "4000", 5000),
        ("POST /nodes/User/rank/EQ", "8999", 1),
        ("POST /nodes/User/rank/LT?limit=3&skip=2", "10", 3),
        ("POST /nodes/User/rank/IS_NULL", "", 1),
        ("POST /nodes/User/rank/EQ", "\"8999\"", 0),
    ];
    let ask = |graph: &Graph| finds.map(|(call, value, _)| whole(graph, call, value));
    let without = ask(&graph);
    for ((call, _, count), answer) in finds.iter().zip(&without) {
        assert_eq!(answer.matches(r#""key": "#).count(), *count, "{call}");
    }
    assert!(graph.ask("POST /schema/nodes/User/properties/rank/index").starts_with("201"));
    assert!(ask(&graph) == without, "an index finds the same");
}

#[test]
fn what_is_around_a_hub_comes_in_the_promised_order() {
    let mut graph = graph(2);
    assert_eq!(graph.ask("GET /node/User/hub/degree"), format!("200 {{\"degree\": {}}}", 2 * NODES + 1));
    let all = whole(&graph, "GET /node/User/hub/relationships", "");
    assert_eq!(members(&all).len(), 2 * NODES + 1);
    // By shard; outgoing ones have the hub's, where they come before incoming ones.
    let shards: Vec<u64> = ids(&all, "id").iter().map(|id| id % 1024).collect();
    assert!(shards.is_sorted(), "by shard");
    let out = whole(&graph, "GET /node/User/hub/relationships/out/KNOWS", "");
    assert!(all.contains(&out[1..out.len() - 1]), "the outgoing ones stand together");
    let places: Vec<_> = ids(&out, "to").into_iter().zip(ids(&out, "id")).collect();
    assert!(places.is_sorted(), "by node, then by relationship");
    let neighbours = whole(&graph, "GET /node/User/hub/neighbors/out", "");
    assert_eq!(ids(&neighbours, "id"), ids(&out, "to"));
    let between = graph.ask("GET /node/User/hub/connected/User/7");
    assert_eq!(between.matches("KNOWS").count() + between.matches("LIKES").count(), 3);
    assert_eq!(whole(&graph, "GET /node/User/hub/relationships/all/NONE", ""), "[]");
}

fn ids(answer: &str, name: &str) -> Vec<u64> {
    let begin = format!("\"{name}\": ");
    answer
        .split(&begin)
        .skip(1)
        .map(|rest| rest.split([',', '}']).next().unwrap_or_default().parse().expect("an id"))
        .collect()
}

/// One core, and clients that ask for much and read nothing.
#[test]
fn others_are_answered_while_long_answers_wait_for_their_readers() {
    let mut graph = graph(1);
    let mut slow: Vec<Wire> = Vec::new();
    for path in ["/node/User/hub/relationships", "/nodes?limit=1000000", "/relationships?limit=1000000"] {
        for _ in 0..4 {
            let mut wire = Wire::to(graph.address());
            wire.send(format!("GET /db/rage{path} HTTP/1.1\r\nhost: localhost\r\n\r\n").repeat(3));
            slow.push(wire);
        }
    }
    for wire in &mut slow {
        // It is under way.
        wire.until("\r\n\r\n");
        assert!(graph.ask("GET /node/User/5").starts_with("200"));
    }
    assert!(Client::to(graph.address()).ask("POST /node/User/new").starts_with("201"));
}

/// Long texts, so that finding one takes longer than a millisecond on any machine.
const TEXTS: usize = 64;
const TEXT_BYTES: usize = 250_000;

/// The limit is that of all that a source is asked: nothing that was not finished looks as if it were.
#[test]
fn a_find_that_takes_longer_than_the_limit_is_an_error_and_others_are_served_meanwhile() {
    let mut graph = Graph::with(|settings| settings.cores = CoreChoice::Count(1));
    assert!(graph.ask("POST /node/Page/first").starts_with("201"));
    assert!(graph.ask("POST /schema/nodes/Page/properties/text/string").starts_with("201"));
    for number in 0..TEXTS {
        let text = "ä".repeat(TEXT_BYTES / 2);
        assert!(graph.ask(&format!(r#"POST /node/Page/{number} {{"text": "{text}"}}"#)).starts_with("201"));
    }
    let find = r#"POST /nodes/Page/text/CONTAINS "äb""#;
    assert_eq!(graph.ask(find), "200 []");
    let limited = |settings: &mut Settings| {
        settings.cores = CoreChoice::Count(1);
        give_options(settings, "statement_timeout_ms = 1");
    };
    let mut graph = graph.restart_with(limited).expect("the graph opens again");
    let told = graph.ask(find);
    assert!(told.starts_with("400 \"it took longer than 1 ms (statement_timeout_ms)"), "{told}");
    // On the connection of before, and what is found at once is.
    assert_eq!(graph.ask("GET /node/Page/first/degree"), "200 {\"degree\": 0}");
    assert!(graph.ask("GET /nodes/Page?limit=1").starts_with("200 [{"));
    assert!(graph.ask("POST /nodes/Page/text/IS_NULL").contains("first"));
    // Clients that ask for it again and again on the one core, and one that does not.
    let mut busy: Vec<Client> = (0..8).map(|_| Client::to(graph.address())).collect();
    std::thread::scope(|scope| {
        for client in &mut busy {
            scope.spawn(|| (0..5).for_each(|_| assert!(client.ask(find).starts_with("400"))));
        }
        for _ in 0..20 {
            assert!(graph.ask("GET /node/Page/first").starts_with("200"));
        }
    });
}

/// Each is within `max_response_bytes`; together they are not within what an operation may have.
#[test]
fn root_fields_over_a_graph_share_the_bytes_of_their_operation() {
    let graph = graph(1).restart_with(|settings| settings.max_operation_bytes = 1_000_000);
    let graph = graph.expect("the graph opens again");
    let ask = |count: usize| {
        let field = |index| format!("u{index}: users(limit: 9000) {{ _key rank }} ");
        let mut wire = Wire::to(graph.address());
        wire.send(query(&format!("{{ {} }}", (0..count).map(field).collect::<String>())));
        wire.response()
    };
    let answer = ask(2);
    assert!(answer.contains(r#""data":{"u0":[{"#) && !answer.contains("errors"), "{answer:.300}");
    let answer = ask(10);
    assert!(answer.contains("more than 1000000 bytes together (max_operation_bytes)"), "{answer:.300}");
}
