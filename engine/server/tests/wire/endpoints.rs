//! What is refused by default, at every kind of endpoint: each limit by name, value and what to try, and what pages of
//! other origins could send.

use std::{any::Any, fmt::Write as _, net::SocketAddr};

use expect_test::expect_file;
use prony_server::{
    Service,
    config::{self, CommandLine, Settings},
    examples::music,
    runtime,
};
use prony_testkit::chinook::sqlite_copy;

use crate::{
    graph::Graph,
    hosted::Hosted,
    support::{KINDS, Server, Wire, get, post, post_with, query},
};

/// One that is served, for as long as it is held.
struct Endpoint {
    name: &'static str,
    address: SocketAddr,
    _held: Box<dyn Any>,
}

impl Endpoint {
    fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut wire = Wire::to(self.address);
        wire.send(request);
        wire.response()
    }
}

fn several(change: fn(&mut Settings)) -> Endpoint {
    let (database, directory) = (sqlite_copy(), tempfile::tempdir().expect("a directory can be made"));
    let sources = vec![
        format!("sqlite:{}", database.path().display()),
        format!("graph:{}", directory.path().join("graph").display()),
    ];
    let line = CommandLine { sources, ..CommandLine::default() };
    let mut settings = config::load(KINDS, None, line, &|_| None).expect("the sources are right");
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    change(&mut settings);
    let running = runtime::start(settings).expect("the server starts");
    let address = running.addresses()[0];
    Endpoint { name: "a database and a graph", address, _held: Box::new((running, database, directory)) }
}

/// All kinds, with changed settings.
fn endpoints(change: fn(&mut Settings)) -> Vec<Endpoint> {
    let of = |name, server: Server| Endpoint { name, address: server.address(), _held: Box::new(server) };
    let graph = Graph::with(change);
    let mut settings = Settings::default();
    change(&mut settings);
    let service = Service::with_settings(settings, music::functions()).expect("the example is sound");
    let hosted = Hosted::start(&service);
    vec![
        of("a database", Server::with(change)),
        Endpoint { name: "a graph", address: graph.address(), _held: Box::new(graph) },
        several(change),
        of("functions", Server::functions(music::functions(), change)),
        of("lenient functions", Server::donuts(change)),
        Endpoint { name: "functions under axum", address: hosted.address, _held: Box::new(hosted) },
    ]
}

/// Documents that go over one limit, as it is by default. None has a field that any schema has: limits come first.
fn bombs() -> Vec<(&'static str, String)> {
    let many = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<String>();
    let nested = |levels: usize| "{a".repeat(levels) + &"}".repeat(levels);
    let doubling = |level| format!("fragment F{level} on A {{ ...F{next} ...F{next} }} ", next = level + 1);
    vec![
        ("max_document_bytes", format!("{{ a }} #{}", "x".repeat(128 << 10))),
        ("max_tokens", format!("{{ a(b: [{}]) }}", "1 ".repeat(10_000))),
        ("max_nesting", nested(65)),
        ("max_depth", nested(17)),
        ("max_aliases", format!("{{ a {{ {} }} }}", many(1001, &|number| format!("b{number}: c ")))),
        ("max_alias_bytes", format!("{{ {}: b }}", "a".repeat(257))),
        ("max_root_fields", format!("{{ {} }}", "a ".repeat(101))),
        ("max_directives", format!("{{ a {} }}", "@b ".repeat(501))),
        ("max_fields", format!("{{ ...F0 }} {} fragment F12 on A {{ a }}", many(12, &doubling))),
        ("max_variables", format!("query ({}) {{ a }}", many(257, &|number| format!("$v{number}: Int ")))),
        (
            "max_definitions",
            format!("{{ a }} {}", many(100, &|number| format!("fragment F{number} on A {{ a }} "))),
        ),
        (
            "max_introspection_fields",
            format!("{{ {} }}", many(5, &|number| format!("a{number}: __schema {{ b }} "))),
        ),
    ]
}

#[test]
fn each_limit_is_on_and_says_what_to_try() {
    let mut tables = endpoints(|_| {}).into_iter().map(|endpoint| {
        let mut table = String::new();
        for (limit, bomb) in bombs() {
            let answer = endpoint.ask(query(&bomb));
            let body = answer.trim_end().lines().last().expect("there is one");
            let _ = writeln!(table, "{limit}\n  {body}");
            assert!(body.contains(limit) && body.contains("LIMIT_EXCEEDED"), "{}: {body}", endpoint.name);
        }
        (endpoint.name, table)
    });
    let (_, first) = tables.next().expect("there are several");
    expect_file!["limits.txt"].assert_eq(&first);
    for (name, table) in tables {
        assert_eq!(table, first, "{name}");
    }
}

/// What a page of any origin can have its visitor's browser send without asking first: it reads nothing and writes nothing.
#[test]
fn what_pages_of_other_origins_can_send_is_refused() {
    let fine = r#"{"query":"{ __typename }"}"#;
    let mutation = r#"{"query":"mutation { __typename }"}"#;
    let origin = "origin: https://elsewhere.example\r\n";
    let with = |kind: &str, body: &str| post_with(&format!("{kind}{origin}"), body);
    let requests = [
        ("a mutation by GET", get("/graphql?query=mutation%7B__typename%7D")),
        ("text/plain", with("content-type: text/plain\r\n", mutation)),
        (
            "a form",
            with("content-type: application/x-www-form-urlencoded\r\n", "query=mutation%7B__typename%7D"),
        ),
        ("a form of parts", with("content-type: multipart/form-data; boundary=x\r\n", mutation)),
        ("no type", with("", mutation)),
        ("no type, no origin", post_with("", fine)),
        ("a batch", post(&format!("[{fine}]"))),
        ("a long body", post(&" ".repeat((1 << 20) + 1))),
    ];
    let mut table = String::new();
    let endpoints = endpoints(|_| {});
    for (name, request) in &requests {
        let _ = writeln!(table, "{name}");
        let mut last = String::new();
        for endpoint in &endpoints {
            let answer = endpoint.ask(request);
            let status = answer.lines().next().unwrap_or_default().trim_start_matches("HTTP/1.1 ");
            let told = format!("{status} {}", answer.trim_end().lines().last().unwrap_or_default());
            if told != last {
                let _ = writeln!(table, "  from {} on: {told}", endpoint.name);
            }
            last = told;
        }
    }
    expect_file!["pages.txt"].assert_eq(&table);
}

#[test]
fn introspection_and_the_console_can_be_switched_off() {
    for endpoint in endpoints(|settings| {
        settings.limits.introspection = false;
        settings.console = false;
    }) {
        for text in ["{ __schema { __typename } }", "{ __type(name: \"Query\") { name } }"] {
            let answer = endpoint.ask(query(text));
            assert!(answer.contains("introspection is switched off"), "{}: {answer}", endpoint.name);
        }
        assert!(endpoint.ask(query("{ __typename }")).contains("\"Query\""), "{}", endpoint.name);
        assert!(endpoint.ask(get("/")).starts_with("HTTP/1.1 404"), "{}", endpoint.name);
        assert!(endpoint.ask(get("/console.json")).starts_with("HTTP/1.1 404"), "{}", endpoint.name);
    }
}
