//! `max_memory_bytes`: at the bound of the process' memory what is new is refused and said, what operators ask is answered, and when
//! there is room again all goes on.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::PronyProcess;
use socket2::SockRef;
use tempfile::TempDir;
use tungstenite::{Message, client::IntoClientRequest as _};

const PATIENCE: Duration = Duration::from_secs(60);

/// More than the server needs for itself, and less than a handful of the responses that nobody reads.
const BOUND_BYTES: u64 = 250_000_000;

/// Rows of a megabyte each.
const ROWS: i64 = 24;

struct Served {
    process: PronyProcess,
    address: String,
    _directory: TempDir,
}

fn serve(bound_bytes: u64) -> Served {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("pages.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, text TEXT NOT NULL)", []).unwrap();
    for id in 0..ROWS {
        connection.execute("INSERT INTO pages VALUES (?1, ?2)", (id, "x".repeat(1_000_000))).unwrap();
    }
    drop(connection);
    let graphs = directory.path().join("graphs");
    fs::create_dir(&graphs).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command
        .args(["serve", &format!("sqlite:{}", database.display()), &format!("graph:{}", graphs.display())])
        .args(["--listen", "127.0.0.1:0", "--cpus", "2"])
        .args(["--max-memory-bytes", &bound_bytes.to_string()])
        // Who does not read is held as long as the test takes.
        .env("PRONY_SERVER_WRITE_TIMEOUT_MS", (2 * PATIENCE).as_millis().to_string());
    let mut process = PronyProcess::start_command(command);
    let address = process.wait_for_url().trim_start_matches("http://").to_owned();
    Served { process, address, _directory: directory }
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A response as it is sent, to its end. `connection: close` goes to hyper's part of the server.
fn ask(address: &str, head: &str, body: &str) -> String {
    let mut stream = connect(address);
    let common = "host: localhost\r\nconnection: close\r\ncontent-type: application/json";
    write!(stream, "{head} HTTP/1.1\r\n{common}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// A query in the form that the fast path takes.
fn send_simple(stream: &mut TcpStream, body: &str) {
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
}

/// The beginning of what comes on the fast path.
fn ask_simply(address: &str, body: &str) -> String {
    let mut stream = connect(address);
    send_simple(&mut stream, body);
    let mut response = [0; 4096];
    let count = stream.read(&mut response).unwrap();
    String::from_utf8_lossy(&response[..count]).into_owned()
}

const ONE_ID: &str = r#"{"query":"{ pages(limit: 1) { id } }"}"#;
/// A client that asks for all rows and reads nothing.
fn deaf(address: &str) -> TcpStream {
    let mut stream = connect(address);
    SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
    send_simple(&mut stream, r#"{"query":"{ pages { text } }"}"#);
    stream
}

#[test]
fn at_the_bound_what_is_new_is_refused_until_there_is_room() {
    let served = serve(BOUND_BYTES);
    let address = &*served.address;
    assert!(ask_simply(address, ONE_ID).contains(r#"{"pages":[{"id":0}]}"#));
    let mut request = format!("ws://{address}/graphql").into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
    let (mut socket, _) = tungstenite::client(request, connect(address)).unwrap();
    socket.send(Message::text(r#"{"type":"connection_init"}"#)).unwrap();
    assert!(socket.read().unwrap().to_text().unwrap().contains("connection_ack"));

    let deadline = Instant::now() + PATIENCE;
    let mut silent = Vec::new();
    let refusal = loop {
        let answer = ask_simply(address, ONE_ID);
        if answer.starts_with("HTTP/1.1 503 ") {
            break answer;
        }
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(Instant::now() < deadline, "{} clients that do not read, and it takes on more", silent.len());
        silent.push(deaf(address));
        thread::sleep(Duration::from_millis(200));
    };
    assert!(
        refusal.contains("retry-after: 1\r\n") && refusal.contains("content-type: application/json"),
        "{refusal}"
    );
    let message =
        format!("bytes of memory, at its bound of {BOUND_BYTES} (max_memory_bytes): try again in a moment");
    assert!(refusal.contains(&message), "{refusal}");

    // Every way in.
    for (head, body) in [
        ("POST /graphql", ONE_ID),
        ("GET /graphql?query=%7B__typename%7D", ""),
        ("GET /", ""),
        ("PUT /graphql/stream", ""),
        ("GET /db/graph/schema/nodes", ""),
        ("POST /db/graph/schema/nodes/User", ""),
        ("GET /nowhere", ""),
    ] {
        let answer = ask(address, head, body);
        assert!(
            answer.starts_with("HTTP/1.1 503 ") && answer.contains("max_memory_bytes"),
            "{head}: {answer}"
        );
    }
    let subscribe = r#"{"id":"1","type":"subscribe","payload":{"query":"{ pages(limit: 1) { id } }"}}"#;
    socket.send(Message::text(subscribe)).unwrap();
    let answer = socket.read().unwrap();
    let answer = answer.to_text().unwrap();
    assert!(answer.contains(r#""type":"error""#) && answer.contains("OVERLOADED"), "{answer}");

    // Of a server in need operators learn what it needs.
    for path in ["/live", "/ready", "/health", "/metrics"] {
        let answer = ask(address, &format!("GET {path}"), "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        if path == "/metrics" {
            let value = |name: &str| {
                let line = answer.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok())
            };
            assert_eq!(value("prony_memory_bound_bytes"), Some(BOUND_BYTES as f64), "{answer}");
            assert!(value("prony_memory_refused_total").is_some_and(|refused| refused >= 9.0), "{answer}");
        }
    }

    drop(silent);
    while !ask_simply(address, ONE_ID).starts_with("HTTP/1.1 200 ") {
        assert!(Instant::now() < deadline, "memory was not given back: {}", served.process.stderr());
        thread::sleep(Duration::from_millis(50));
    }
    socket.send(Message::text(subscribe.replace("\"1\"", "\"2\""))).unwrap();
    assert!(socket.read().unwrap().to_text().unwrap().contains(r#"{"pages":[{"id":0}]}"#));
    let finished = served.process.stop();
    assert!(finished.stderr.contains("the memory of the process is at its bound"), "{}", finished.stderr);
}
