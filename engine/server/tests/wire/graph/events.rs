//! Changes of the graph at subscribers, however they were made by, over sockets and streams.

use std::time::Instant;

use expect_test::expect;

use super::Graph;
use crate::{
    sockets::{INIT, LEGACY, Socket, subscribe},
    support::{PATIENCE, Wire, get, post_with},
};

const USERS: &str = "subscription { onUserChanged { operation node { _key age } } }";

impl Graph {
    /// With users, whose changes are served already.
    fn of_users() -> Self {
        let mut graph = Self::start();
        for request in [
            "POST /schema/nodes/User",
            "POST /schema/nodes/User/properties/age/integer",
            r#"POST /node/User/Max {"age": 42}"#,
        ] {
            graph.ask(request);
        }
        graph.query_when_known("{ users { _key age } }");
        graph
    }

    fn has_subscriptions(&self, count: u64) {
        let wanted = format!("prony_subscriptions{{}} {count}.0");
        let deadline = Instant::now() + PATIENCE;
        let mut wire = Wire::to(self.address());
        loop {
            wire.send(get("/metrics"));
            if wire.response().lines().any(|line| line == wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "there never were {count} subscriptions");
        }
    }
}

fn stream(graph: &Graph, query: &str) -> Wire {
    let mut wire = Wire::to(graph.address());
    let body = serde_json::json!({ "query": query }).to_string();
    wire.send(post_with("accept: text/event-stream\r\ncontent-type: application/json\r\n", &body));
    wire.until(":\n\n");
    wire
}

#[test]
fn changes_in_every_way_reach_subscribers_of_every_protocol_in_order() {
    let mut graph = Graph::of_users();
    let mut socket = Socket::ready_at(graph.address());
    socket.send(&subscribe("a", USERS));
    let mut legacy = Socket::at(graph.address(), LEGACY);
    legacy.send(INIT);
    legacy.send(&subscribe("b", USERS).replace(r#""subscribe""#, r#""start""#));
    assert_eq!([legacy.next(), legacy.next()], [r#"{"type":"connection_ack"}"#, r#"{"type":"ka"}"#]);
    let mut stream = stream(&graph, USERS);
    graph.has_subscriptions(3);
    graph.ask(r#"POST /node/User/Ann {"age": 1}"#);
    graph.ask("PUT /node/User/Ann/property/age 2");
    graph.query(r#"mutation { updateUser(pk_columns: {_key: "Ann"}, age: 3) { result } createUser(_key: "Bob") { _key } }"#);
    graph.ask("POST /nodes {\"type\": \"User\", \"key\": \"c1\"}\n{\"type\": \"User\", \"key\": \"c2\", \"properties\": {\"age\": 9}}");
    graph.ask("DELETE /node/User/Ann");
    let told = [
        r#"{"operation":"INSERT","node":{"_key":"Ann","age":1}}"#,
        r#"{"operation":"UPDATE","node":{"_key":"Ann","age":2}}"#,
        r#"{"operation":"UPDATE","node":{"_key":"Ann","age":3}}"#,
        r#"{"operation":"INSERT","node":{"_key":"Bob","age":null}}"#,
        r#"{"operation":"INSERT","node":{"_key":"c1","age":null}}"#,
        r#"{"operation":"INSERT","node":{"_key":"c2","age":9}}"#,
        r#"{"operation":"DELETE","node":{"_key":"Ann","age":3}}"#,
    ];
    for event in told {
        let result = format!(r#"{{"data":{{"onUserChanged":{event}}}}}"#);
        assert_eq!(socket.next(), format!(r#"{{"id":"a","type":"next","payload":{result}}}"#));
        assert_eq!(legacy.next(), format!(r#"{{"id":"b","type":"data","payload":{result}}}"#));
        stream.until(&format!("event: next\ndata: {result}\n\n"));
    }
}

#[test]
fn an_event_shows_what_is_around_its_node() {
    let mut graph = Graph::of_users();
    for request in ["POST /node/User/Ann", "POST /node/User/Max/relationship/User/Ann/FRIEND"] {
        graph.ask(request);
    }
    graph.query_when_known("{ friend_relationships { _id } }");
    let mut socket = Socket::ready_at(graph.address());
    let around =
        r#"subscription { onUserChanged(_key: "Max") { operation node { age neighbors { _key } degree } } }"#;
    socket.send(&subscribe("a", around));
    let ends = "subscription { onFRIENDChanged { operation relationship { from { _key } to { _key } } } }";
    socket.send(&subscribe("b", ends));
    graph.has_subscriptions(2);
    graph.ask("PUT /node/User/Max/property/age 43");
    expect![[r#"{"id":"a","type":"next","payload":{"data":{"onUserChanged":{"operation":"UPDATE","node":{"age":43,"neighbors":[{"_key":"Ann"}],"degree":1}}}}}"#]].assert_eq(&socket.next());
    graph.ask("POST /node/User/Ann/relationship/User/Max/FRIEND");
    expect![[r#"{"id":"b","type":"next","payload":{"data":{"onFRIENDChanged":{"operation":"INSERT","relationship":{"from":{"_key":"Ann"},"to":{"_key":"Max"}}}}}}"#]].assert_eq(&socket.next());
}

#[test]
fn a_subscription_whose_type_goes_is_completed_with_the_reason() {
    let mut graph = Graph::of_users();
    let mut socket = Socket::ready_at(graph.address());
    socket.send(&subscribe("a", USERS));
    graph.has_subscriptions(1);
    graph.ask("POST /schema/nodes/User/properties/name/string");
    graph.ask("DELETE /node/User/Max");
    graph.ask("DELETE /schema/nodes/User");
    let came: Vec<String> = (0..3).map(|_| socket.next()).collect();
    expect![[r#"
        {"id":"a","type":"next","payload":{"data":{"onUserChanged":{"operation":"DELETE","node":{"_key":"Max","age":42}}}}}
        {"id":"a","type":"next","payload":{"data":null,"errors":[{"message":"the type `User` is gone from the graph","locations":[{"line":1,"column":16}],"path":["onUserChanged"],"extensions":{"code":"SUBSCRIPTION_ENDED"}}]}}
        {"id":"a","type":"complete"}"#]].assert_eq(&came.join("\n"));
    graph.has_subscriptions(0);
}

#[test]
fn a_bulk_load_is_told_whole() {
    let mut graph = Graph::of_users();
    let mut stream = stream(&graph, "subscription { onUserChanged { node { _key } } }");
    graph.has_subscriptions(1);
    let lines: Vec<String> = (0..20_000).map(|n| format!(r#"{{"type": "User", "key": "k{n}"}}"#)).collect();
    let reader = std::thread::spawn(move || {
        for number in 0..20_000 {
            stream.until(&format!(r#"{{"_key":"k{number}"}}}}}}}}"#));
        }
    });
    let answer = graph.ask(&format!("POST /nodes {}", lines.join("\n")));
    assert!(answer.starts_with(r#"200 {"created": 20000, "failed": 0"#), "{answer}");
    reader.join().expect("every node is told of");
}
