//! Two parsers read one connection: the fast path's and, from the first request that is not simple, hyper's. Whatever bytes
//! come, in whatever pieces, a client must not see which of them read its requests.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr},
    thread,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use prony_testkit::Seeded;
use rand::RngExt as _;

use crate::support::{Server, Wire};

const CASES: usize = 160;
const AT_A_TIME: usize = 24;

/// Has the rest of a connection read by hyper.
const BY_HYPER: &str = "GET /api/first HTTP/1.1\r\nhost: localhost\r\nconnection: any\r\n\r\n";

/// What requests are made of; most of it is right.
const LINES: &[&str] = &[
    "GET /api/one HTTP/1.1\r\n",
    "GET /api/one?two=%7B HTTP/1.1\r\n",
    "POST /api/one HTTP/1.1\r\n",
    "POST /graphql HTTP/1.1\r\n",
    "POST /graphql HTTP/1.1\r\n",
    "PUT /api/one HTTP/1.1\r\n",
    "DELETE /api/one HTTP/1.1\r\n",
    "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\n",
    "\r\nGET /api/one HTTP/1.1\r\n",
    "GET /api/one HTTP/1.1\n",
    "GET /api/one HTTP/1.0\r\n",
    "HEAD /api/one HTTP/1.1\r\n",
    "OPTIONS /graphql HTTP/1.1\r\n",
    "PATCH /api/one HTTP/1.1\r\n",
    "GET http://localhost/api/one HTTP/1.1\r\n",
    "GET  /api/one HTTP/1.1\r\n",
    "GET /api/\u{e9} HTTP/1.1\r\n",
    "GET /nowhere HTTP/1.1\r\n",
];
const HEADERS: &[&str] = &[
    "host: localhost\r\n",
    "accept: application/json\r\n",
    "accept: application/graphql-response+json\r\n",
    "accept: text/html, */*;q=0.1\r\n",
    "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
    "x-empty:\r\n",
    "x-spaces:   two  \t\r\n",
    "x-latin: \u{e9}\r\n",
    "origin: https://a.example\r\n",
    "cookie: a=b; c=d\r\n",
    "cookie: e=f\r\n",
    "Connection: keep-alive\r\n",
    "connection: close\r\n",
    "expect: 100-continue\r\n",
    "x-bare: line\n",
    "x-space : before\r\n",
    "x-folded: one\r\n two\r\n",
    "no colon\r\n",
    "content-type: text/plain\r\n",
    "content-length: 3\r\n",
    "transfer-encoding: chunked\r\n",
];
const BODIES: &[&str] = &[
    "",
    "{}",
    "abc",
    r#"{"query":"{ __typename }"}"#,
    r#"{"query":"{ retrieveDonut(id: \"1\") { id flavor } }"}"#,
    r#"{"query":"{ nothing }"}"#,
    r#"{"query":"query($id: String!) { retrieveDonut(id: $id) { name } }","variables":{"id":"2"}}"#,
];

/// What a function sees of its request.
fn echo(request: Request<Bytes>) -> Response<Bytes> {
    let (head, body) = request.into_parts();
    Response::new(format!("{head:?} {body:?}").into())
}

fn one_of(seeded: &mut Seeded, of: &[&'static str]) -> &'static str {
    of[seeded.random_range(0..of.len())]
}

fn a_request(seeded: &mut Seeded) -> Vec<u8> {
    let mut text = one_of(seeded, LINES).to_owned();
    // Rarely unusual, so that several requests are read before one that ends the connection.
    let usual = if seeded.random_bool(0.8) { 12 } else { HEADERS.len() };
    for _ in 0..seeded.random_range(0..5) {
        text += one_of(seeded, &HEADERS[..usual]);
    }
    let body = one_of(seeded, BODIES);
    if !body.is_empty() {
        text += "content-type: application/json\r\n";
    }
    if !body.is_empty() || seeded.random_bool(0.2) {
        let lie = seeded.random_bool(0.05);
        let length = (body.len() + usize::from(lie)).to_string();
        text = [&text, "Content-Length: ", &length, "\r\n"].concat();
    }
    let mut bytes = format!("{text}\r\n{body}").into_bytes();
    if seeded.random_bool(0.1) {
        let at = seeded.random_range(0..bytes.len());
        match seeded.random_range(0..3) {
            0 => bytes[at] = seeded.random(),
            1 => bytes.insert(at, seeded.random()),
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

/// A stream of requests, cut into pieces.
fn pieces(seeded: &mut Seeded) -> Vec<Vec<u8>> {
    let stream: Vec<u8> = (0..seeded.random_range(1..6)).flat_map(|_| a_request(seeded)).collect();
    let mut pieces = Vec::new();
    let mut rest = &stream[..];
    while !rest.is_empty() {
        let longest = if seeded.random_bool(0.5) { rest.len() } else { rest.len().min(40) };
        let (piece, behind) = rest.split_at(seeded.random_range(1..=longest));
        pieces.push(piece.to_vec());
        rest = behind;
    }
    pieces
}

/// All that comes until the server ends the connection. The client ends sending behind its last piece.
fn responses(address: SocketAddr, first: Option<&str>, pieces: &[Vec<u8>]) -> String {
    let mut wire = Wire::to(address);
    if let Some(first) = first {
        wire.send(first);
        wire.response();
    }
    let mut stream = wire.stream;
    for piece in pieces {
        // The server may have had enough.
        if stream.write_all(piece).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&all)),
    }
    let all = String::from_utf8_lossy(&all);
    all.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect()
}

/// Sent in one piece, a stream must have the same responses from both. Sent in several, one may have fewer: hyper closes a
/// connection behind a request whose body nobody reads, unless all of it has come.
fn check(address: SocketAddr, pieces: &[Vec<u8>]) -> Result<(), String> {
    check_by(address, &[pieces.concat()], |one, other| one == other)?;
    check_by(address, pieces, |one, other| one.starts_with(other) || other.starts_with(one))
}

fn check_by(
    address: SocketAddr,
    pieces: &[Vec<u8>],
    is_same: impl Fn(&str, &str) -> bool,
) -> Result<(), String> {
    let by_fast_path = responses(address, None, pieces);
    let by_hyper = responses(address, Some(BY_HYPER), pieces);
    if is_same(&by_fast_path, &by_hyper) {
        return Ok(());
    }
    let sent: Vec<_> = pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect();
    Err(format!("sent {sent:#?}\nfast path: {by_fast_path}\nhyper: {by_hyper}"))
}

#[test]
fn both_parsers_read_the_same() {
    let server = Server::route("/api/", echo);
    let address = server.address();
    let mut seeded = Seeded::new();
    let cases: Vec<_> = (0..CASES).map(|_| pieces(&mut seeded)).collect();
    let mut faults = Vec::new();
    for some in cases.chunks(AT_A_TIME) {
        thread::scope(|scope| {
            let checks: Vec<_> = some.iter().map(|case| scope.spawn(|| check(address, case))).collect();
            faults.extend(checks.into_iter().filter_map(|check| check.join().expect("it ends").err()));
        });
    }
    assert!(faults.is_empty(), "{} of {CASES} cases differ:\n{}", faults.len(), faults.join("\n\n"));
}
