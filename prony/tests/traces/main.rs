//! Traces of `prony serve` from outside: a collector that reads what it is sent, upstreams that are told, and collectors in trouble.

mod collector;
mod identity;
mod interceptors;
mod sources;
mod trouble;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use prony_testkit::{
    PronyProcess,
    chinook::{SqliteCopy, sqlite_copy},
    peer::ScriptedPeer,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::collector::{Collector, PATIENCE, Span, named, tree};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A `prony` with one processor.
struct Server {
    process: PronyProcess,
    address: String,
    directory: TempDir,
}

impl Server {
    fn configured(text: &str) -> Self {
        Self::with_environment(text, &[])
    }

    fn with_environment(text: &str, environment: &[(&str, &str)]) -> Self {
        Self::started(text, environment, &[])
    }

    /// Beside its configuration there are files with these names and texts.
    fn with_files(text: &str, files: &[(&str, &str)]) -> Self {
        Self::started(text, &[], files)
    }

    fn started(text: &str, environment: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        for (name, content) in files {
            fs::write(directory.path().join(name), content).expect("the file can be written");
        }
        let path = directory.path().join("prony.toml");
        fs::write(&path, text).expect("the file can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--cpus", "1", "--config"]).arg(&path);
        command.current_dir(directory.path()).envs(environment.iter().copied());
        let mut process = PronyProcess::start_command(command);
        let address = process.wait_for_url().replace("http://", "");
        Self { process, address, directory }
    }

    /// Sends a request; `more` are header lines. With `connection: close` among them it goes to hyper, else to the fast path.
    fn send(&self, head: &str, more: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
        let length = body.len();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let request = format!(
            "{head} HTTP/1.1\r\nhost: localhost\r\n{more}{kind}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        // All responses here are short, and say their length.
        let mut response = Vec::new();
        loop {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).expect("it responds");
            response.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&response).into_owned();
            let is_whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                length.is_some_and(|length| length.parse() == Ok(body.len()))
            });
            if is_whole || count == 0 {
                return text;
            }
        }
    }

    fn graphql(&self, more: &str, query: &str, variables: &Value) -> String {
        self.send("POST /graphql", more, &json!({ "query": query, "variables": variables }).to_string())
    }

    /// The value of a metric, by how its line begins.
    fn metric(&self, name: &str) -> u64 {
        let metrics = self.send("GET /metrics", "", "");
        let line = metrics.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()?.strip_suffix(".0")?.parse().ok())
            .unwrap_or_else(|| panic!("no {name}: {metrics}"))
    }
}

/// A configuration of the sample database.
fn with_database(database: &SqliteCopy, collector: &Collector, traces: &str, source: &str) -> String {
    format!(
        "[traces]\nendpoint = \"{}\"\nbatch_delay_ms = 20\n{traces}\n[[source]]\nurl = \"sqlite:{}\"\nname = \"music\"\n{source}\n",
        collector.url(),
        database.path().display()
    )
}

fn parent(flags: &str) -> String {
    format!("traceparent: 00-{TRACE}-{PARENT}-{flags}\r\n")
}

fn is_server(span: &Span) -> bool {
    span.kind == 2
}

#[test]
fn a_nested_query_is_a_tree_of_spans_below_that_of_its_client() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let server = Server::configured(&with_database(&database, &collector, "", "resolver = \"bucket\""));
    let query = "query Loudest($name: String!) { artists(where: {Name: {eq: $name}}) { Name albums { Title tracks(limit: 2) { Name } } } }";
    for more in ["", "connection: close\r\n"] {
        let header = format!("{}tracestate: rojo=1\r\n{more}", parent("01"));
        let response = server.graphql(&header, query, &json!({"name": "Accept"}));
        assert!(response.contains("Balls to the Wall"), "{response}");
        let spans = collector.trace_with("the request", |span| is_server(span) && span.trace == TRACE);
        collector.forget();
        assert_eq!(
            tree(&spans),
            [
                "POST /graphql < -",
                "parse < POST /graphql",
                "validate < POST /graphql",
                "plan < POST /graphql",
                "execute < POST /graphql",
                "query music < execute",
                "SELECT < query music",
                "SELECT < query music",
                "SELECT < query music",
                "assemble < POST /graphql",
            ],
            "{more}"
        );
        let root = named(&spans, "POST /graphql");
        assert_eq!((root.parent.as_str(), root.state.as_str(), root.flags), (PARENT, "rojo=1", 0x301));
        for (name, value) in [
            ("http.request.method", "POST"),
            ("url.path", "/graphql"),
            ("url.scheme", "http"),
            ("http.route", "/graphql"),
            ("http.response.status_code", "200"),
            ("network.protocol.version", "1.1"),
            ("client.address", "127.0.0.1"),
            ("graphql.operation.name", "Loudest"),
            ("graphql.operation.type", "query"),
        ] {
            assert_eq!(root.attributes.get(name).map(String::as_str), Some(value), "{name}");
        }
        let statements: Vec<&Span> = spans.iter().filter(|span| span.name == "SELECT").collect();
        let mut rows: Vec<&str> = Vec::new();
        for statement in &statements {
            assert_eq!(statement.attributes["db.system.name"], "sqlite");
            assert!(statement.attributes["db.query.text"].contains('?'), "{statement:?}");
            assert_eq!((statement.kind, statement.has_failed), (3, false));
            rows.push(&statement.attributes["db.response.returned_rows"]);
        }
        rows.sort_unstable();
        assert_eq!(rows, ["1", "2", "3"], "an artist, two albums, one track and two of three");
        for span in &spans {
            assert!(
                span.began <= span.ended && root.began <= span.began && span.ended <= root.ended,
                "{span:?}"
            );
        }
    }
}

