//! Graphs that are served for reading only, or without their calls.

use super::Graph;
use crate::support::{get, give_options, post};

fn statuses(graph: &mut Graph, requests: &[&str]) -> Vec<String> {
    requests.iter().map(|request| graph.ask(request)[..3].to_owned()).collect()
}

#[test]
fn a_graph_for_reading_only_takes_no_call_that_writes() {
    let mut graph = Graph::start();
    let made = [
        "POST /schema/nodes/User",
        "POST /schema/nodes/User/properties/age/integer",
        "POST /node/User/a {\"age\": 7}",
    ];
    assert_eq!(statuses(&mut graph, &made), ["201"; 3]);
    let mut graph =
        graph.restart_with(|settings| give_options(settings, "read_only = true")).expect("it starts again");
    let reads = ["GET /node/User/a", "GET //dbs", "POST /nodes/User/age/EQ 7"];
    assert_eq!(statuses(&mut graph, &reads), ["200"; 3]);
    let writes = [
        "POST /node/User/b",
        "PUT /node/User/a/properties {\"age\": 8}",
        "DELETE /node/User/a",
        "POST /node/User/a/relationship/User/a/KNOWS",
        "POST /schema/nodes/Other",
        "POST /nodes/User",
        "POST //dbs/other",
    ];
    for request in writes {
        let response = graph.ask(request);
        assert!(response.starts_with("403 ") && response.contains("read_only"), "{request}: {response}");
    }
    assert!(graph.ask("GET /node/User/a").contains("\"age\": 7"));
    let mut wire = crate::support::Wire::to(graph.address());
    wire.send(post(r#"{"query":"{ __schema { mutationType { name } } users { _key age } }"}"#));
    let (_, body) = wire.head_and_body();
    assert_eq!(body, r#"{"data":{"__schema":{"mutationType":null},"users":[{"_key":"a","age":7}]}}"#);
}

#[test]
fn a_graph_may_be_served_without_its_calls() {
    let graph = Graph::start().restart_with(|settings| give_options(settings, "graph_http = false"));
    let mut graph = graph.expect("it starts again");
    let all =
        ["GET /node/User/a", "POST /node/User/a", "GET //dbs", "POST //dbs/other", "GET //db/rage/nodes"];
    assert_eq!(statuses(&mut graph, &all), ["404"; 5]);
    let mut wire = crate::support::Wire::to(graph.address());
    wire.send(get("/health"));
    assert!(wire.head_and_body().0.starts_with("HTTP/1.1 200"));
    wire.send(post(r#"{"query":"{ __typename }"}"#));
    assert_eq!(wire.head_and_body().1, r#"{"data":{"__typename":"Query"}}"#);
}
