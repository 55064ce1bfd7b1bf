//! The same graph by GraphQL: types that are declared while it is served, neighbours, writes in one way and reads by the
//! other.

use std::time::{Duration, Instant};

use super::Graph;
use crate::support;

/// Only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(20);

impl Graph {
    pub(crate) fn query(&mut self, text: &str) -> String {
        self.client.0.send(support::query(text));
        self.client.0.response().lines().last().unwrap_or_default().to_owned()
    }

    /// The answer, once the schema knows what is asked for.
    pub(crate) fn query_when_known(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.query(text);
            if !answer.contains("GRAPHQL_VALIDATION_FAILED") {
                return answer;
            }
            assert!(Instant::now() < deadline, "the schema never knew it: {answer}");
        }
    }
}

#[test]
fn an_empty_graph_has_a_schema() {
    let mut graph = Graph::start();
    assert_eq!(graph.query("{ graph_nodes { _key } }"), r#"{"data":{"graph_nodes":[]}}"#);
    let description = graph.ask("GET //console.json");
    assert!(description.contains(r#""contents":"0 node types, 0 relationship types""#), "{description}");
}

#[test]
fn types_are_served_when_they_are_declared() {
    let mut graph = Graph::start();
    for request in [
        "POST /schema/nodes/User",
        "POST /schema/nodes/User/properties/age/integer",
        r#"POST /node/User/Max {"age": 42}"#,
        "POST /node/User/Helene",
        "POST /node/User/Max/relationship/User/Helene/FRIEND",
    ] {
        assert!(graph.ask(request).starts_with("201"), "{request}");
    }
    let answer = graph.query_when_known(
        r#"{ user(_key: "Max") { age neighbors(types: [FRIEND]) { _key neighbors { _key neighbors { _key } } } } }"#,
    );
    assert_eq!(
        answer,
        r#"{"data":{"user":{"age":42,"neighbors":[{"_key":"Helene","neighbors":[{"_key":"Max","neighbors":[{"_key":"Helene"}]}]}]}}}"#
    );
    let created = graph.query(r#"mutation { createUser(_key: "Ada", age: 28) { _id } }"#);
    assert!(created.starts_with(r#"{"data":{"createUser":{"_id":"#), "{created}");
    assert!(graph.ask("GET /node/User/Ada").contains(r#""properties": {"age": 28}"#));
    assert_eq!(
        graph.query("{ users_aggregate { count max { age } } }"),
        r#"{"data":{"users_aggregate":{"count":3,"max":{"age":42}}}}"#
    );
    let mut graph = graph.restart();
    assert_eq!(graph.query("{ users_aggregate { count } }"), r#"{"data":{"users_aggregate":{"count":3}}}"#);
    assert!(graph.ask("DELETE /schema").starts_with("202"));
    let gone = |answer: &str| answer.contains("does not have a field `users`");
    let deadline = Instant::now() + PATIENCE;
    while !gone(&graph.query("{ users { _key } }")) {
        assert!(Instant::now() < deadline, "the schema still has the type");
    }
}

#[test]
fn a_type_that_has_the_name_of_a_table_is_served_under_another() {
    let tables = prony_testkit::chinook::sqlite_copy();
    let mut graph = Graph::with(|settings| {
        let chinook = support::settings(&tables.path(), |_| {}).sources;
        settings.sources.extend(chinook);
    });
    assert!(graph.ask("POST /node/Artist/Eno").starts_with("201"));
    let answer = graph.query_when_known("{ artist_nodes { _key } artists(limit: 1) { Name } }");
    assert_eq!(answer, r#"{"data":{"artist_nodes":[{"_key":"Eno"}],"artists":[{"Name":"AC/DC"}]}}"#);
    assert!(graph.ask("GET /node/Artist/Eno").starts_with("200"));
    let health = graph.ask("GET //health");
    assert!(health.contains("type `Artist` of nodes is served as `ArtistNode`"), "{health}");
}