#[test]
fn nothing_that_clients_or_operators_keep_secret_is_in_a_span() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let traces = "headers = [\"authorization=Bearer ${TOKEN}\"]\ncompression = \"gzip\"\nservice_name = \"shop\"\n\
        resource_attributes = [\"deployment.environment.name=test\"]";
    let token = database.path().with_file_name("token");
    fs::write(&token, "geheim-collector\n").expect("the file can be written");
    let token = token.to_str().expect("it is text");
    let config = with_database(&database, &collector, traces, "");
    let server = Server::with_environment(&config, &[("TOKEN_FILE", token)]);
    let headers =
        "authorization: Bearer geheim-header\r\ncookie: a=geheim-cookie\r\nuser-agent: geheim-agent\r\n";
    let query = "query($v: String!) { a: artists(where: {Name: {eq: $v}}) { Name } \
        b: artists(where: {Name: {in: [\"geheim-literal\", \"x\"]}}, limit: 3) { Name } }";
    for more in ["", "connection: close\r\n"] {
        server.graphql(&format!("{headers}{more}"), query, &json!({"v": "geheim-variable"}));
    }
    let mutation = "mutation($v: String!) { createArtist(ArtistId: 9001, Name: $v) { ArtistId } createGenre(GenreId: 77, Name: \"geheim-literal\") { GenreId } }";
    let created = server.graphql("", mutation, &json!({"v": "geheim-variable"}));
    let refused =
        server.graphql("", "{ artists(where: {Name: {eq: \"geheim-literal\"}}) { nothing } }", &json!({}));
    let get = server.send("GET /graphql?query=%7B__typename%7D&x=geheim-query", "connection: close\r\n", "");
    assert!(get.starts_with("HTTP/1.1 200"), "{get}");
    let get = server.send("GET /graphql?query=%7B__typename%7D", "", "");
    assert!(get.starts_with("HTTP/1.1 200"), "{get}");
    assert_eq!(server.process.stop().status.code(), Some(0));
    let exports = collector.exports();
    let spans = collector.spans();
    // Also of those that are handed over from the fast path.
    assert_eq!(spans.iter().filter(|span| is_server(span)).count(), 6, "{created} {refused}");
    for export in &exports {
        let text = String::from_utf8_lossy(&export.bytes);
        assert!(!text.contains("geheim"), "{text}");
        assert!(export.head.contains("authorization: bearer geheim-collector"), "{}", export.head);
        assert!(export.head.starts_with("post /v1/traces http/1.1"), "{}", export.head);
        assert_eq!(export.resource["service.name"], "shop");
        assert_eq!(export.resource["deployment.environment.name"], "test");
    }
    assert!(created.contains("9001"), "{created}");
    let tree = tree(&collector.trace_with("the mutation", |span| span.name == "COMMIT"));
    let written: Vec<&str> =
        tree.iter().map(String::as_str).filter(|line| line.ends_with("< mutate music")).collect();
    assert_eq!(
        written,
        [
            "pool wait < mutate music",
            "INSERT < mutate music",
            "INSERT < mutate music",
            "COMMIT < mutate music"
        ]
    );
    let error = |span: &&Span| {
        span.attributes.get("error.type").is_some_and(|word| word == "GRAPHQL_VALIDATION_FAILED")
    };
    assert_eq!(spans.iter().filter(error).count(), 1, "the refused one says why");
}

