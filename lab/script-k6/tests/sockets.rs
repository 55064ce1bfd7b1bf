//! WebSockets of scripts, against a peer that is a list of what it says.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_model::Nanos;
use prony_model::program::call::{
    Ask, CallBytes, CallFault, CallFaultKind, CallTimes, Peer, SocketClose, SocketEvent, SocketMessage,
    WaitEvent,
};
use prony_model::program::{Answer, Event, Outgoing, Program as _, Step, ThreadPlace, UserPlace};
use prony_script_k6::{
    Clock, Entry, IterationEnd, Log, Modules, Reader, Script, ScriptProgram, ScriptWorkload, Style, Watcher,
    builtins,
};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// A script without imports of its own.
struct Only(String);

impl Modules for Only {
    fn resolve(&self, from: &str, specifier: &str) -> Result<String, String> {
        Err(format!("{from} imports {specifier}"))
    }

    fn text(&self, _name: &str) -> Result<Arc<str>, String> {
        Ok(self.0.as_str().into())
    }

    fn file(&self, _from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        Err(format!("no file {path}"))
    }
}

/// What the script logs, what it asks for, and the error it ends with, in order.
#[derive(Clone, Default)]
struct Story(Arc<Mutex<String>>);

impl Story {
    fn tell(&self, line: &str) {
        let mut story = self.0.lock().unwrap();
        story.push_str(line);
        story.push('\n');
    }
}

