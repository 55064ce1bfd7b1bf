//! Subscriptions over WebSockets of an upstream that refuses, falls silent, ends, floods and goes, as `graphql-transport-ws` has it.

use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use prony_testkit::peer::ScriptedPeer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{
    Message, WebSocket, accept_hdr,
    handshake::server::{Request, Response},
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use crate::{Subscriber, directory, server::Server};

const SDL: &str = "type Query { one: Int } type Subscription { ticks(by: Int): Int text: String }";

type Socket = WebSocket<TcpStream>;

/// An upstream that speaks WebSockets alone.
struct SocketPeer {
    address: SocketAddr,
    log: Log,
}

/// Heads of handshakes and messages, in the order in which they came; `gone` where a client has closed a connection.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// The next message; none where the client is gone.
    fn read(&self, socket: &mut Socket) -> Option<String> {
        loop {
            match socket.read() {
                Ok(Message::Text(text)) => {
                    self.lines().push(text.as_str().to_owned());
                    return Some(text.as_str().to_owned());
                }
                Ok(Message::Close(_)) | Err(_) => {
                    self.lines().push("gone".to_owned());
                    return None;
                }
                Ok(_) => {}
            }
        }
    }
}

fn say(socket: &mut Socket, message: &Value) {
    // A client that is gone hears nothing.
    let _ = socket.send(Message::text(message.to_string()));
}

/// As far as the subscription.
fn begin(socket: &mut Socket, log: &Log) {
    log.read(socket);
    say(socket, &json!({"type": "connection_ack"}));
    log.read(socket);
}

fn tick(number: usize) -> Value {
    json!({"id": "1", "type": "next", "payload": {"data": {"ticks": number}}})
}

impl SocketPeer {
    /// Connection after connection is spoken with so, by its number.
    fn start(speak: impl Fn(usize, &mut Socket, &Log) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let (log, speak) = (Log::default(), Arc::new(speak));
        let noted = log.clone();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (log, speak) = (noted.clone(), Arc::clone(&speak));
                thread::spawn(move || {
                    #[expect(clippy::result_large_err, reason = "the library wants it so")]
                    let choose = |request: &Request, mut response: Response| {
                        let mut head = String::new();
                        for (name, value) in request.headers() {
                            let _ = write!(head, "{name}: {} ", value.to_str().unwrap_or("-"));
                        }
                        log.lines().push(head);
                        let protocol = "graphql-transport-ws".parse().expect("it is a value");
                        response.headers_mut().insert("sec-websocket-protocol", protocol);
                        Ok(response)
                    };
                    let Ok(mut socket) = accept_hdr(stream, choose) else { return };
                    speak(number, &mut socket, &log);
                });
            }
        });
        Self { address, log }
    }

    fn gateway(&self, directory: &TempDir, more: &str) -> Server {
        let schema = directory.path().join("schema.graphql");
        fs::write(&schema, SDL).expect("the file can be written");
        let text = format!(
            "[[source]]\nupstream = \"http://{}/graphql\"\nname = \"peer\"\nschema_file = {:?}\n{more}\n",
            self.address,
            schema.display()
        );
        Server::configured(directory, &text)
    }
}

const TICKS: &str = "subscription { ticks(by: 1) }";