#[test]
fn who_is_traced_is_decided_by_the_client_and_else_by_the_share() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let server = Server::configured(&with_database(&database, &collector, "sample_ratio = 0", ""));
    let ask = |header: &str| server.graphql(header, "{ artists(limit: 1) { Name } }", &json!({}));
    ask("");
    ask(&parent("00"));
    ask("traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01\r\n");
    ask(&parent("01"));
    server.send("GET /health", &parent("01"), "");
    server.process.stop();
    let roots: Vec<Span> = collector.spans().into_iter().filter(is_server).collect();
    assert_eq!(roots.len(), 1, "{roots:?}");
    assert_eq!((roots[0].trace.as_str(), roots[0].parent.as_str()), (TRACE, PARENT));
    let config = with_database(&database, &collector, "follow_parent = false", "");
    collector.forget();
    let server = Server::configured(&config);
    let response = server.graphql(&parent("00"), "{ artists(limit: 1) { Name } }", &json!({}));
    assert!(response.contains("AC/DC"), "{response}");
    server.process.stop();
    assert!(collector.spans().iter().any(|span| span.trace == TRACE), "the share decides alone");
}

#[test]
fn an_upstream_is_told_the_span_of_the_request_that_it_gets() {
    let (collector, directory) = (Collector::start(), tempfile::tempdir().expect("a directory can be made"));
    let schema = directory.path().join("schema.graphql");
    fs::write(&schema, "type Query { one: Int }").expect("the file can be written");
    let body = r#"{"data":{"one":1}}"#;
    let length = body.len();
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let peer = ScriptedPeer::answering(response.into_bytes());
    let config = |traces: &str, source: &str| {
        format!(
            "[traces]\nendpoint = \"{}\"\nbatch_delay_ms = 20\n{traces}\n[[source]]\nupstream = \"{}/graphql?key=geheim\"\n\
             name = \"peer\"\nschema_file = {:?}\n{source}",
            collector.url(),
            peer.url(),
            schema.display()
        )
    };
    let mut connection = 0;
    let told = |server: &Server, header: &str, query: &str| -> Vec<String> {
        let response = server.graphql(header, query, &json!({}));
        assert!(response.contains("\"one\":1"), "{response}");
        let all = String::from_utf8(peer.received(connection)).expect("it is text");
        let last = all.rsplit("POST ").next().expect("it was asked").to_ascii_lowercase();
        last.lines().filter(|line| line.starts_with("trace")).map(str::to_owned).collect()
    };
    let server = Server::configured(&config("sample_ratio = 0", ""));
    for query in ["{ one }", "{ __typename one }"] {
        for more in ["", "connection: close\r\n"] {
            let header = format!("{}tracestate: rojo=1\r\n{more}", parent("01"));
            let lines = told(&server, &header, query);
            let spans = collector.trace_with("the request", |span| is_server(span) && span.trace == TRACE);
            collector.forget();
            let call = named(&spans, "POST");
            assert_eq!(
                lines,
                [format!("traceparent: 00-{TRACE}-{}-01", call.id), "tracestate: rojo=1".to_owned()]
            );
            for (name, value) in [
                ("http.request.method", "POST"),
                ("http.response.status_code", "200"),
                ("server.address", "127.0.0.1"),
                ("url.full", &format!("{}/graphql", peer.url())),
            ] {
                assert_eq!(call.attributes.get(name).map(String::as_str), Some(value), "{name}");
            }
            let tree = tree(&spans).join("\n");
            assert!(tree.contains("POST < forward peer") || tree.contains("POST < query peer"), "{tree}");
            let lines = told(&server, &format!("{}{more}", parent("00")), query);
            assert_eq!(
                lines,
                [format!("traceparent: 00-{TRACE}-{PARENT}-00")],
                "it is not traced here either"
            );
            let lines = told(&server, &format!("tracestate: rojo=1\r\n{more}"), query);
            assert!(
                lines.len() == 1 && lines[0].ends_with("-00"),
                "nor is what nobody has decided on: {lines:?}"
            );
        }
    }
    drop(server);
    connection = 1;
    let server = Server::configured(&config("", "forward_headers = [\"x-tenant\"]"));
    let told = |server: &Server, header: &str| {
        server.graphql(header, "{ one }", &json!({}));
        String::from_utf8(peer.received(connection)).expect("it is text").to_ascii_lowercase()
    };
    let request = told(&server, &parent("01"));
    assert!(!request.contains("traceparent"), "it is not told what is not forwarded to it: {request}");
}
