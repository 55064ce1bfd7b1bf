//! WebSockets: both protocols over real sockets, and clients that misbehave at each level.

use std::{
    io::Write as _,
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use expect_test::{Expect, expect};
use prony_server::config::Settings;
use socket2::SockRef;
use tokio_tungstenite::tungstenite::{
    Error, Message, WebSocket,
    client::{IntoClientRequest as _, client},
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use crate::support::{PATIENCE, Server, check};

pub(crate) const TRANSPORT: &str = "graphql-transport-ws";
pub(crate) const LEGACY: &str = "graphql-ws";
pub(crate) const INIT: &str = r#"{"type":"connection_init"}"#;

const RECEIVE_BUFFER_BYTES: usize = 64 << 10;

/// A WebSocket client that shows what comes.
pub(crate) struct Socket(pub(crate) WebSocket<TcpStream>);

impl Socket {
    pub(crate) fn open(server: &Server, protocol: &'static str) -> Self {
        Self::at(server.address(), protocol)
    }

    pub(crate) fn at(address: SocketAddr, protocol: &'static str) -> Self {
        Self::open_at(address, &[("sec-websocket-protocol", protocol)])
    }

    pub(crate) fn open_with(server: &Server, headers: &[(&'static str, &'static str)]) -> Self {
        Self::open_at(server.address(), headers)
    }

    pub(crate) fn open_at(address: SocketAddr, headers: &[(&'static str, &'static str)]) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("the timeout is not zero");
        // What a client does not read waits at the server then, not in tens of megabytes of the kernel's.
        SockRef::from(&stream).set_recv_buffer_size(RECEIVE_BUFFER_BYTES).expect("TCP has the option");
        let url = format!("ws://{address}/graphql");
        let mut request = url.into_client_request().expect("the address is right");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("values are plain"));
        }
        Self(client(request, stream).expect("the server switches").0)
    }

    /// Opened and ready.
    pub(crate) fn ready(server: &Server) -> Self {
        Self::ready_at(server.address())
    }

    pub(crate) fn ready_at(address: SocketAddr) -> Self {
        let mut socket = Self::at(address, TRANSPORT);
        socket.send(INIT);
        assert_eq!(socket.next(), r#"{"type":"connection_ack"}"#);
        socket
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).expect("the server reads");
    }

    /// The next text, or why there is none.
    pub(crate) fn next(&mut self) -> String {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return text.to_string(),
                Ok(Message::Close(None)) => return "close".to_owned(),
                Ok(Message::Close(Some(close))) => return format!("close {} {}", close.code, close.reason),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(other) => panic!("unexpected: {other:?}"),
                Err(Error::ConnectionClosed | Error::Protocol(_)) => return "(closed)".to_owned(),
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return "(closed)".to_owned();
                }
                Err(error) => return format!("nothing came: {error}"),
            }
        }
    }

    /// Bytes as they are, which may be no frames.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("the server reads");
    }
}

/// Sends texts, and shows what came after the last of them.
#[expect(clippy::needless_pass_by_value, reason = "reads like the texts beside it")]
fn talk(server: &Server, protocol: &'static str, texts: &[&str], answers: usize, expected: Expect) {
    let mut socket = Socket::open(server, protocol);
    for text in texts {
        socket.send(text);
    }
    let came: Vec<String> = (0..answers).map(|_| socket.next()).collect();
    expected.assert_eq(&(came.join("\n") + "\n"));
}

pub(crate) fn subscribe(id: &str, query: &str) -> String {
    serde_json::json!({ "id": id, "type": "subscribe", "payload": { "query": query } }).to_string()
}