impl Write for Story {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(bytes).lines() {
            let said = line.split_once(" msg=").map_or(line, |(_, said)| said);
            self.tell(&format!("    {}", said.trim_end_matches(" source=console")));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How iterations ended; told after what they logged, which another thread writes.
#[derive(Default)]
struct Endings(Mutex<Vec<String>>);

impl Watcher for Endings {
    fn ended(&self, iteration: &mut IterationEnd<'_>) {
        self.0
            .lock()
            .unwrap()
            .push(iteration.error.map_or("ended".to_owned(), |error| format!("failed: {error}")));
    }
}

/// What the peer does next.
enum Turn {
    Opens,
    Refuses,
    Says(&'static str),
    SaysBytes(&'static [u8]),
    Pings,
    /// With the payload of the script's first ping.
    Pongs,
    Closes(u16),
    Breaks,
    /// Time goes by until the script's next timer.
    Waits,
}

fn run(main: &str, turns: Vec<Turn>) -> String {
    let story = Story::default();
    let script = Script::new("main.js", Arc::new(Only(main.to_owned())), builtins());
    let log = script.shared::<Log>();
    log.set_output(Box::new(story.clone()), Style::Plain, Reader::Any);
    let endings = Arc::new(Endings::default());
    let workload = ScriptWorkload::new(Arc::new(script), Entry::Iterations, Arc::<Endings>::clone(&endings));
    let clock = Rc::new(Cell::new(Nanos::ZERO));
    let thread = ThreadPlace { number: 0, threads: 1 };
    let mut program = ScriptProgram::new(&workload, thread, Clock::Virtual(Rc::clone(&clock))).unwrap();
    let place = UserPlace { number: 0, scenario: 0 };
    let mut out = Outgoing::default();
    let mut step = program.next(place, Event::Begin, &mut out).unwrap();
    let mut turns = VecDeque::from(turns);
    let mut socket = 0;
    loop {
        log.flush();
        endings.0.lock().unwrap().drain(..).for_each(|ending| story.tell(&ending));
        for ask in out.asks.drain(..) {
            socket = tell_ask(&story, &out.text, ask).unwrap_or(socket);
        }
        out.clear();
        let (Step::Wait(due), Some(turn)) = (step, turns.pop_front()) else { break };
        clock.set(clock.get().plus(match turn {
            Turn::Waits => due.unwrap_or(Nanos::ZERO),
            _ => Nanos::from_millis(1),
        }));
        step = hear(&mut program, place, socket, &turn, &mut out);
    }
    log.flush();
    story.0.lock().unwrap().clone()
}

/// The number of a socket that is opened.
fn tell_ask(story: &Story, text: &[u8], ask: Ask) -> Option<u64> {
    match ask {
        Ask::OpenSocket(opening) => {
            let request = String::from_utf8_lossy(&text[opening.text]).replace("\r\n", "|");
            let request = request.replace(env!("CARGO_PKG_VERSION"), "VERSION");
            story.tell(&format!("opens {request}"));
            return Some(opening.id);
        }
        Ask::SendSocket(_, message) => story.tell(&format!("sends {message:?}")),
        Ask::CloseSocket(_, close) => story.tell(&format!("closes {} {:?}", close.code, close.reason)),
        other => story.tell(&format!("asks {other:?}")),
    }
    None
}

fn hear(
    program: &mut ScriptProgram<'_>,
    place: UserPlace,
    socket: u64,
    turn: &Turn,
    out: &mut Outgoing,
) -> Step {
    let (times, peer) = (CallTimes::default(), Peer::default());
    let answer = |status, head: &'static [u8]| Answer { status, head, body: b"", has_graphql_errors: false };
    let news = match turn {
        Turn::Opens => {
            let head = b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Protocol: chat\r\n\r\n";
            SocketEvent::Opened { answer: answer(101, head), times, peer }
        }
        Turn::Refuses => SocketEvent::Refused {
            answer: answer(403, b"HTTP/1.1 403 Forbidden\r\nx: y\r\n\r\n"),
            times,
            peer,
        },
        Turn::Says(text) => SocketEvent::Message(SocketMessage::Text((*text).to_owned())),
        Turn::SaysBytes(bytes) => SocketEvent::Message(SocketMessage::Binary(bytes.to_vec())),
        Turn::Pings => SocketEvent::Message(SocketMessage::Ping(b"x".to_vec())),
        Turn::Pongs => SocketEvent::Message(SocketMessage::Pong(b"0".to_vec())),
        Turn::Closes(code) => SocketEvent::Closed(SocketClose { code: *code, reason: String::new() }),
        Turn::Breaks => {
            let fault = CallFault { kind: CallFaultKind::Refused, message: "connection refused".to_owned() };
            SocketEvent::Failed { fault, times }
        }
        Turn::Waits => return program.next(place, Event::Waited(WaitEvent::Woken), out).unwrap(),
    };
    program
        .next(
            place,
            Event::Waited(WaitEvent::Socket { socket, event: news, bytes: CallBytes::default() }),
            out,
        )
        .unwrap()
}

fn check(main: &str, turns: Vec<Turn>, expected: &Expect) {
    expected.assert_eq(&run(main, turns));
}

const BLOCKING: &str = "
    import ws from 'k6/ws';
    export default function () {
        const response = ws.connect('ws://localhost:81/chat?x=1', { headers: { 'X-Own': 'a' }, tags: { t: 'v' } }, (socket) => {
            for (const event of ['open', 'message', 'binaryMessage', 'ping', 'pong', 'close']) {
                socket.on(event, (data) => console.log(event, data));
            }
            socket.on('open', () => { socket.send('hello'); socket.ping(); socket.sendBinary(new Uint8Array([1, 2]).buffer); });
            socket.on('message', (text) => { if (text === 'bye') socket.close(); });
            socket.on('error', (error) => console.log('error', error.error()));
            socket.setTimeout(() => console.log('timeout'), 50);
            let ticks = 0;
            socket.setInterval(() => console.log('tick', ++ticks), 40);
        });
        console.log(response.status, response.url, response.error, response.headers);
    }";

#[test]
fn the_blocking_socket_calls_its_handlers_until_it_is_closed() {
    let turns = vec![
        Turn::Opens,
        Turn::Says("hi"),
        Turn::SaysBytes(&[7, 8]),
        Turn::Pings,
        Turn::Pongs,
        Turn::Waits,
        Turn::Waits,
        Turn::Waits,
        Turn::Says("bye"),
    ];
    check(
        BLOCKING,
        turns,
        &expect![[r#"
            opens GET /chat?x=1 HTTP/1.1|Host: localhost:81|User-Agent: prony/VERSION|X-Own: a||
                "open undefined"
            sends Text("hello")
            sends Ping([48])
            sends Binary([1, 2])
                "message hi"
                "binaryMessage ArrayBuffer { [Uint8Contents]: <07 08>, byteLength: 2 }"
                "ping undefined"
                "pong undefined"
                "tick 1"
                timeout
                "tick 2"
                "message bye"
                "close 1001"
                "101 ws://localhost:81/chat?x=1  { Sec-Websocket-Protocol: \"chat\" }"
            ended
            closes 1001 ""
        "#]],
    );
}

#[test]
fn the_blocking_socket_tells_of_endings() {
    check(
        "import ws from 'k6/ws';
        export default function () {
            const response = ws.connect('http://localhost/', () => {});
            console.log(response.status, response.url, response.error);
        }",
        Vec::new(),
        &expect![[r#"
                "0  malformed ws or wss URL"
            ended
        "#]],
    );
    check(
        BLOCKING,
        vec![Turn::Opens, Turn::Closes(1000)],
        &expect![[r#"
            opens GET /chat?x=1 HTTP/1.1|Host: localhost:81|User-Agent: prony/VERSION|X-Own: a||
                "open undefined"
            sends Text("hello")
            sends Ping([48])
            sends Binary([1, 2])
                "close 1000"
                "101 ws://localhost:81/chat?x=1  { Sec-Websocket-Protocol: \"chat\" }"
            ended
        "#]],
    );
    check(
        BLOCKING,
        vec![Turn::Opens, Turn::Closes(1006)],
        &expect![[r#"
            opens GET /chat?x=1 HTTP/1.1|Host: localhost:81|User-Agent: prony/VERSION|X-Own: a||
                "open undefined"
            sends Text("hello")
            sends Ping([48])
            sends Binary([1, 2])
                "error websocket: close 1006 (abnormal closure): unexpected EOF"
                "close 1006"
                "101 ws://localhost:81/chat?x=1  { Sec-Websocket-Protocol: \"chat\" }"
            ended
        "#]],
    );
    check(
        BLOCKING,
        vec![Turn::Refuses],
        &expect![[r#"
            opens GET /chat?x=1 HTTP/1.1|Host: localhost:81|User-Agent: prony/VERSION|X-Own: a||
                "403   { X: \"y\" }"
            ended
        "#]],
    );
    check(
        BLOCKING,
        vec![Turn::Breaks],
        &expect![[r#"
            opens GET /chat?x=1 HTTP/1.1|Host: localhost:81|User-Agent: prony/VERSION|X-Own: a||
                "0  dial tcp localhost:81: connect: connection refused {}"
            ended
        "#]],
    );
}

const BROWSER_LIKE: &str = "
    import { WebSocket } from 'k6/websockets';
    export default function () {
        const socket = new WebSocket('ws://localhost/', ['chat'], { headers: { 'X-Own': 'a' } });
        console.log(socket.readyState, socket.url);
        socket.addEventListener('open', () => {
            console.log('open', socket.readyState, socket.protocol);
            socket.send('hello');
            socket.send(new Uint8Array([1, 2, 3]).subarray(1));
            socket.ping();
        });
        socket.onmessage = async (event) => {
            const { data } = event;
            console.log(event.type, typeof data === 'string' ? data : await data.text());
            if (data === 'bye') socket.close(3001, 'done');
        };
        socket.onping = () => console.log('ping');
        socket.onpong = () => console.log('pong');
        socket.onerror = (event) => console.log('error', event.error);
        socket.onclose = (event) => console.log('close', event.code, socket.readyState);
        try { socket.send('early'); } catch (error) { console.log(String(error)); }
        try { new WebSocket('http://localhost/'); } catch (error) { console.log(String(error)); }
    }";

#[test]
fn the_browsers_socket_runs_on_the_loop_of_events() {
    let turns = vec![
        Turn::Opens,
        Turn::Says("hi"),
        Turn::SaysBytes(b"bytes"),
        Turn::Pings,
        Turn::Pongs,
        Turn::Says("bye"),
        Turn::Closes(3001),
    ];
    check(
        BROWSER_LIKE,
        turns,
        &expect![[r#"
                "0 ws://localhost/"
                "GoError: InvalidStateError"
                "GoError: WebSocket requires url with scheme ws or wss, but got \"http\""
            opens GET / HTTP/1.1|Host: localhost|User-Agent: prony/VERSION|Sec-WebSocket-Protocol: chat|X-Own: a||
                "open 1 chat"
            sends Text("hello")
            sends Binary([2, 3])
            sends Ping([48])
                "message hi"
                "message bytes"
                ping
                pong
                "message bye"
            closes 3001 "done"
                "close 3001 3"
            ended
        "#]],
    );
}

#[test]
fn the_browsers_socket_tells_of_failures() {
    check(
        BROWSER_LIKE,
        vec![Turn::Breaks],
        &expect![[r#"
                "0 ws://localhost/"
                "GoError: InvalidStateError"
                "GoError: WebSocket requires url with scheme ws or wss, but got \"http\""
            opens GET / HTTP/1.1|Host: localhost|User-Agent: prony/VERSION|Sec-WebSocket-Protocol: chat|X-Own: a||
                "error dial tcp localhost: connect: connection refused"
                "close undefined 3"
            ended
        "#]],
    );
    check(
        BROWSER_LIKE,
        vec![Turn::Refuses],
        &expect![[r#"
                "0 ws://localhost/"
                "GoError: InvalidStateError"
                "GoError: WebSocket requires url with scheme ws or wss, but got \"http\""
            opens GET / HTTP/1.1|Host: localhost|User-Agent: prony/VERSION|Sec-WebSocket-Protocol: chat|X-Own: a||
                "error websocket: bad handshake"
                "close undefined 3"
            ended
        "#]],
    );
    check(
        BROWSER_LIKE,
        vec![Turn::Opens, Turn::Closes(1006)],
        &expect![[r#"
                "0 ws://localhost/"
                "GoError: InvalidStateError"
                "GoError: WebSocket requires url with scheme ws or wss, but got \"http\""
            opens GET / HTTP/1.1|Host: localhost|User-Agent: prony/VERSION|Sec-WebSocket-Protocol: chat|X-Own: a||
                "open 1 chat"
            sends Text("hello")
            sends Binary([2, 3])
            sends Ping([48])
                "error websocket: close 1006 (abnormal closure): unexpected EOF"
                "close 1006 3"
            ended
        "#]],
    );
}
