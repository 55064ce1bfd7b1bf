//! Every way to break the protocol of WebSockets and both sub-protocols: a row each, with what the client is told.

use std::{fmt::Write as _, io::Write as _, time::Duration};

use expect_test::{ExpectFile, expect, expect_file};
use prony_server::config::Settings;

use crate::{
    sockets::{INIT, LEGACY, Socket, TRANSPORT},
    support::Server,
    troubles,
};

/// What a client sends after the opening of its socket, frame by frame.
type Frames = Vec<Vec<u8>>;

/// A frame of a client, masked with zeros: the first byte says the final bit, the reserved bits and the kind.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(0x80 | short as u8),
        long => {
            bytes.push(0x80 | 0x7e);
            bytes.extend((long as u16).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

const TEXT: u8 = 0x81;
const TEXT_BEGINS: u8 = 0x01;
const CONTINUES: u8 = 0x00;
const CONTINUATION_ENDS: u8 = 0x80;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;

fn texts(texts: &[&str]) -> Frames {
    texts.iter().map(|text| frame(TEXT, text.as_bytes())).collect()
}

/// `connection_init`, and then these.
fn ready(frames: impl IntoIterator<Item = Vec<u8>>) -> Frames {
    texts(&[INIT]).into_iter().chain(frames).collect()
}

/// A message that starts an operation, in the words of the protocol.
fn start(protocol: &str, id: &str, query: &str) -> String {
    let kind = if protocol == LEGACY { "start" } else { "subscribe" };
    serde_json::json!({ "id": id, "type": kind, "payload": { "query": query } }).to_string()
}

/// What comes until the server closes; keep-alives of the older protocol say nothing.
fn answers(mut socket: Socket) -> String {
    let came = std::iter::from_fn(|| Some(socket.next()).filter(|text| text != "(closed)"));
    came.filter(|text| text != r#"{"type":"ka"}"#).collect::<Vec<_>>().join("\n      ")
}

/// A violation, and what a client of a protocol sends for it.
type Row<'a> = (&'a str, &'a dyn Fn(&str) -> Frames);

/// Each row in both protocols: its name, and what was answered until the close.
fn check(server: &Server, rows: &[Row<'_>], expected: &ExpectFile) {
    let mut table = String::new();
    for (name, frames) in rows {
        let _ = writeln!(table, "{name}");
        for protocol in [TRANSPORT, LEGACY] {
            let mut socket = Socket::open(server, protocol);
            for frame in frames(protocol) {
                // It may have been closed at the one before.
                let _ = socket.0.get_mut().write_all(&frame);
            }
            let _ = writeln!(table, "  {protocol}\n      {}", answers(socket));
        }
    }
    expected.assert_eq(&table);
    server.until_metric("prony_sockets", 0);
    server.until_metric("prony_subscriptions", 0);
}

fn small(settings: &mut Settings) {
    settings.subscriptions.max_message_bytes = 200;
    settings.subscriptions.init_timeout = Duration::from_millis(50);
}

#[test]
fn messages_that_break_the_sub_protocol() {
    let server = Server::donuts(small);
    let updates = "subscription { onDonutUpdated(id: \"7\") { id } }";
    check(
        &server,
        &[
            ("no JSON", &|_| texts(&["nonsense"])),
            ("no type", &|_| texts(&["{}"])),
            ("a type of servers", &|_| texts(&[r#"{"type":"connection_ack"}"#])),
            ("an operation before connection_init", &|protocol| texts(&[&start(protocol, "a", "{ x }")])),
            ("connection_init never", &|_| Vec::new()),
            ("connection_init twice", &|_| texts(&[INIT, INIT])),
            ("connection_init with a text", &|_| texts(&[r#"{"type":"connection_init","payload":"token"}"#])),
            ("an operation without an id", &|protocol| {
                ready(texts(&[&start(protocol, "", "{ __typename }")]))
            }),
            ("an id twice, then the end of a stranger", &|protocol| {
                let operation = start(protocol, "a", updates);
                let stop = if protocol == LEGACY { "stop" } else { "complete" };
                let stop = format!(r#"{{"id":"b","type":"{stop}"}}"#);
                let end = r#"{"type":"connection_terminate"}"#;
                ready(texts(&[&stop, &operation, &operation, end]))
            }),
            ("bytes", &|_| ready([frame(0x82, INIT.as_bytes())])),
        ],
        &expect_file!["violations.messages.txt"],
    );
}

/// A client may have sent more before it knows that it is cut, and is told all the same why.
#[test]
fn what_comes_behind_a_violation_resets_nothing() {
    let server = Server::donuts(|settings| settings.subscriptions.max_message_bytes = 200);
    let mut socket = Socket::open(&server, TRANSPORT);
    socket.0.get_mut().write_all(&frame(TEXT, " ".repeat(201).as_bytes())).expect("it is open");
    let told = socket.next();
    assert!(told.starts_with("close 1009"), "{told}");
    assert_eq!(socket.next(), "(closed)");
    for _ in 0..4 {
        socket.0.get_mut().write_all(&vec![b' '; 1 << 16]).expect("what is sent is read");
    }
}

#[test]
fn frames_that_break_the_websocket_protocol() {
    let server = Server::donuts(|settings| settings.subscriptions.max_message_bytes = 200);
    let long = " ".repeat(80);
    check(
        &server,
        &[
            ("not masked", &|_| ready([b"\x81\x02hi".to_vec()])),
            ("not UTF-8", &|_| ready([frame(TEXT, b"\xff\xff")])),
            ("not UTF-8, in the second fragment", &|_| {
                ready([frame(TEXT_BEGINS, b"{\xc3"), frame(CONTINUATION_ENDS, b"(")])
            }),
            ("a continuation of nothing", &|_| ready([frame(CONTINUATION_ENDS, b"")])),
            ("a text within a text", &|_| ready([frame(TEXT_BEGINS, b"{"), frame(TEXT, b"{}")])),
            ("a kind that nobody has", &|_| ready([frame(0x83, b"")])),
            ("a control frame that nobody has", &|_| ready([frame(0x8b, b"")])),
            ("a reserved bit", &|_| ready([frame(TEXT | 0x40, b"{}")])),
            ("a ping of 126 bytes", &|_| ready([frame(PING, &[b' '; 126])])),
            ("a ping in fragments", &|_| ready([frame(0x09, b"")])),
            ("a message over the limit", &|_| ready([frame(TEXT, " ".repeat(201).as_bytes())])),
            ("fragments over the limit together", &|_| {
                let piece = |first| frame(first, long.as_bytes());
                ready([piece(TEXT_BEGINS), piece(CONTINUES), piece(CONTINUES)])
            }),
            ("a header of 2^63 bytes", &|_| ready([b"\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0".to_vec()])),
            ("a header of 2^63 - 1 bytes", &|_| {
                ready([b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0".to_vec()])
            }),
            ("a close of one byte", &|_| ready([frame(CLOSE, b"\x03")])),
            ("a close with a code that nobody may send", &|_| ready([frame(CLOSE, b"\x03\xed")])),
            ("a close that is not UTF-8", &|_| ready([frame(CLOSE, b"\x03\xe8\xff")])),
            ("HTTP in a socket", &|_| ready([b"GET /graphql HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec()])),
        ],
        &expect_file!["violations.frames.txt"],
    );
}

/// It is an error of that event: the subscription goes on, and so does all else on the socket.
#[test]
fn an_event_whose_value_panics_is_told_as_an_error() {
    let server = troubles::server(troubles::SHORT, |_| {});
    let mut table = String::new();
    for protocol in [TRANSPORT, LEGACY] {
        let _ = writeln!(table, "{protocol}");
        let mut socket = Socket::open(&server, protocol);
        for frame in ready(texts(&[&start(protocol, "a", "subscription { broken { id } }")])) {
            socket.0.get_mut().write_all(&frame).expect("the socket is open");
        }
        assert_eq!(said(&mut socket, 1), [r#"{"type":"connection_ack"}"#]);
        for id in ["b", "c"] {
            socket.send(&start(protocol, id, "mutation { break }"));
            // The event may be told before the mutation's response, or behind it.
            let mut told = said(&mut socket, 3);
            told.sort_unstable();
            let _ = writeln!(table, "  {}", told.join("\n  "));
        }
    }
    expect_file!["violations.panics.txt"].assert_eq(&table);
}

/// The next messages, without keep-alives of the older protocol, and without the numbers under which the log has more.
fn said(socket: &mut Socket, count: usize) -> Vec<String> {
    let messages = std::iter::from_fn(|| Some(socket.next()));
    let messages = messages.filter(|text| text != r#"{"type":"ka"}"#).take(count);
    messages.map(|text| text.split(r#","reference""#).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_a_page_can_learn_only_from_its_socket_is_said_there() {
    let server = Server::donuts(|_| {});
    let elsewhere = [("sec-websocket-protocol", TRANSPORT), ("origin", "https://elsewhere.example")];
    expect!["close 4403 Forbidden: pages of this origin may not connect (cors_origins)"]
        .assert_eq(&answers(Socket::open_with(&server, &elsewhere)));
    // Clients refuse a socket without their protocol before they read why it is closed.
    let mut wire = server.connect();
    wire.send(
        "GET /graphql HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        sec-websocket-protocol: soap\r\n\r\n",
    );
    assert!(wire.until("\r\n\r\n").starts_with("HTTP/1.1 101"));
    let close = wire.rest();
    // 4406 as two bytes before its text.
    assert!(close.contains("Subprotocol not acceptable: graphql-transport-ws and graphql-ws are"), "{close}");
    server.until_metric("prony_sockets", 0);
}

/// What answers pings waits within bounds, of frames as of messages; who else is on the core is served.
#[test]
fn floods_of_one_client_are_its_own_harm() {
    let server = Server::donuts(|settings| {
        settings.cores = prony_server::config::CoreChoice::Count(1);
        settings.subscriptions.max_queued_messages = 100;
    });
    let message =
        frame(TEXT, br#"{"type":"ping","payload":{"n":"0123456789012345678901234567890123456789"}}"#);
    for (slow, flood) in [(1, frame(PING, &[b'x'; 125])), (2, message)] {
        let mut flooder = Socket::ready(&server);
        let mut other = Socket::ready(&server);
        let piece = flood.repeat(1000);
        for _ in 0..200 {
            if flooder.0.get_mut().write_all(&piece).is_err() {
                break;
            }
            other.send(r#"{"type":"ping"}"#);
            assert_eq!(other.next(), r#"{"type":"pong"}"#);
        }
        server.until_metric("prony_slow_consumers_total", slow);
        drop((flooder, other));
        server.until_metric("prony_sockets", 0);
    }
}
