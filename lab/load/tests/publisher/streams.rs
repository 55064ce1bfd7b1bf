//! GraphQL over server-sent events as the publisher speaks it: a stream for each operation, or one for all of a client.

use super::{Fault, Listener, Request, State, event_of};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// What becomes of the connection of a request.
pub(super) enum Then {
    GoesOn,
    /// It was closed, or is a stream from now on.
    Ends,
}

/// A stream of one operation, in chunks of a single byte.
pub(super) fn serve_own(body: &Value, mut writer: TcpStream, fault: Fault, state: &Mutex<State>) {
    if let Fault::Status(status) = fault {
        answer(&mut writer, status, "", "");
        return;
    }
    writer.write_all(HEAD.as_bytes()).unwrap();
    let stream = writer.try_clone().unwrap();
    let send = Box::new(move |token: &str| {
        write_chunks(&mut writer, &format!(":\n\nevent: next\ndata: {}\n\n", event_of(token)))
    });
    let key = body["variables"]["id"].to_string();
    let listener = Listener { key, send, stream, events: 0, held: HashMap::new() };
    state.lock().unwrap().listeners.push(listener);
}

impl Request {
    pub(super) fn belongs_to_shared_stream(&self) -> bool {
        self.head.starts_with("PUT") || self.token().is_some()
    }

    fn token(&self) -> Option<&str> {
        self.header("x-graphql-event-stream-token")
    }
}

/// One of the requests of single connection mode (graphql-sse, PROTOCOL.md).
pub(super) fn serve_shared(
    request: &Request,
    writer: &mut TcpStream,
    fault: Fault,
    state: &Mutex<State>,
) -> Then {
    let mut state = state.lock().unwrap();
    let token = request.token().unwrap_or_default();
    let (method, path) = request.head.split_once(' ').unwrap();
    match (method, fault) {
        ("PUT", Fault::Status(status)) => answer(writer, status, "", ""),
        ("PUT", Fault::NoToken) => answer(writer, 201, "", ""),
        ("PUT", _) => {
            state.reserved += 1;
            answer(writer, 201, "", &format!("stream-{}\n", state.reserved));
        }
        ("GET", Fault::ForgetsToken) => answer(writer, 404, "", "no such stream"),
        ("GET", _) => {
            assert_eq!(request.header("accept"), Some("text/event-stream"));
            writer.write_all(HEAD.as_bytes()).unwrap();
            state.streams.insert(token.to_owned(), writer.try_clone().unwrap());
            return Then::Ends;
        }
        ("POST", Fault::Reject) => answer(writer, 400, "", r#"{"errors":[{"message":"no such field"}]}"#),
        ("POST", _) => {
            let listener = listener_on(&state.streams[token], &request.body, fault);
            state.listeners.push(listener);
            if fault == Fault::ClosesBetweenOrders {
                answer(writer, 202, "Connection: close\r\n", "");
                let _ = writer.shutdown(Shutdown::Both);
                return Then::Ends;
            }
            answer(writer, 202, "", "");
        }
        ("DELETE", _) => {
            let (_, id) = path.split_once("?operationId=").unwrap();
            let id = id.split_once(' ').unwrap().0.to_owned();
            // Whoever started this server may have gone.
            let _ = state.stops.as_ref().unwrap().send(id);
            answer(writer, 200, "", "");
        }
        _ => panic!("a {method} for a shared stream"),
    }
    Then::GoesOn
}

fn listener_on(stream: &TcpStream, body: &[u8], fault: Fault) -> Listener {
    let body: Value = serde_json::from_slice(body).unwrap();
    let id = body["extensions"]["operationId"].as_str().unwrap().to_owned();
    let mut writer = stream.try_clone().unwrap();
    let send = Box::new(move |token: &str| {
        let event = event_of(token);
        let next = |id: &str| format!("event: next\ndata: {{\"id\":\"{id}\",\"payload\":{event}}}\n\n");
        let text = match fault {
            Fault::Strangers => [next("99"), next(&id), next("another's")].concat(),
            Fault::Unaddressed => format!("event: next\ndata: {event}\n\n"),
            _ => next(&id),
        };
        write_chunks(&mut writer, &text)
    });
    let stream = stream.try_clone().unwrap();
    let key = body["variables"]["id"].to_string();
    Listener { key, send, stream, events: 0, held: HashMap::new() }
}

fn write_chunks(writer: &mut TcpStream, text: &str) -> bool {
    text.bytes().all(|byte| writer.write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']).is_ok())
}

/// Who has gone is told nothing.
fn answer(writer: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let text = format!("HTTP/1.1 {status} Text\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
    let _ = writer.write_all(text.as_bytes());
}