#[test]
fn queries_and_mutations_go_over_sockets_too() {
    let server = Server::start();
    talk(
        &server,
        TRANSPORT,
        &[INIT, &subscribe("a", "{ artists(limit: 1) { Name } }")],
        3,
        expect![[r#"
            {"type":"connection_ack"}
            {"id":"a","type":"next","payload":{"data":{"artists":[{"Name":"AC/DC"}]}}}
            {"id":"a","type":"complete"}
        "#]],
    );
    let create = r#"{"id":"m","type":"subscribe","payload":{"query":"mutation ($n: String!) { createGenre(GenreId: 99, Name: $n) { GenreId } }","variables":{"n":"Prony"}}}"#;
    talk(
        &server,
        TRANSPORT,
        &[INIT, create],
        3,
        expect![[r#"
        {"type":"connection_ack"}
        {"id":"m","type":"next","payload":{"data":{"createGenre":{"GenreId":99}}}}
        {"id":"m","type":"complete"}
    "#]],
    );
    talk(
        &server,
        LEGACY,
        &[INIT, r#"{"id":"1","type":"start","payload":{"query":"{ __typename }"}}"#],
        4,
        expect![[r#"
            {"type":"connection_ack"}
            {"type":"ka"}
            {"id":"1","type":"data","payload":{"data":{"__typename":"Query"}}}
            {"id":"1","type":"complete"}
        "#]],
    );
}

#[test]
fn what_is_refused_ends_its_operation_and_nothing_else() {
    let server = Server::with(|settings| settings.limits.max_depth = 2);
    let deep = subscribe("b", "{ artists { albums { tracks { Name } } } }");
    talk(
        &server,
        TRANSPORT,
        &[INIT, &subscribe("a", "{ nothing }"), &deep, &subscribe("c", "subscription { x }")],
        4,
        expect![[r#"
            {"type":"connection_ack"}
            {"id":"a","type":"error","payload":[{"message":"type `Query` does not have a field `nothing`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            {"id":"b","type":"error","payload":[{"message":"Exceeded maximum nest level.","locations":[{"line":1,"column":1}],"extensions":{"code":"LIMIT_EXCEEDED","limit":"max_depth","value":3,"highest":2,"try":"ask for fewer nested levels, or in several requests"}}]}
            {"id":"c","type":"error","payload":[{"message":"type `Subscription` does not have a field `x`","locations":[{"line":1,"column":16}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        "#]],
    );
    talk(
        &server,
        LEGACY,
        &[INIT, r#"{"id":"1","type":"start","payload":{"query":"{"}}"#],
        4,
        expect![[r#"
            {"type":"connection_ack"}
            {"type":"ka"}
            {"id":"1","type":"data","payload":{"errors":[{"message":"syntax error: expected at least one Selection in Selection Set","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}},{"message":"syntax error: expected }, got the end of the document","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}}
            {"id":"1","type":"complete"}
        "#]],
    );
}

/// `complete` is queued right behind the response, before its client could read either.
#[test]
fn a_response_longer_than_what_may_wait_goes_to_who_reads_it() {
    let server = Server::with(|settings| settings.subscriptions.max_queued_bytes = 100);
    let mut socket = Socket::ready(&server);
    for id in ["a", "b"] {
        socket.send(&subscribe(id, "{ artists { Name } }"));
        let answer = socket.next();
        assert!(answer.len() > 1000 && answer.contains("AC/DC"), "{answer}");
        assert_eq!(socket.next(), format!(r#"{{"id":"{id}","type":"complete"}}"#));
    }
}

#[test]
fn fragments_make_a_message() {
    let server = Server::start();
    let mut socket = Socket::ready(&server);
    let text = subscribe("a", "{ __typename }");
    let (first, rest) = text.as_bytes().split_at(10);
    let frame = |bytes: &[u8], opcode, last| {
        Message::Frame(Frame::message(bytes.to_vec(), OpCode::Data(opcode), last))
    };
    socket.0.send(frame(first, Data::Text, false)).expect("the server reads");
    socket.0.send(Message::Ping(b"between".as_slice().into())).expect("the server reads");
    socket.0.send(frame(rest, Data::Continue, true)).expect("the server reads");
    assert_eq!(socket.next(), r#"{"id":"a","type":"next","payload":{"data":{"__typename":"Query"}}}"#);
}

#[test]
fn clients_that_vanish_leave_nothing() {
    let server = Server::start();
    let mut in_mid_frame = Socket::ready(&server);
    in_mid_frame.send_raw(b"\x81\xfe\x01\x00\0\0\0\0{\"id\"");
    let mut in_handshake = TcpStream::connect(server.address()).expect("the server listens");
    in_handshake.write_all(b"GET /graphql HTTP/1.1\r\nupgrade: websocket\r\n").expect("the server reads");
    let half = Socket::ready(&server);
    half.0.get_ref().shutdown(Shutdown::Write).expect("it is open");
    drop((in_mid_frame, in_handshake, half));
    server.until_metric("prony_sockets", 0);
    let mut polite = Socket::ready(&server);
    polite.0.close(None).expect("it is open");
    assert_eq!(polite.next(), "close");
    assert_eq!(polite.next(), "(closed)");
    server.until_metric("prony_sockets", 0);
}

#[test]
fn a_silent_client_is_pinged_and_given_up() {
    let quick = |settings: &mut Settings| {
        settings.subscriptions.ping_interval = Duration::from_millis(20);
        settings.subscriptions.ping_timeout = Duration::from_millis(100);
    };
    let server = Server::with(quick);
    let mut silent = Socket::ready(&server);
    // It neither reads nor answers; the socket stays open on its side.
    server.until_metric("prony_sockets", 0);
    assert_eq!(silent.next(), "(closed)");
    let mut legacy = Socket::open(&server, LEGACY);
    legacy.send(INIT);
    let came: Vec<String> = (0..4).map(|_| legacy.next()).collect();
    assert_eq!(
        came,
        [r#"{"type":"connection_ack"}"#].into_iter().chain([r#"{"type":"ka"}"#; 3]).collect::<Vec<_>>()
    );
}

#[test]
fn operations_of_a_connection_are_bounded() {
    let server = Server::with(|settings| settings.subscriptions.max_queued_messages = 8);
    let mut flood = Socket::ready(&server);
    // It asks and asks, and never reads: what waits for it is bounded, and then it is cut.
    let question = subscribe("a", "{ tracks(limit: 1000) { Name Composer } }");
    for number in 0..100_000 {
        let text = question.replace("\"a\"", &format!("\"{number}\""));
        if flood.0.send(Message::text(text)).is_err() {
            break;
        }
    }
    server.until_metric("prony_slow_consumers_total", 1);
    server.until_metric("prony_sockets", 0);
}

#[test]
fn answers_of_a_connection_share_its_bytes() {
    let server = Server::with(|settings| settings.subscriptions.max_connection_bytes = 100_000);
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("long", "{ tracks(limit: 3503) { Name Composer } }"));
    let message = "the answers of the operations of this connection have more than 100000 bytes together";
    let answer = socket.next();
    assert!(answer.contains(message) && answer.contains("(max_connection_bytes)"), "{answer:.300}");
    socket.next();
    socket.send(&subscribe("short", "{ tracks(limit: 1) { Name } }"));
    let answer = socket.next();
    assert!(answer.contains(r#""data":{"tracks":[{"Name""#), "{answer:.300}");
}

#[test]
fn openings_that_are_none_are_answered_over_http() {
    let server = Server::start();
    let open = |headers: &str| format!("GET /graphql HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    let upgrade = "upgrade: websocket\r\nconnection: upgrade\r\n";
    check(
        &server,
        open(upgrade),
        expect![[r#"
        HTTP/1.1 426 Upgrade Required
        content-type: application/json; charset=utf-8
        sec-websocket-version: 13
        upgrade: websocket
        connection: upgrade
        {"errors":[{"message":"WebSockets of version 13 are spoken here"}]}
    "#]],
    );
    let key = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    check(
        &server,
        open(&format!("{upgrade}{key}")),
        expect![[r#"
        HTTP/1.1 400 Bad Request
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"name the protocol: `sec-websocket-protocol: graphql-transport-ws` (or the older graphql-ws)"}]}
    "#]],
    );
    let protocol = "sec-websocket-protocol: graphql-transport-ws\r\n";
    check(
        &server,
        open(&format!("{upgrade}{key}{protocol}")),
        expect![[r#"
        HTTP/1.1 101 Switching Protocols
        upgrade: websocket
        connection: upgrade
        sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=
        sec-websocket-protocol: graphql-transport-ws

    "#]],
    );
}

#[test]
fn a_thousand_sockets_leave_nothing() {
    let server = Server::start();
    for _ in 0..10 {
        let sockets: Vec<Socket> = (0..100).map(|_| Socket::ready(&server)).collect();
        server.until_metric("prony_sockets", 100);
        drop(sockets);
    }
    server.until_metric("prony_sockets", 0);
    // The one that asks.
    server.until_metric("prony_connections", 1);
}

#[test]
fn stopping_tells_sockets_to_come_back() {
    let server = Server::start();
    let mut idle = Socket::ready(&server);
    let mut fresh = Socket::open(&server, LEGACY);
    let stopping = std::thread::spawn(move || server.running.stop());
    assert_eq!(idle.next(), "close 1012 the server is stopping: connect again");
    assert_eq!(fresh.next(), "close 1012 the server is stopping: connect again");
    assert_eq!(idle.next(), "(closed)");
    assert_eq!(fresh.next(), "(closed)");
    stopping.join().expect("it stops");
}
