//! Clients that do not do what they should: that go away in the middle of a body, that do not read, that send names as
//! long as names can be. And one node with very many relationships: `PRONY_GRAPH_HUB=10000000` for the longer form.

use crate::client::Client;
use crate::serve::start;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

const HUB: u64 = 20_000;
/// Lines that are sent at a time.
const LINES: u64 = 10_000;

fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap()
}

/// A bulk creation whose body is sent piece by piece.
struct Bulk(TcpStream);

impl Bulk {
    fn begin(url: &str, what: &str) -> Self {
        let mut stream = connect(url);
        let head =
            format!("POST /db/rage/{what} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Self(stream)
    }

    fn send(&mut self, text: &str) {
        write!(self.0, "{:x}\r\n{text}\r\n", text.len()).unwrap();
    }

    /// Status and report.
    fn end(mut self) -> (u16, Value) {
        self.0.write_all(b"0\r\n\r\n").unwrap();
        let mut answer = BufReader::new(self.0);
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        while answer.read_line(&mut line).unwrap() > 2 {
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            }
            if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body).unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }
}

#[test]
fn a_client_that_vanishes_in_mid_body_leaves_what_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = start(directory.path(), &[]);
    let mut bulk = Bulk::begin(&server.url, "nodes");
    bulk.send("{\"type\": \"User\", \"key\": \"a\"}\n{\"type\": \"User\", \"key\": \"b\"}\n{\"type\": \"User\", \"ke");
    drop(bulk);
    server.process.wait_for_text("what it created stays");
    let client = Client::new(&server.url);
    let found = client.ask("GET", "/nodes", None).1;
    let keys: Vec<_> = found.as_array().unwrap().iter().map(|node| &node["key"]).collect();
    assert!(keys.iter().all(|key| ["a", "b"].contains(&key.as_str().unwrap())), "{keys:?}");
    server.process.stop();
    let server = start(directory.path(), &[]);
    assert_eq!(Client::new(&server.url).ask("GET", "/nodes", None).1, found);
}

#[test]
fn a_client_that_asks_for_it_is_told_of_progress() {
    const NODES: u64 = 250_000;
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["--durability", "off"]);
    let mut lines = String::new();
    for key in 0..NODES {
        let _ = writeln!(lines, "{{\"type\": \"User\", \"key\": \"{key}\"}}");
    }
    let request =
        ureq::post(format!("{}/db/rage/nodes", server.url)).header("accept", "application/x-ndjson");
    let mut answer = request.send(&lines).unwrap();
    let told = answer.body_mut().read_to_string().unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (report, progress) = told.split_last().unwrap();
    assert_eq!(*report, json!({"created": NODES, "failed": 0, "last_line": NODES, "errors": []}));
    assert_eq!(progress.len(), 2, "{progress:?}");
    assert!(progress.iter().all(|one| one["created"] == one["last_line"]), "{progress:?}");
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["--cpus", "1"]);
    let mut bulk = Bulk::begin(&server.url, "nodes");
    let mut lines = String::new();
    for key in 0..50_000 {
        let _ =
            writeln!(lines, "{{\"type\": \"User\", \"key\": \"a rather long key, to fill buffers {key}\"}}");
    }
    bulk.send(&lines);
    assert_eq!(bulk.end().1["created"], json!(50_000));
    // Megabytes that stay in buffers, and on the server's side of them.
    let mut idle = connect(&server.url);
    idle.write_all(b"GET /db/rage/nodes?limit=50000 HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let client = Client::new(&server.url);
    for number in 0..100 {
        assert_eq!(client.ask("POST", &format!("/node/User/{number}"), None).0, 201);
    }
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
}

#[test]
fn keys_are_as_long_as_64_kib_and_names_of_types_as_1_kib() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &[]);
    let text = |bytes: usize| "\u{e9}/".repeat(bytes / 3) + &"x".repeat(bytes % 3);
    let (key, too_long_key) = (text(65_536), text(65_537));
    let (name, too_long_name) = (text(1_024), text(1_025));
    assert_eq!((key.len(), name.len()), (65_536, 1_024));
    let mut bulk = Bulk::begin(&server.url, "nodes");
    for (of, key) in [("T", &*key), ("T", &*too_long_key), (&*name, "k"), (&*too_long_name, "k")] {
        bulk.send(&format!("{}\n", json!({"type": of, "key": key})));
    }
    let (status, report) = bulk.end();
    assert_eq!((status, &report["created"], &report["failed"]), (200, &json!(2), &json!(2)), "{report}");
    let nodes = |url: &str| Client::new(url).ask("GET", "/nodes", None).1;
    let before = nodes(&server.url);
    let names: Vec<_> = before.as_array().unwrap().iter().map(|node| (&node["type"], &node["key"])).collect();
    assert!(names.contains(&(&json!("T"), &json!(key))) && names.contains(&(&json!(name), &json!("k"))));
    server.process.stop();
    assert_eq!(nodes(&start(directory.path(), &[]).url), before);
}

#[test]
fn one_node_has_very_many_relationships() {
    let count = std::env::var("PRONY_GRAPH_HUB").map_or(HUB, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &[]);
    let client = Client::new(&server.url);
    let id = |key: &str| client.ask("POST", &format!("/node/User/{key}"), None).1["id"].as_u64().unwrap();
    let (hub, other) = (id("hub"), id("other"));
    let mut bulk = Bulk::begin(&server.url, "relationships");
    let line = format!("{{\"type\": \"KNOWS\", \"from\": {hub}, \"to\": {other}}}\n");
    for sent in (0..count).step_by(LINES as usize) {
        bulk.send(&line.repeat(LINES.min(count - sent) as usize));
    }
    let (status, report) = bulk.end();
    assert_eq!((status, &report["created"], &report["failed"]), (200, &json!(count), &json!(0)), "{report}");
    let degree = |url: &str| Client::new(url).ask("GET", "/node/User/hub/degree", None).1;
    assert_eq!(degree(&server.url), json!({"degree": count}));
    assert_eq!(client.ask("POST", "/node/User/hub/relationship/User/other/KNOWS", None).0, 201);
    server.process.signal(prony_testkit::process::Signal::KILL);
    server.process.wait();
    let server = start(directory.path(), &[]);
    assert_eq!(degree(&server.url), json!({"degree": count + 1}));
    let client = Client::new(&server.url);
    assert_eq!(client.ask("DELETE", "/node/User/hub", None).0, 204);
    assert_eq!(client.ask("GET", "/relationships", None).1, json!([]));
}
