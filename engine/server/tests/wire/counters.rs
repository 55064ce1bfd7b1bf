//! A source that the server knows by the seam alone, beside a database: GraphQL, subscriptions, `/health` and `/metrics`.

use std::{path::Path, sync::Arc};

use expect_test::expect;
use prony_server::{
    config::{self, CommandLine, Faults, GivenSource, Kinds, Settings},
    runtime,
};
use prony_testkit::{Counters, CountersKind, chinook::sqlite_copy};

use crate::{
    sockets::{Socket, subscribe},
    support::{Server, Wire, get, query, settings},
};

fn serve(counters: &Counters) -> Server {
    Server::with(|settings| {
        let source = Arc::new(counters.clone());
        settings.functions.sources.push(GivenSource { name: "counters".to_owned(), source });
    })
}

/// As `prony serve` would, if counters were one of its kinds.
fn load(file: &str) -> Result<Settings, Faults> {
    let kinds: Kinds<'_> = &[&CountersKind];
    config::load(kinds, Some((Path::new("prony.toml"), file)), CommandLine::default(), &|_| None)
}

#[test]
fn a_kind_of_source_is_served_from_a_file() {
    let file = "[server]\nlisten = \"127.0.0.1:0\"\ncpus = 1\n[[source]]\nurl = \"counters:\"\nname = \"visits\"\n\
        highest = 12\n[source.counters.home]\nstart = 10\n[source.counters.shop]\n";
    let running = runtime::start(load(file).expect("the file is right")).expect("the server starts");
    let ask = |text: &str| {
        let mut wire = Wire::to(running.addresses()[0]);
        wire.send(query(text));
        body(&wire.response()).to_owned()
    };
    expect![[r#"{"data":{"counters":[{"name":"home","value":10},{"name":"shop","value":0}]}}"#]]
        .assert_eq(&ask("{ counters { name value } }"));
    let count = "mutation { count(name: \"home\", by: 2) { value } }";
    expect![[r#"{"data":{"count":{"value":12}}}"#]].assert_eq(&ask(count));
    assert!(ask(count).contains("the counter cannot hold so much"));
}

/// Line, column and the nearest name, in what a kind reads itself too.
#[test]
fn mistakes_in_what_a_kind_reads_are_told_with_their_places() {
    let file = "[[source]]\nurl = \"counters:\"\nhigest = 3\nhighest = 0\n[source.counters.home]\nstrat = 1\n\
        [source.counters.shop]\nstart = \"1\"\n[source.countres]\n[[source]]\nurl = \"sqlite:shop.db\"\n";
    expect![[r#"
        the configuration has 6 faults
          prony.toml:3:1: `higest` is no option of [source]; did you mean `highest`?
          prony.toml:4:11: `highest`: 0 is out of range; write a whole number from 1 to 9223372036854775807
          prony.toml:6:1: `strat` is no option of a counter; did you mean `start`?
          prony.toml:8:9: `start`: invalid type: string "1", expected i64
          prony.toml:9:9: `countres` is no option of [source]; did you mean `counters`?
          prony.toml:11:7: `sqlite:shop.db` is no source; write counters:"#]]
    .assert_eq(&load(file).expect_err("it is full of mistakes").to_string());
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
fn the_time_of_each_source_is_counted_once_for_what_it_is_asked_at_one_time() {
    let server = serve(&Counters::default());
    for text in [
        "mutation { a: count(name: \"visits\") { value } b: count(name: \"Gäste\") { value } }",
        "{ counters { value } artists(limit: 1) { Name } albums(limit: 3) { Title } }",
        "{ genres(limit: 2) { Name } __schema { queryType { name } } }",
        "{ __typename }",
        "{ counters { nothing } }",
    ] {
        server.ask(query(text));
    }
    let metrics = server.ask(get("/metrics"));
    for (source, times, fields) in [("counters", "2", "3.0"), ("chinook", "2", "3.0")] {
        let value = |name: &str| {
            let name = format!("{name}{{source=\"{source}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name).map(str::to_owned))
        };
        assert_eq!(value("prony_source_seconds_count").as_deref(), Some(times), "{source}: {metrics}");
        assert_eq!(value("prony_source_fields_total").as_deref(), Some(fields), "{source}: {metrics}");
        let buckets: Vec<u64> = metrics
            .lines()
            .filter(|line| line.starts_with("prony_source_seconds_bucket{"))
            .filter(|line| line.contains(&format!("source=\"{source}\"")))
            .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
            .collect();
        assert!(buckets.is_sorted(), "{buckets:?}");
        assert_eq!(buckets.last().map(u64::to_string).as_deref(), Some(times), "{buckets:?}");
    }
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
