//! A client against a scripted peer: which connection carries which request, and what is told of it.

use expect_test::{Expect, expect};
use prony_client::targets::{TargetId, TargetSettings, Targets};
use prony_client::{
    Client, ClientSettings, EventKind, Part, PoolId, Pooling, RequestId, RequestOptions, Route,
};
use prony_model::plan::wire::WireOptions;
use prony_model::program::{Answer, Keep};
use prony_model::{Nanos, Target};
use prony_testkit::peer::{ScriptedPeer, Step};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: peer\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const CLOSING: &[u8] = b"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

const OPTIONS: RequestOptions = RequestOptions {
    is_head: false,
    keep: Keep::Whole,
    timeout: Nanos::from_secs(20),
    is_fresh: false,
    is_repeatable: false,
    wants_times: false,
    is_streamed: false,
};

struct Talk<'a> {
    client: Client<'a, &'static str>,
    log: Vec<String>,
}

impl Talk<'_> {
    fn send(&mut self, name: &'static str, options: RequestOptions) -> RequestId {
        let now = self.client.now();
        self.client.send(route(), GET, options, now, name).expect("the target is known")
    }

    fn pipeline(&mut self, names: &[&'static str]) {
        let parts = names.iter().enumerate().map(|(index, name)| Part {
            text_end: (index + 1) * GET.len(),
            options: OPTIONS,
            context: *name,
        });
        let (text, now) = (GET.repeat(names.len()), self.client.now());
        self.client.send_all(route(), &text, parts, now).expect("the target is known");
    }

    /// Takes events until so many requests have come to their end.
    fn take(&mut self, mut count: usize) {
        while count > 0 {
            let now = self.client.now();
            assert!(now < Nanos::from_secs(30), "{:?}", self.log);
            self.client.wait(now, now.plus(Nanos::from_millis(100))).expect("the system can wait");
            while let Some(event) = self.client.next_event().expect("the system can read") {
                let ended = self.client.take(event.request).expect("it has not been ended");
                let what = match event.kind {
                    EventKind::Response(status) => {
                        let body = ended.sink.answer(status).body;
                        format!("{status} {}", String::from_utf8_lossy(body))
                    }
                    EventKind::Failed(failure) => format!("{:?}", failure.fault.kind),
                    other => format!("{other:?}"),
                };
                self.log.push(format!("{}: {what}", ended.context));
                self.client.recycle(ended.sink);
                count -= 1;
            }
        }
    }
}

fn route() -> Route {
    Route { pool: PoolId(0), target: TargetId(0), user: 0 }
}

