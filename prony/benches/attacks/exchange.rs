//! Requests as bytes, and what comes back.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::{
    bank::{Answer, Field},
    site::{SecureStream, Site},
};

/// After which an attacker goes on to its next act.
const PATIENCE: Duration = Duration::from_secs(2);
/// For what an attack needs to be made.
const PREPARATION_MAX: Duration = Duration::from_secs(60);
/// Of a response that an attacker reads.
const READ_MAX: u64 = 64 * 1024 * 1024;

/// A request with any head and body; the host is the server's.
pub(crate) fn request(site: &Site, line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        site.address,
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn post_json(site: &Site, path: &str, body: &str) -> Vec<u8> {
    request(site, &format!("POST {path}"), "Content-Type: application/json\r\n", body.as_bytes())
}

/// A request to `/graphql`; `connection` is that header's value.
pub(crate) fn graphql(site: &Site, query: &str, variables: &str, connection: &str) -> Vec<u8> {
    let query = serde_json::Value::String(query.to_owned());
    let body = format!("{{\"query\":{query},\"variables\":{variables}}}");
    format!(
        "POST /graphql HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n{body}",
        site.address,
        body.len()
    )
    .into_bytes()
}

pub(crate) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let of = |line: &'h str| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    };
    head.lines().find_map(of)
}

/// Sends bytes on a connection of its own and reads all that comes.
pub(crate) fn send(field: &Field<'_>, bytes: &[u8]) -> Answer {
    let Some(mut stream) = connect(field) else { return Answer::None };
    // A server that refuses while it is being sent to closes.
    let _ = stream.write_all(bytes);
    let mut received = Vec::new();
    let _ = stream.take(READ_MAX).read_to_end(&mut received);
    status(&received)
}

/// What an attack needs: sent before it begins, and there when this returns the response.
pub(crate) fn prepare(site: &Site, line: &str, body: &str) -> String {
    let request = request(site, line, "Content-Type: application/json\r\n", body.as_bytes());
    let mut received = Vec::new();
    let done = site.connect(PREPARATION_MAX).and_then(|mut stream| {
        stream.write_all(&request)?;
        stream.take(READ_MAX).read_to_end(&mut received)
    });
    let text = String::from_utf8_lossy(&received).into_owned();
    assert!(matches!(status(&received), Answer::Status(200..300)), "{line}: {done:?}, {text}");
    text
}

/// A query, with a connection of its own.
pub(crate) fn ask(field: &Field<'_>, query: &str, variables: &str) -> Answer {
    send(field, &graphql(field.site, query, variables, "close"))
}

pub(crate) fn connect(field: &Field<'_>) -> Option<TcpStream> {
    field.site.socket(PATIENCE).ok()
}

/// A connection with TLS whose handshake is done; the first protocol that the server has is spoken.
pub(crate) fn connect_securely(field: &Field<'_>, protocols: &[&str]) -> Option<SecureStream> {
    field.site.secure(connect(field)?, protocols).ok()
}

pub(crate) fn status(received: &[u8]) -> Answer {
    let digits = received.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    let number = digits.filter(|_| received.starts_with(b"HTTP/1."));
    number.and_then(|digits| digits.parse().ok()).map_or(Answer::None, Answer::Status)
}
