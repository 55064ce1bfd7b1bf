//! A server of mutations and subscriptions that does wrong on purpose, and keeps count of it: what the lab says of it must
//! be the same numbers.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod http2;
mod streams;

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tungstenite::handshake::derive_accept_key;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Events are dropped, doubled and held back behind later ones.
    Events,
    /// The event of the first mutation comes with the tenth.
    Stall,
    /// Connections are closed with this code when they greet.
    Close(u16),
    /// The answer 101 chooses no sub-protocol.
    NoProtocol,
    /// Openings are answered with this status.
    Status(u16),
    /// With the sixth mutation all subscribers are cut off.
    Die,
    /// Operations are answered with an error.
    Reject,
    /// Every event goes to everybody.
    Everybody,
    /// Acknowledges only what answers a ping of the WebSocket, and one of the protocol.
    Pings,
    /// A shared stream is reserved with an empty token.
    NoToken,
    /// The token of a shared stream is unknown when the stream is asked for.
    ForgetsToken,
    /// The connection is closed behind each order for a shared stream.
    ClosesBetweenOrders,
    /// With each event of a shared stream come two of operations that nobody asked for.
    Strangers,
    /// Events of a shared stream do not say whose they are.
    Unaddressed,
    /// An HTTP/2 connection has one stream at a time.
    OneStream,
    /// Each stream of an HTTP/2 connection is reset instead of its first event.
    ResetsStreams,
}

/// Of mutations.
const ANSWER: &str = r#"{"data":{"set":true}}"#;

/// What was done, over all subscriptions.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) mutations: u64,
    pub(crate) owed: u64,
    pub(crate) dropped: u64,
    pub(crate) doubled: u64,
    pub(crate) swapped: u64,
    pub(crate) strange: u64,
}

struct Listener {
    key: String,
    send: Box<dyn FnMut(&str) -> bool + Send>,
    stream: TcpStream,
    events: u64,
    /// By publisher.
    held: HashMap<String, String>,
}

#[derive(Default)]
struct State {
    done: Done,
    listeners: Vec<Listener>,
    stalled: Vec<(usize, String)>,
    /// The shared streams that are open, by their tokens.
    streams: HashMap<String, TcpStream>,
    reserved: u64,
    /// Hears the id of each operation that a client stops.
    stops: Option<mpsc::Sender<String>>,
}

pub(crate) struct Publisher {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    stops: mpsc::Receiver<String>,
}

impl Publisher {
    pub(crate) fn start(fault: Fault) -> Self {
        Self::start_with(move |listener, state| {
            for stream in listener.incoming() {
                let (Ok(stream), state) = (stream, Arc::clone(&state)) else { return };
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || serve(stream, fault, &state));
            }
        })
    }

    /// Speaks HTTP/2 by prior knowledge; subscribers are streams.
    pub(crate) fn start_http2(fault: Fault) -> Self {
        Self::start_with(move |listener, state| http2::serve(listener, fault, &state))
    }

    fn start_with(serve: impl FnOnce(TcpListener, Arc<Mutex<State>>) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let (sender, stops) = mpsc::channel();
        state.lock().unwrap().stops = Some(sender);
        thread::spawn(move || serve(listener, shared));
        Self { url, state, stops }
    }

    /// The ids of so many operations that clients stopped, sorted; waits for them.
    pub(crate) fn stopped(&self, count: usize) -> Vec<String> {
        let next = || self.stops.recv_timeout(Duration::from_secs(20)).unwrap();
        let mut ids: Vec<_> = (0..count).map(|_| next()).collect();
        ids.sort();
        ids
    }

    /// What it did. Events that it still holds back were dropped after all.
    pub(crate) fn done(&self) -> Done {
        let state = self.state.lock().unwrap();
        let held: usize = state.listeners.iter().map(|listener| listener.held.len()).sum();
        Done { dropped: state.done.dropped + held as u64, ..state.done.clone() }
    }
}

struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    fn read(reader: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let mut request = Self { head, body: Vec::new() };
        let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

/// A connection: mutations one after the other, or a subscriber's from its opening on.
fn serve(stream: TcpStream, fault: Fault, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(request) = Request::read(&mut reader) {
        if request.header("upgrade").is_some() {
            return serve_socket(&request, &mut reader, writer, fault, state);
        }
        if request.belongs_to_shared_stream() {
            match streams::serve_shared(&request, &mut writer, fault, state) {
                streams::Then::GoesOn => continue,
                streams::Then::Ends => return,
            }
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if request.header("accept") == Some("text/event-stream") {
            return streams::serve_own(&body, writer, fault, state);
        }
        let (id, name) = (body["variables"]["id"].to_string(), body["variables"]["name"].as_str().unwrap());
        state.lock().unwrap().publish(&id, name, fault);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", ANSWER.len());
        if writer.write_all([head.as_bytes(), ANSWER.as_bytes()].concat().as_slice()).is_err() {
            return;
        }
    }
}

impl State {
    fn publish(&mut self, id: &str, token: &str, fault: Fault) {
        self.done.mutations += 1;
        let publisher = token.rsplit('-').nth(1).unwrap().to_owned();
        if fault == Fault::Die && self.done.mutations == 6 {
            for listener in &self.listeners {
                // Two share a connection.
                let _ = listener.stream.shutdown(std::net::Shutdown::Both);
            }
        }
        if self.done.mutations == 10 {
            for (listener, token) in std::mem::take(&mut self.stalled) {
                (self.listeners[listener].send)(&token);
            }
        }
        for (index, listener) in self.listeners.iter_mut().enumerate() {
            let is_meant = listener.key == id;
            if !is_meant && fault == Fault::Everybody {
                self.done.strange += 1;
                (listener.send)(token);
            }
            if !is_meant {
                continue;
            }
            self.done.owed += 1;
            listener.events += 1;
            match (fault, listener.events) {
                (Fault::Events, n) if n % 7 == 3 => self.done.dropped += 1,
                (Fault::Events, n) if n % 5 == 4 => {
                    self.done.doubled += 1;
                    (listener.send)(token);
                    (listener.send)(token);
                }
                (Fault::Events, n) if n % 6 == 5 && !listener.held.contains_key(&publisher) => {
                    listener.held.insert(publisher.clone(), token.to_owned());
                    continue;
                }
                (Fault::Stall, _) if self.done.mutations == 1 => self.stalled.push((index, token.to_owned())),
                _ => {
                    (listener.send)(token);
                }
            }
            // Only behind a later one is it out of order.
            if listener.events % 7 != 3
                && let Some(held) = listener.held.remove(&publisher)
            {
                self.done.swapped += 1;
                (listener.send)(&held);
            }
        }
    }
}

fn event_of(token: &str) -> String {
    format!(r#"{{"data":{{"onSet":{{"at":"x-1","name":"{token}"}}}}}}"#)
}

fn serve_socket(
    request: &Request,
    reader: &mut BufReader<TcpStream>,
    writer: TcpStream,
    fault: Fault,
    state: &Mutex<State>,
) {
    let protocol = request.header("sec-websocket-protocol").unwrap().to_owned();
    let mut socket = Frames { writer: Arc::new(Mutex::new(writer)) };
    if let Fault::Status(status) = fault {
        socket.raw(format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n").as_bytes());
        return;
    }
    let accept = derive_accept_key(request.header("sec-websocket-key").unwrap().as_bytes());
    let chosen = match fault {
        Fault::NoProtocol => String::new(),
        _ => format!("Sec-WebSocket-Protocol: {protocol}\r\n"),
    };
    socket.raw(
        format!(
            "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n{chosen}\r\n"
        )
        .as_bytes(),
    );
    while let Some((opcode, payload)) = read_frame(reader) {
        match opcode {
            1 => {
                take_message(
                    &mut socket,
                    &protocol,
                    &serde_json::from_slice(&payload).unwrap(),
                    fault,
                    state,
                );
            }
            8 => return,
            9 => socket.frame(10, &payload),
            10 => {
                assert_eq!((fault, payload.as_slice()), (Fault::Pings, &b"who"[..]));
                socket.frame(1, br#"{"type":"ping","payload":{}}"#);
            }
            _ => panic!("a frame of the kind {opcode}"),
        }
    }
}

fn take_message(socket: &mut Frames, protocol: &str, message: &Value, fault: Fault, state: &Mutex<State>) {
    let say = |socket: &mut Frames, message: &Value| socket.frame(1, message.to_string().as_bytes());
    match (message["type"].as_str().unwrap(), fault) {
        ("connection_init", Fault::Close(code)) => {
            socket.frame(8, &[&code.to_be_bytes()[..], b"for a reason"].concat());
        }
        // Its answer is followed by a ping of the protocol, and the answer to that by the acknowledgement.
        ("connection_init", Fault::Pings) => socket.frame(9, b"who"),
        ("pong", _) => say(socket, &json!({ "type": "connection_ack" })),
        ("connection_init", _) => say(socket, &json!({ "type": "connection_ack", "payload": {} })),
        ("ping", _) => say(socket, &json!({ "type": "pong" })),
        ("subscribe" | "start", Fault::Reject) => {
            say(
                socket,
                &json!({ "id": message["id"], "type": "error", "payload": [{ "message": "no such field" }] }),
            );
        }
        ("subscribe" | "start", _) => {
            let kind = if protocol == "graphql-ws" { "data" } else { "next" };
            let (id, mut own) = (message["id"].as_str().unwrap().to_owned(), socket.clone());
            let stream = socket.writer.lock().unwrap().try_clone().unwrap();
            let send = Box::new(move |token: &str| {
                let text = format!(r#"{{"id":"{id}","type":"{kind}","payload":{}}}"#, event_of(token));
                own.frame(1, text.as_bytes());
                true
            });
            let key = message["payload"]["variables"]["id"].to_string();
            let listener = Listener { key, send, stream, events: 0, held: HashMap::new() };
            state.lock().unwrap().listeners.push(listener);
        }
        ("complete" | "stop", _) => {}
        (kind, _) => panic!("a message of the type {kind}"),
    }
}

/// Of a server: without a mask.
#[derive(Clone)]
struct Frames {
    writer: Arc<Mutex<TcpStream>>,
}

impl Frames {
    fn raw(&mut self, bytes: &[u8]) {
        // Who has gone is told nothing.
        let _ = self.writer.lock().unwrap().write_all(bytes);
    }

    fn frame(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        if let Ok(length @ 0..=125) = u8::try_from(payload.len()) {
            frame.push(length);
        } else {
            frame.push(126);
            frame.extend_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
        frame.extend_from_slice(payload);
        self.raw(&frame);
    }
}

/// A frame of a client, which is masked.
fn read_frame(reader: &mut BufReader<TcpStream>) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    reader.read_exact(&mut head).ok()?;
    assert!(head[1] & 0x80 != 0, "a client masks");
    let length = match head[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length).ok()?;
            usize::from(u16::from_be_bytes(length))
        }
        length => usize::from(length),
    };
    let (mut mask, mut payload) = ([0; 4], vec![0; length]);
    reader.read_exact(&mut mask).ok()?;
    reader.read_exact(&mut payload).ok()?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some((head[0] & 0x0f, payload))
}
