//! Attacks by the framing of requests: heads and bodies that RFC 9112 refuses, or that parsers disagree about.

use std::fmt::Write as _;

use crate::{
    bank::{Answer, Attack, Field},
    exchange::{request, send},
};

const CLASS: &str = "framing";
const BODY: &str = "{\"query\":\"{ authors(limit: 1) { id } }\"}";

/// The same bytes again and again; `{host}` is the server's address.
fn bytes(name: &'static str, clients: usize, text: impl Into<String>) -> Attack {
    let text = text.into();
    Attack::new(CLASS, name, clients, move |field| {
        send(field, text.replace("{host}", &field.site.address.to_string()).as_bytes())
    })
}

fn head(headers: &str) -> String {
    format!("POST /graphql HTTP/1.1\r\nHost: {{host}}\r\nContent-Type: application/json\r\n{headers}\r\n")
}

fn with_headers(field: &Field<'_>, headers: &str) -> Answer {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    send(field, &request(field.site, "POST /graphql", &headers, BODY.as_bytes()))
}

fn many_headers(count: usize) -> String {
    (0..count).fold(String::new(), |mut all, place| {
        let _ = write!(all, "X-Header-{place}: {place}\r\n");
        all
    })
}

/// Zeros that gzip makes a thousandth of.
fn bomb() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..100 {
        std::io::Write::write_all(&mut encoder, &zeros).expect("a vector has room");
    }
    encoder.finish().expect("a vector has room")
}

/// Who is asked, and in which coding.
fn hosts_and_codings() -> Vec<Attack> {
    vec![
        bytes(
            "no Host",
            8,
            format!("POST /graphql HTTP/1.1\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len()),
        ),
        bytes(
            "two Hosts",
            8,
            format!("{}{BODY}", head(&format!("Host: other\r\nContent-Length: {}\r\n", BODY.len()))),
        ),
        bytes(
            "a Host that is not served",
            8,
            format!(
                "POST /graphql HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {}\r\n\r\n{BODY}",
                BODY.len()
            ),
        ),
        bytes(
            "Transfer-Encoding: gzip, chunked",
            8,
            format!("{}0\r\n\r\n", head("Transfer-Encoding: gzip, chunked\r\n")),
        ),
        bytes(
            "Content-Length beside Transfer-Encoding",
            8,
            format!(
                "{}0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: {{host}}\r\n\r\n",
                head("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")
            ),
        ),
    ]
}

/// How long a body is said to be.
fn lengths() -> Vec<Attack> {
    vec![
        bytes("two lengths", 8, format!("{}{BODY}", head("Content-Length: 5\r\nContent-Length: 40\r\n"))),
        bytes("a length that is negative", 8, format!("{}{BODY}", head("Content-Length: -1\r\n"))),
        bytes("a length of 2^64", 8, format!("{}{BODY}", head("Content-Length: 18446744073709551616\r\n"))),
        bytes(
            "a chunk of ffffffffffffffff bytes",
            8,
            format!("{}ffffffffffffffff\r\n{BODY}", head("Transfer-Encoding: chunked\r\n")),
        ),
        bytes(
            "a chunk whose length has 10,000 digits",
            8,
            format!("{}{}1\r\n{BODY}", head("Transfer-Encoding: chunked\r\n"), "0".repeat(10_000)),
        ),
        bytes(
            "chunks of one byte, 200,000 of them",
            4,
            format!("{}{}", head("Transfer-Encoding: chunked\r\n"), "1\r\n \r\n".repeat(200_000)),
        ),
        bytes(
            "chunk extensions of 1 MB",
            4,
            format!("{}1;{}\r\n \r\n", head("Transfer-Encoding: chunked\r\n"), "a=b;".repeat(250_000)),
        ),
    ]
}

/// Heads and bodies that are large, and senders that may not send.
fn sizes_and_origins() -> Vec<Attack> {
    let (many, bomb) = (many_headers(2_000), bomb());
    vec![
        Attack::new(CLASS, "2,000 headers", 4, move |field| with_headers(field, &many)),
        Attack::new(CLASS, "a header of 1 MB", 4, |field| {
            with_headers(field, &format!("X-Long: {}\r\n", "x".repeat(1_000_000)))
        }),
        Attack::new(CLASS, "a cookie of 60 kB", 4, |field| {
            with_headers(field, &format!("Cookie: {}\r\n", "a=b; ".repeat(12_000)))
        }),
        bytes(
            "a path of 1 MB",
            4,
            format!("GET /{} HTTP/1.1\r\nHost: {{host}}\r\n\r\n", "a".repeat(1_000_000)),
        ),
        bytes("blanks before the request, 1 MB", 4, "\r\n".repeat(500_000)),
        bytes("a greeting of TLS", 8, "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}"),
        bytes(
            "10,000 requests at once",
            2,
            format!("{}{BODY}", head(&format!("Content-Length: {}\r\n", BODY.len()))).repeat(10_000),
        ),
        Attack::new(CLASS, "a body of 100 MB that gzip has made 100 kB", 4, move |field| {
            let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
            send(field, &request(field.site, "POST /graphql", headers, &bomb))
        }),
        Attack::new(CLASS, "a foreign Origin", 8, |field| {
            with_headers(field, "Origin: https://evil.example\r\n")
        }),
        Attack::new(CLASS, "a mutation of a graph from a foreign Origin", 8, |field| {
            let line = format!("POST /db/rage/node/User/u{}", field.unique());
            send(
                field,
                &request(
                    field.site,
                    &line,
                    "Origin: https://evil.example\r\nContent-Type: text/plain\r\n",
                    b"{}",
                ),
            )
        }),
    ]
}

pub(crate) fn attacks() -> Vec<Attack> {
    [hosts_and_codings(), lengths(), sizes_and_origins()].into_iter().flatten().collect()
}