fn check(scripts: Vec<Vec<Step>>, pooling: Pooling, talk: impl FnOnce(&mut Talk<'_>), expected: &Expect) {
    // The target is tried once before the run.
    let peer = ScriptedPeer::start([vec![vec![]], scripts].concat());
    let (target, wire) = (Target::parse(&peer.url()).expect("a URL"), WireOptions::default());
    let targets = Targets::prepare(&TargetSettings {
        targets: vec![&target],
        wire: &wire,
        users: 1,
        subscribers: 0,
        dynamic: None,
    })
    .expect("the peer can be reached");
    let settings = ClientSettings { pooling, keeps_connections: true, address: None };
    let client = Client::new(&targets, None, settings).expect("the system can poll");
    let mut spoken = Talk { client, log: Vec::new() };
    talk(&mut spoken);
    let counts = spoken.client.take_counts();
    spoken.log.push(format!("{} opened, {} reopened", counts.opened, counts.reopened));
    expected.assert_eq(&spoken.log.join("\n"));
}

fn answering(response: &[u8]) -> Vec<Step> {
    vec![Step::ReadRequest, Step::Write(response.to_vec()), Step::Repeat]
}

#[test]
fn an_idle_connection_is_used_again_and_a_closed_one_replaced() {
    check(
        vec![answering(OK), answering(OK)],
        Pooling::One,
        |talk| {
            talk.send("first", OPTIONS);
            talk.take(1);
            talk.send("second", OPTIONS);
            talk.take(1);
        },
        &expect![[r#"
            first: 200 {}
            second: 200 {}
            1 opened, 0 reopened"#]],
    );
    check(
        vec![answering(CLOSING), answering(OK)],
        Pooling::One,
        |talk| {
            talk.send("first", OPTIONS);
            talk.take(1);
            talk.send("second", OPTIONS);
            talk.take(1);
        },
        &expect![[r#"
            first: 201 
            second: 200 {}
            2 opened, 1 reopened"#]],
    );
}

#[test]
fn responses_of_a_pipeline_come_in_order_and_fail_together() {
    let two = [OK, OK, b"HTTP/1.1 999 nonsense\r\nContent-Length: x\r\n\r\n"].concat();
    check(
        vec![vec![Step::ReadRequest, Step::ReadRequest, Step::Write(two), Step::Stall]],
        Pooling::One,
        |talk| {
            talk.pipeline(&["first", "second", "third", "fourth"]);
            talk.take(4);
        },
        &expect![[r#"
            first: 200 {}
            second: 200 {}
            third: Protocol
            fourth: Protocol
            1 opened, 0 reopened"#]],
    );
}

#[test]
fn requests_at_the_same_time_have_connections_of_their_own_and_an_abandoned_one_is_not_told_of() {
    check(
        vec![answering(OK)],
        Pooling::Many,
        |talk| {
            talk.send("first", OPTIONS);
            let abandoned = talk.send("abandoned", OPTIONS);
            talk.client.abandon(abandoned);
            talk.take(1);
            assert!(talk.client.get(abandoned).is_none());
        },
        &expect![[r#"
            first: 200 {}
            2 opened, 0 reopened"#]],
    );
}

#[test]
fn a_kept_connection_that_is_dead_fails_a_request_unless_it_may_be_repeated() {
    let dies = || vec![Step::ReadRequest, Step::Write(OK.to_vec()), Step::ReadRequest];
    for (is_repeatable, expected) in [
        (
            false,
            expect![[r#"
        first: 200 {}
        second: Read
        1 opened, 0 reopened"#]],
        ),
        (
            true,
            expect![[r#"
        first: 200 {}
        second: 200 {}
        2 opened, 0 reopened"#]],
        ),
    ] {
        check(
            vec![dies(), answering(OK)],
            Pooling::Many,
            |talk| {
                talk.send("first", OPTIONS);
                talk.take(1);
                talk.send("second", RequestOptions { is_repeatable, ..OPTIONS });
                talk.take(1);
            },
            &expected,
        );
    }
}

#[test]
fn a_response_that_does_not_come_is_a_time_out() {
    check(
        vec![vec![Step::ReadRequest, Step::Stall]],
        Pooling::One,
        |talk| {
            talk.send("first", RequestOptions { timeout: Nanos::from_millis(50), ..OPTIONS });
            talk.take(1);
        },
        &expect![[r#"
            first: Timeout
            1 opened, 0 reopened"#]],
    );
}

/// Takes events of a streamed request until its last one; what was received is read where it lies.
fn watch(talk: &mut Talk<'_>, request: RequestId, mut on_open: impl FnMut(&mut Client<'_, &'static str>)) {
    let mut before = Nanos::ZERO;
    loop {
        let now = talk.client.now();
        assert!(now < Nanos::from_secs(30), "{:?}", talk.log);
        talk.client.wait(now, now.plus(Nanos::from_millis(100))).expect("the system can wait");
        while let Some(event) = talk.client.next_event().expect("the system can read") {
            assert_eq!(event.request, request);
            match event.kind {
                EventKind::Received { at } => {
                    assert!(before <= at && at <= talk.client.now(), "{before} {at}");
                    before = at;
                    let Answer { status, head, body, .. } = talk.client.received(request);
                    let head = if head.is_empty() { "" } else { "head and " };
                    talk.log.push(format!("{status}: {head}{}", String::from_utf8_lossy(body)));
                }
                EventKind::Opened => {
                    talk.log.push("opened".to_owned());
                    on_open(&mut talk.client);
                }
                EventKind::Response(status) => return talk.log.push(format!("whole {status}")),
                EventKind::Failed(failure) | EventKind::Lost(failure) => {
                    return talk.log.push(format!("{:?} {:?}", failure.scope, failure.fault.kind));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_streamed_response_is_shown_read_by_read() {
    let pieces = |texts: &[&str]| {
        let mut script = vec![Step::ReadRequest];
        for text in texts {
            script.push(Step::Write(text.as_bytes().to_vec()));
            script.push(Step::Pause(Duration::from_millis(40)));
        }
        script
    };
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let until_close = "HTTP/1.1 200 OK\r\n\r\n";
    check(
        vec![
            pieces(&[chunked, "3\r\none\r\n3\r\ntw", "o\r\n0\r\n\r\n"]),
            pieces(&["HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"]),
            pieces(&[until_close, "one"]),
            pieces(&["HTTP/1.1 200"]),
        ],
        Pooling::ByUser,
        |talk| {
            for _ in 0..4 {
                let now = talk.client.now();
                let options = RequestOptions { is_fresh: true, ..RequestOptions::STREAMED };
                let sent = talk.client.send(route(), GET, options, now, "stream");
                watch(talk, sent.expect("the target is known"), |_| {});
            }
        },
        &expect![[r#"
            200: head and 
            200: onetw
            200: o
            whole 200
            404: head and no
            whole 404
            200: head and 
            200: one
            ConnectionEnd Read
            ConnectionEnd Read
            4 opened, 0 reopened"#]],
    );
}

#[test]
fn frames_of_a_websocket_are_shown_as_they_came_even_those_right_behind_its_opening() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    let target =
        Target::parse(&format!("http://{}", listener.local_addr().expect("it is bound"))).expect("a URL");
    let peer = thread::spawn(move || {
        // The target is tried once before the run.
        drop(listener.accept().expect("somebody connects"));
        let (mut stream, _) = listener.accept().expect("somebody connects");
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request comes");
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).expect("a request is text");
        let key =
            text.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).expect("it has a key");
        let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
        let head = format!(
            "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), b"behind"].concat()).expect("the client reads");
        let mut sent = [0; 4];
        stream.read_exact(&mut sent).expect("the client writes");
        stream.write_all(&sent).expect("the client reads");
    });
    let wire = WireOptions::default();
    let settings =
        TargetSettings { targets: vec![&target], wire: &wire, users: 1, subscribers: 0, dynamic: None };
    let targets = Targets::prepare(&settings).expect("the peer can be reached");
    let settings = ClientSettings { pooling: Pooling::ByUser, keeps_connections: true, address: None };
    let client = Client::new(&targets, None, settings).expect("the system can poll");
    let mut talk = Talk { client, log: Vec::new() };
    let now = talk.client.now();
    let request = talk.client.open_frames(route(), GET, now, "socket").expect("the target is known");
    watch(&mut talk, request, |client| {
        let (_, _, sink) = client.take_opening(request).expect("it has just been opened");
        assert!(sink.answer(101).head.starts_with(b"HTTP/1.1 101"));
        client.send_frames(request, b"\x81\x80\0\0");
    });
    assert_eq!(talk.log, ["opened", "101: behind", "101: \u{fffd}\u{fffd}\0\0", "ConnectionEnd Read"]);
    assert_eq!(talk.client.take_bytes_of(request).received, 111 + 6 + 4);
    peer.join().expect("the peer is content");
}
