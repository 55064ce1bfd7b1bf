//! WebSockets of programs that wait, against peers that do as they should and peers that do not.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod waiting;

use expect_test::{Expect, expect};
use prony_model::Nanos;
use prony_model::program::call::SocketMessage;
use prony_testkit::peer::{ScriptedPeer, Step};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use tungstenite::handshake::derive_accept_key;
use tungstenite::{Message, WebSocket};
use waiting::{Act, Talk, heard};

fn talk(url: &str, says: Vec<SocketMessage>, closes_after: usize) -> Act {
    Act::Talk(Talk { url: url.to_owned(), timeout: Nanos::from_secs(20), says, closes_after })
}

fn text(text: &str) -> SocketMessage {
    SocketMessage::Text(text.to_owned())
}

/// One connection is accepted, and then served by this.
fn serve(work: impl FnOnce(TcpStream) + Send + 'static) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (url, thread::spawn(move || work(listener.accept().unwrap().0)))
}

/// Reads the request of the opening and agrees to it, with these bytes right behind the answer.
fn agree(stream: &mut TcpStream, behind: &[u8]) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        request.push(byte[0]);
    }
    let request = String::from_utf8(request).unwrap();
    assert!(
        request.contains("\r\nUpgrade: websocket\r\n") && request.contains("\r\nConnection: Upgrade\r\n")
    );
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), behind].concat()).unwrap();
}

/// Answers each message with itself until the client closes.
fn echo(stream: TcpStream) {
    let mut socket = tungstenite::accept(stream).unwrap();
    while let Ok(message) = socket.read() {
        if message.is_text() || message.is_binary() {
            socket.send(message).unwrap();
        }
    }
}

/// What the user hears of a peer that agrees and then sends these bytes, and what the peer got.
fn check(behind: &'static [u8], closes_after: usize, expected: &Expect) {
    let (url, peer) = serve(move |mut stream| {
        agree(&mut stream, behind);
        // Until the client has closed.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    expected.assert_eq(&heard(vec![talk(&url, Vec::new(), closes_after)]));
    peer.join().unwrap();
}

#[test]
fn messages_come_back_and_the_close_is_agreed_on() {
    let (url, peer) = serve(echo);
    let large = SocketMessage::Binary(vec![7; 3 << 20]);
    let says = vec![text("one"), large, SocketMessage::Ping(b"p".to_vec()), text("")];
    expect![[r#"
        0: opened 101 (new connection)
        0: Text("one")
        0: Binary([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7
        0: Pong([112])
        0: Text("")
        0: closed 1000 enough"#]]
    .assert_eq(&heard(vec![talk(&url, says, 4)]));
    peer.join().unwrap();
}

#[test]
fn fragments_with_a_ping_between_are_one_message() {
    // All of it right behind the answer 101; the close of the server ends it.
    check(
        b"\x01\x03hel\x89\x02hi\x80\x02lo\x88\x05\x03\xe9bye",
        usize::MAX,
        &expect![[r#"
            0: opened 101 (new connection)
            0: Ping([104, 105])
            0: Text("hello")
            0: closed 1001 bye"#]],
    );
}

#[test]
fn pings_are_answered() {
    let (url, peer) = serve(|stream| {
        let mut stream = stream;
        agree(&mut stream, b"");
        let mut socket = WebSocket::from_raw_socket(stream, tungstenite::protocol::Role::Server, None);
        socket.send(Message::Ping(b"who".to_vec().into())).unwrap();
        assert_eq!(socket.read().unwrap(), Message::Pong(b"who".to_vec().into()));
        socket.send(Message::text("there")).unwrap();
        assert!(socket.read().unwrap().is_close());
        // Sends the answer to the close.
        assert!(socket.read().is_err());
    });
    expect![[r#"
        0: opened 101 (new connection)
        0: Ping([119, 104, 111])
        0: Text("there")
        0: closed 1000 enough"#]]
    .assert_eq(&heard(vec![talk(&url, Vec::new(), 2)]));
    peer.join().unwrap();
}

#[test]
fn a_peer_that_does_not_agree_is_told_of() {
    let answer = |text: &str| {
        ScriptedPeer::start(vec![vec![
            Step::ReadRequest,
            Step::Write(text.as_bytes().to_vec()),
            Step::ReadToEnd,
        ]])
    };
    let refused = answer("HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nnever");
    let wrong = answer(
        "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
    );
    let silent = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]);
    let gone = ScriptedPeer::start(vec![vec![Step::ReadRequest]]);
    let mut hasty =
        Talk { url: silent.url(), timeout: Nanos::from_millis(50), says: Vec::new(), closes_after: 1 };
    let timeout = Act::Talk(hasty.clone());
    hasty.url = "http://127.0.0.1:1".to_owned();
    let acts = vec![
        talk(&refused.url(), Vec::new(), 1),
        talk(&wrong.url(), Vec::new(), 1),
        timeout,
        talk(&gone.url(), Vec::new(), 1),
        Act::Talk(hasty),
    ];
    expect![[r#"
        0: refused 403 never
        0: failed Protocol
        0: failed Timeout
        0: failed Read
        0: failed Refused"#]]
    .assert_eq(&heard(acts));
}

#[test]
fn sockets_end_with_their_connections() {
    let (url, peer) = serve(|mut stream| agree(&mut stream, b"\x81\x01a\x81\x05half"));
    expect![[r#"
        0: opened 101 (new connection)
        0: Text("a")
        0: closed 1006 "#]]
    .assert_eq(&heard(vec![talk(&url, Vec::new(), usize::MAX)]));
    peer.join().unwrap();
    let (url, peer) = serve(|mut stream| {
        agree(&mut stream, b"");
        // The message is left unread, so that the end is a reset.
        stream.peek(&mut [0]).unwrap();
    });
    expect![[r#"
        0: opened 101 (new connection)
        0: failed Reset"#]]
    .assert_eq(&heard(vec![talk(&url, vec![text("unread")], usize::MAX)]));
    peer.join().unwrap();
}

#[test]
fn what_is_no_frame_fails_the_socket() {
    check(
        b"\x83\x00",
        usize::MAX,
        &expect![[r#"
            0: opened 101 (new connection)
            0: failed Protocol"#]],
    );
}

#[test]
fn what_a_peer_does_not_read_is_bounded() {
    let (url, peer) = serve(|mut stream| {
        agree(&mut stream, b"");
        // Reads nothing more until the client is gone: the kernel tells of its reset.
        while stream.take_error().unwrap().is_none() && stream.write_all(b"\x8a\x00").is_ok() {
            thread::yield_now();
        }
    });
    let says = vec![SocketMessage::Binary(vec![0; 40 << 20]); 3];
    let shown = heard(vec![talk(&url, says, usize::MAX)]);
    assert!(shown.ends_with("0: failed Write"), "{}", &shown[shown.len() - 200..]);
    peer.join().unwrap();
}

#[test]
fn an_iteration_that_ends_takes_its_sockets_along() {
    let (url, peer) = serve(|stream| {
        let mut socket = tungstenite::accept(stream).unwrap();
        let Message::Close(Some(frame)) = socket.read().unwrap() else { panic!("no close came") };
        assert_eq!(u16::from(frame.code), 1001);
    });
    let walk = waiting::Walk::new(vec![talk(&url, Vec::new(), usize::MAX)]);
    let load = prony_model::LoadModel::constant(1, Nanos::from_millis(200));
    waiting::run_plan(&walk, waiting::plan(load)).unwrap();
    assert_eq!(walk.heard(), ["0: opened 101 (new connection)", "0: interrupted"]);
    peer.join().unwrap();
}