#[test]
fn an_upstream_that_refuses_a_subscription_is_an_error_that_says_so() {
    let close = |code: u16, reason: &'static str| {
        move |_: usize, socket: &mut Socket, log: &Log| {
            log.read(socket);
            let _ = socket.close(Some(CloseFrame { code: CloseCode::from(code), reason: reason.into() }));
            while log.read(socket).is_some() {}
        }
    };
    let forbidden = SocketPeer::start(close(4403, "Forbidden"));
    let odd = SocketPeer::start(|_, socket, log| {
        log.read(socket);
        say(socket, &json!({"type": "connection_error", "payload": {"message": "no"}}));
        log.read(socket);
    });
    let garbage = SocketPeer::start(|_, socket, log| {
        log.read(socket);
        let _ = socket.send(Message::text("{"));
        log.read(socket);
    });
    let silent = SocketPeer::start(|_, socket, log| while log.read(socket).is_some() {});
    for (peer, told) in [
        (forbidden, "4403 Forbidden"),
        (odd, "connection_error"),
        (garbage, "not JSON"),
        (silent, "connect_timeout_ms"),
    ] {
        let directory = directory();
        let gateway = peer.gateway(&directory, "connect_timeout_ms = 500");
        let mut subscriber = Subscriber::new(&gateway, TICKS);
        subscriber.wait_for("SOURCE_UNAVAILABLE");
        subscriber.wait_for("event: complete");
        gateway.wait_until("the log says why", |gateway| gateway.process.stderr().contains(told));
        gateway.wait_until("the connection is closed", |_| peer.log.has("gone"));
        assert!(!peer.log.has("\"subscribe\""), "{:?}", peer.log.lines());
    }
}

