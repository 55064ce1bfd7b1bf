//! What sources of other kinds, subscriptions, and logs say of a trace.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use prony_testkit::{TestDatabase, chinook::sqlite_copy};
use serde_json::{Value, json};

use super::{
    Server, TRACE,
    collector::{Collector, PATIENCE, named, tree},
    is_server, parent, with_database,
};

#[test]
fn statements_of_postgresql_are_told_without_values_and_with_their_transaction() {
    let (collector, database) = (Collector::start(), TestDatabase::create());
    database.execute(
        "create table notes (id int primary key, v text not null);
         create function nap(seconds float8) returns float8 language plpgsql as
             $$ begin perform pg_sleep(seconds); return seconds; end $$;
         create view slow as select id, v, nap(0.05) as nap from notes;",
    );
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("access.log");
    let config = format!(
        "[log]\naccess_log = {log:?}\n[traces]\nendpoint = \"{}\"\nbatch_delay_ms = 20\n[[source]]\nurl = \"{}\"\nname = \"notes\"\n\
         slow_statement_ms = 40\n[source.session]\nsettings = {{ \"app.user\" = \"x-user\" }}\n",
        collector.url(),
        database.url()
    );
    // Values of the session need roles; without them the same is said of a plain server.
    let config = config.split("[source.session]").next().expect("it has a beginning").to_owned();
    let server = Server::configured(&config);
    let mutation =
        "mutation { a: createNote(id: 1, v: \"geheim\") { id } b: createNote(id: 2, v: \"geheim\") { id } }";
    let response = server.graphql("", mutation, &json!({}));
    assert!(response.contains(r#""b":{"id":2}"#), "{response}");
    let spans = collector.trace_with("the mutation", |span| {
        span.attributes.get("graphql.operation.type").is_some_and(|kind| kind == "mutation")
    });
    let below = tree(&spans);
    let below: Vec<&str> =
        below.iter().map(String::as_str).filter(|line| line.ends_with("< mutate notes")).collect();
    let expected = ["BEGIN", "INSERT", "INSERT", "COMMIT"].map(|name| format!("{name} < mutate notes"));
    let written: Vec<&str> = below.into_iter().filter(|line| !line.starts_with("pool wait")).collect();
    assert_eq!(written, expected);
    let insert = named(&spans, "INSERT");
    for (name, value) in [
        ("db.system.name", "postgresql"),
        ("db.operation.name", "INSERT"),
        ("db.response.returned_rows", "1"),
    ] {
        assert_eq!(insert.attributes.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(
        insert.attributes["db.query.text"].contains("$1") && !insert.attributes["db.namespace"].is_empty()
    );
    let response = server.graphql(&parent("01"), "query Slow { slows { id } s: slows { nap } }", &json!({}));
    assert!(response.contains("0.05"), "{response}");
    collector.trace_with("the query", |span| is_server(span) && span.trace == TRACE);
    let failed = server.graphql("", "mutation { createNote(id: 1, v: \"geheim\") { id } }", &json!({}));
    assert!(failed.contains("CONSTRAINT_VIOLATION"), "{failed}");
    let spans = collector.trace_with("the failure", |span| span.name == "INSERT" && span.has_failed);
    assert_eq!(named(&spans, "INSERT").attributes["error.type"], "CONSTRAINT_VIOLATION");
    assert_eq!(named(&spans, "execute").attributes["error.type"], "CONSTRAINT_VIOLATION");
    assert!(!named(&spans, "POST /graphql").has_failed, "the server has done its part");
    let finished = server.process.stop();
    assert!(
        collector.exports().iter().all(|export| !String::from_utf8_lossy(&export.bytes).contains("geheim"))
    );
    let slow = finished.stderr.lines().find(|line| line.contains("slow statement") && line.contains("Slow"));
    assert!(slow.is_some_and(|line| line.contains(&format!("trace_id=\"{TRACE}\""))), "{}", finished.stderr);
    let log = fs::read_to_string(&log).expect("there is a log");
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert!(lines.iter().any(|line| line["trace_id"] == TRACE && line["operation"] == "Slow"), "{log}");
}

#[test]
fn calls_of_a_graph_are_told_by_their_route_and_wait_for_their_commit() {
    let (collector, directory) = (Collector::start(), tempfile::tempdir().expect("a directory can be made"));
    let config = format!(
        "[log]\naccess_log = \"access.log\"\naccess_log_format = \"text\"\n[traces]\nendpoint = \"{}\"\nbatch_delay_ms = 20\n\
         [[source]]\nurl = \"graph:{}\"\nname = \"people\"\n",
        collector.url(),
        directory.path().join("graph").display()
    );
    let server = Server::configured(&config);
    let made = server.send("POST /db/rage/schema/nodes/Person", "", "");
    assert!(made.starts_with("HTTP/1.1 20"), "{made}");
    for (more, key) in [("", "geheim-1"), ("connection: close\r\n", "geheim-2")] {
        let made =
            server.send(&format!("POST /db/rage/node/Person/{key}"), &format!("{}{more}", parent("01")), "");
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
        let spans = collector
            .trace_with("the call", |span| is_server(span) && span.attributes["url.path"].ends_with(key));
        let root = spans.iter().find(|span| is_server(span)).expect("it is there");
        assert!(root.name.starts_with("POST /db/{") && !root.name.contains("geheim"), "{root:?}");
        assert_eq!(root.attributes["http.response.status_code"], "201");
        assert_eq!(root.attributes["prony.source"], "people");
        let lines = tree(&spans);
        assert!(lines.iter().any(|line| line.starts_with("commit < POST /db/{")), "{lines:?}");
        collector.forget();
    }
    let lines = fs::read_to_string(server.directory.path().join("access.log")).unwrap_or_default();
    server.process.stop();
    assert!(
        lines.is_empty()
            || lines.lines().all(|line| line.split(' ').next_back().is_some_and(|id| id.len() == 32)),
        "{lines}"
    );
}

#[test]
fn the_start_of_a_subscription_is_traced_and_each_answer_of_a_live_query() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let server = Server::configured(&with_database(&database, &collector, "", ""));
    let query = "subscription Watch { artists(where: {Name: {eq: \"geheim\"}}) { Name } }";
    let body = json!({ "query": query }).to_string();
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
    let length = body.len();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{}content-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}",
        parent("01")
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut read = String::new();
    let mut until = |text: &str| {
        while !read.contains(text) {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).expect("events come");
            assert!(count > 0, "the stream has ended: {read}");
            read.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    };
    until("\"artists\":[]");
    let started = collector.trace_with("the start", |span| is_server(span) && span.trace == TRACE);
    let root = named(&started, "POST /graphql");
    assert_eq!(root.attributes["graphql.operation.type"], "subscription");
    assert_eq!(root.attributes["graphql.operation.name"], "Watch");
    let answer = collector.trace_with("the first answer", |span| span.name == "live query");
    assert_eq!(tree(&answer), ["live query < -", "query music < live query", "SELECT < query music"]);
    collector.forget();
    server.graphql(
        "",
        "mutation { createArtist(ArtistId: 9001, Name: \"geheim\") { ArtistId } }",
        &json!({}),
    );
    until("[{\"Name\":\"geheim\"}]");
    let answer = collector.trace_with("the second answer", |span| span.name == "live query");
    assert!(answer.iter().all(|span| span.trace != TRACE), "it is of all who listen");
}

#[test]
fn operations_over_a_socket_are_traced_by_themselves() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let server = Server::configured(&with_database(&database, &collector, "", ""));
    let url = format!("ws://{}/graphql", server.address);
    let mut request =
        tungstenite::client::IntoClientRequest::into_client_request(url).expect("it is a request");
    let protocol = "graphql-transport-ws".parse().expect("it is a value");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let stream = TcpStream::connect(&server.address).expect("it listens");
    let (mut socket, _) = tungstenite::client(request, stream).expect("it is opened");
    for message in [
        json!({"type": "connection_init"}),
        json!({"type": "subscribe", "id": "1", "payload": {"query": "query Q { artists(limit: 1) { Name } }"}}),
    ] {
        socket.send(message.to_string().into()).expect("it reads");
        let response = socket.read().expect("it responds").to_string();
        assert!(response.contains("connection_ack") || response.contains("AC/DC"), "{response}");
    }
    let spans = collector.trace_with("the operation", |span| span.name == "query" && is_server(span));
    let lines = tree(&spans);
    assert_eq!(lines[0], "query < -");
    assert!(
        lines.contains(&"SELECT < query music".to_owned()) && lines.contains(&"execute < query".to_owned()),
        "{lines:?}"
    );
    assert_eq!(named(&spans, "query").attributes["graphql.operation.name"], "Q");
}
