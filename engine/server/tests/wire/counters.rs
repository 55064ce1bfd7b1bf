//! A source that the server knows by the seam alone, beside a database: GraphQL, subscriptions, `/health` and `/metrics`.

use std::sync::Arc;

use expect_test::expect;
use prony_server::{config::GivenSource, runtime};
use prony_testkit::{Counters, chinook::sqlite_copy};

use crate::{
    sockets::{Socket, subscribe},
    support::{Server, get, query, settings},
};

fn serve(counters: &Counters) -> Server {
    Server::with(|settings| {
        let source = Arc::new(counters.clone());
        settings.functions.sources.push(GivenSource { name: "counters".to_owned(), source });
    })
}

/// Sources of a program come under any name.
#[test]
fn two_sources_of_one_name_are_refused_at_the_start() {
    let database = sqlite_copy();
    let twice = |first: &str, second: &str| {
        let settings = settings(&database.path(), |settings| {
            settings.functions.sources = [first, second]
                .map(|name| GivenSource { name: name.to_owned(), source: Arc::new(Counters::default()) })
                .to_vec();
        });
        runtime::start(settings).expect_err("they have one name").to_string()
    };
    expect!["two sources are named `counters`: this program and this program; give one another name"]
        .assert_eq(&twice("counters", "counters"));
    let expected =
        format!("two sources are named `chinook`: sqlite:{} and this program", database.path().display());
    assert!(twice("counters", "chinook").starts_with(&expected));
}

fn body(answer: &str) -> &str {
    answer.trim_end().lines().last().unwrap_or_default()
}

#[test]
fn a_source_of_another_kind_is_served_beside_a_database() {
    let server = serve(&Counters::default());
    let count =
        "mutation { a: count(name: \"visits\", by: 2) { value } b: count(name: \"visits\") { name value } }";
    expect![[r#"{"data":{"a":{"value":2},"b":{"name":"visits","value":3}}}"#]]
        .assert_eq(body(&server.ask(query(count))));
    let both = "{ artists(limit: 1) { Name } counters { __typename name value } }";
    expect![[r#"{"data":{"artists":[{"Name":"AC/DC"}],"counters":[{"__typename":"Counter","name":"visits","value":3}]}}"#]]
        .assert_eq(body(&server.ask(query(both))));
    let full = format!("mutation {{ count(name: \"visits\", by: {}) {{ value }} }}", i32::MAX);
    assert!(body(&server.ask(query(&full))).contains("2147483650"));
}

#[test]
fn its_events_reach_those_who_ask_for_them() {
    let server = serve(&Counters::default());
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("a", "subscription { counted(name: \"visits\") { value } }"));
    socket.send(&subscribe("b", "{ counters { value } }"));
    // Operations of one socket begin in their order.
    assert_eq!(socket.next(), r#"{"id":"b","type":"next","payload":{"data":{"counters":[]}}}"#);
    assert_eq!(socket.next(), r#"{"id":"b","type":"complete"}"#);
    for name in ["other", "visits"] {
        server.ask(query(&format!("mutation {{ count(name: \"{name}\", by: 7) {{ value }} }}")));
    }
    assert_eq!(socket.next(), r#"{"id":"a","type":"next","payload":{"data":{"counted":{"value":7}}}}"#);
}

#[test]
fn its_health_and_metrics_are_shown() {
    let counters = Counters::default();
    let server = serve(&counters);
    server.ask(query("mutation { count(name: \"visits\") { value } }"));
    let metrics = server.ask(get("/metrics"));
    for expected in [
        "# HELP counters_known Counters that have been counted on",
        "counters_known{source=\"counters\"} 1.0",
        "prony_source_fields_total{source=\"counters\"} 1",
    ] {
        assert!(metrics.contains(expected), "{expected}: {metrics}");
    }
    let health = server.ask(get("/health"));
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    assert!(health.contains(r#"{"name":"counters","database":"counters","status":"ok"}"#), "{health}");
    counters.set_outage(Some("they are being wound"));
    let health = server.ask(get("/health"));
    assert!(health.starts_with("HTTP/1.1 503"), "{health}");
    assert!(
        health.contains(r#"{"name":"counters","database":"counters","status":"unreachable"}"#),
        "{health}"
    );
}