/// As servers refuse what they cannot execute, in place of a stream of events; older ones give their events no name.
#[test]
fn a_result_in_place_of_events_is_passed_on() {
    let answer = |status: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let errors = r#"{"errors":[{"message":"not today"}]}"#;
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
        data: {\"data\":{\"ticks\":7}}\n\nevent: complete\n\n";
    for (response, told) in [
        (answer("200 OK", errors), "not today"),
        (answer("400 Bad Request", errors), "not today"),
        (answer("200 OK", r#"{"data":{"ticks":7}}"#), r#"{"data":{"ticks":7}}"#),
        (answer("200 OK", "{}"), "SOURCE_FAILED"),
        (events.to_owned(), r#"{"data":{"ticks":7}}"#),
    ] {
        let directory = directory();
        let peer = ScriptedPeer::answering(response.into_bytes());
        let schema = directory.path().join("schema.graphql");
        fs::write(&schema, SDL).expect("the file can be written");
        let text = format!(
            "[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\nupstream_subscriptions = \"sse\"\n",
            peer.url(),
            schema.display()
        );
        let gateway = Server::configured(&directory, &text);
        let mut subscriber = Subscriber::new(&gateway, TICKS);
        subscriber.wait_for(told);
        subscriber.wait_for("event: complete");
        assert!(!subscriber.read.contains("EVENTS_LOST"), "{}", subscriber.read);
    }
}

#[test]
fn ends_and_errors_of_an_upstream_end_what_is_passed_on() {
    let peer = SocketPeer::start(|_, socket, log| {
        begin(socket, log);
        let subscribed = log.lines().last().cloned().unwrap_or_default();
        say(socket, &tick(1));
        // Of another operation, and what keeps the connection alive.
        say(socket, &json!({"id": "2", "type": "next", "payload": {"data": {"ticks": 9}}}));
        say(socket, &json!({"id": "2", "type": "complete"}));
        say(socket, &json!({"type": "ping"}));
        log.read(socket);
        if subscribed.contains("by: 1") || subscribed.contains("by:1") {
            say(socket, &json!({"id": "1", "type": "complete"}));
        } else {
            let errors = json!([{"message": "sold out", "extensions": {"code": "SOLD_OUT"}}]);
            say(socket, &json!({"id": "1", "type": "error", "payload": errors}));
        }
        while log.read(socket).is_some() {}
    });
    let directory = directory();
    let gateway = peer.gateway(&directory, "");
    let mut ended = Subscriber::new(&gateway, TICKS);
    ended.wait_for("event: complete");
    assert!(ended.read.contains("{\"data\":{\"ticks\":1}}"), "{}", ended.read);
    assert!(!ended.read.contains("errors"), "{}", ended.read);
    assert!(!ended.read.contains("{\"ticks\":9}"), "{}", ended.read);
    assert!(peer.log.has("{\"type\":\"pong\"}"), "{:?}", peer.log.lines());
    let mut failed = Subscriber::new(&gateway, "subscription { ticks(by: 2) }");
    failed.wait_for("event: complete");
    assert!(failed.read.contains("SOLD_OUT"), "{}", failed.read);
    // It is over, and not opened again.
    let count = |text: &str| peer.log.lines().iter().filter(|line| line.contains(text)).count();
    gateway.wait_until("both are closed", |_| count("gone") == 2);
    assert_eq!(count("\"subscribe\""), 2);
}

/// The last client of a stream closes it at the upstream, too.
#[test]
fn clients_that_leave_end_the_subscription_of_the_upstream() {
    let peer = SocketPeer::start(|_, socket, log| {
        begin(socket, log);
        say(socket, &tick(1));
        while log.read(socket).is_some() {}
    });
    let directory = directory();
    let gateway = peer.gateway(&directory, "");
    let mut subscribers = [(); 2].map(|()| Subscriber::new(&gateway, TICKS));
    subscribers[0].wait_for("\"ticks\":1");
    let [first, second] = subscribers;
    drop(first);
    thread::sleep(Duration::from_millis(300));
    assert!(!peer.log.has("gone"), "another still hears it");
    drop(second);
    gateway.wait_until("the upstream is left", |_| peer.log.has("gone"));
}

/// Keeps nothing of what comes before.
fn read_as_far_as(stream: &mut TcpStream, text: &str) {
    let (mut tail, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let count = stream.read(&mut buffer).expect("it is there");
        tail.extend_from_slice(&buffer[..count]);
        if String::from_utf8_lossy(&tail).contains(text) {
            return;
        }
        assert!(count > 0, "it has ended without {text}: {}", String::from_utf8_lossy(&tail));
        let kept = tail.len().min(text.len());
        tail.drain(..tail.len() - kept);
    }
}

/// One who does not read is not waited for, and does not make the gateway keep all that comes.
#[test]
fn a_slow_reader_holds_up_nobody() {
    const EVENTS: usize = 3_000;
    let peer = SocketPeer::start(|_, socket, log| {
        begin(socket, log);
        let padding = "x".repeat(10_000);
        // Until both are there.
        thread::sleep(Duration::from_millis(500));
        for number in 0..EVENTS {
            // Not faster than one who reads can.
            if number % 10 == 0 {
                thread::sleep(Duration::from_millis(10));
            }
            let text = format!("{number}-{padding}");
            say(socket, &json!({"id": "1", "type": "next", "payload": {"data": {"text": text}}}));
        }
        while log.read(socket).is_some() {}
    });
    let directory = directory();
    let gateway = peer.gateway(&directory, "");
    let query = "subscription { text }";
    let slow = Subscriber::new(&gateway, query);
    let mut fast = Subscriber::new(&gateway, query);
    let last = format!("\"{}-x", EVENTS - 1);
    let begun = Instant::now();
    read_as_far_as(&mut fast.stream, &last);
    let bytes = gateway.metric("process_resident_memory_bytes");
    assert!(bytes < 200e6, "{bytes} bytes after {:?}", begun.elapsed());
    gateway.wait_until("the other is cut", |gateway| gateway.metric("prony_slow_consumers") >= 1.0);
    drop(slow);
}

#[test]
fn traces_go_on_at_the_upstream_and_do_not_part_who_asks_the_same() {
    let peer = SocketPeer::start(|_, socket, log| {
        begin(socket, log);
        say(socket, &tick(1));
        while log.read(socket).is_some() {}
    });
    let directory = directory();
    let gateway = peer.gateway(&directory, "");
    let subscribe = |span: &str| {
        let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
        let body = json!({ "query": TICKS }).to_string();
        let length = body.len();
        let request = format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n\
             traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-{span}-01\r\ntracestate: a=1\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        Subscriber { stream, read: String::new() }
    };
    let mut first = subscribe("00f067aa0ba902b7");
    first.wait_for("\"ticks\":1");
    let _second = subscribe("00f067aa0ba902b8");
    gateway.wait_until("both are open", |gateway| gateway.metric("prony_subscriptions{") >= 2.0);
    assert!(peer.log.has("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    assert!(peer.log.has("tracestate: a=1"));
    let opened = peer.log.lines().iter().filter(|line| line.contains("\"subscribe\"")).count();
    assert_eq!(opened, 1, "{:?}", peer.log.lines());
}
