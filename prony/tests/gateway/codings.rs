//! Content codings through a gateway: decoded where something is to be read, passed on as they come where the client takes them.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use prony_testkit::peer::{ScriptedPeer, Step};
use serde_json::json;

use super::{before, directory, failure, server::Server};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// A response whose body is in a coding.
fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A head in lower case, and a body as it came.
fn ask(gateway: &Server, query: &str, accept_encoding: &str, close: bool) -> (String, Vec<u8>) {
    let body = json!({ "query": query }).to_string();
    let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
    // With this header a connection is not read by the fast path.
    let connection = if close { "connection: close\r\n" } else { "" };
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\naccept-encoding: {accept_encoding}\r\n{connection}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end + 2]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let length: usize = length.expect("it has a length");
            if read.len() >= end + 4 + length {
                return (head, read[end + 4..].to_vec());
            }
        }
        let count = stream.read(&mut buffer).expect("it responds");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&buffer[..count]);
    }
}

/// What an upstream compresses is decoded, within the bound of what a response may have.
#[test]
fn content_codings_are_decoded() {
    let thing = |name: &str| format!(r#"{{"data":{{"two":{{"id":"1","name":"{name}"}}}}}}"#);
    let long = thing(&"x".repeat(300_000));
    let directory = directory();
    let peer = ScriptedPeer::start(
        [
            coded("gzip", &gzip(&thing("short"))),
            coded("GZIP", &gzip(&long)),
            coded("gzip", &gzip(&thing(&"x".repeat(2_000_000)))),
            coded("gzip", thing("not").as_bytes()),
            coded("gzip, br", &gzip(&thing("several"))),
            coded("identity", thing("plain").as_bytes()),
        ]
        .map(|response| vec![Step::ReadRequest, Step::Write(response)])
        .to_vec(),
    );
    let more =
        "retries = 0\nbreaker_failures = 1000\nmax_response_bytes = 1000000\nupstream_encodings = [\"gzip\"]";
    let gateway = before(&peer, &directory, more);
    let query = "{ two(id: 1) { id name } }";
    assert_eq!(gateway.graphql(query)["data"]["two"]["name"], "short");
    let (head, body) = gateway.ask("POST /graphql", &json!({ "query": query }).to_string());
    assert!(body == long && !head.to_lowercase().contains("content-encoding"), "{head}");
    assert!(failure(&gateway.graphql(query)).starts_with("LIMIT_EXCEEDED"), "a bomb");
    for what in ["another body", "several codings"] {
        let refused = failure(&gateway.graphql(query));
        assert!(refused.starts_with("SOURCE_"), "{what}: {refused}");
    }
    assert_eq!(gateway.graphql(query)["data"]["two"]["name"], "plain");
    let received = peer.received(0);
    let first = String::from_utf8_lossy(&received);
    assert!(first.contains("accept-encoding: gzip\r\n"), "{first}");
}

/// A body that nobody has to read is the client's as it came, in the coding that it takes.
#[test]
fn codings_that_a_client_takes_are_passed_on() {
    let one = r#"{"data":{"one":1}}"#;
    let with_extensions = r#"{"data":{"one":1},"extensions":{"secret":1}}"#;
    let with_errors = r#"{"data":{"one":null},"errors":[{"message":"secret"}]}"#;
    let whole = "{ one }";
    // In parts, the values are spliced.
    let parts = "{ __typename one }";
    for (settings, body, query, accepted, expected) in [
        ("", one, whole, "gzip", Some(one)),
        ("", one, whole, "br, gzip;q=0.1", Some(one)),
        ("", one, whole, "*", Some(one)),
        ("", one, whole, "br", None),
        ("", one, whole, "gzip;q=0", None),
        ("", one, whole, "", None),
        ("", one, parts, "gzip", None),
        // What is hidden is never passed on, and what is not is.
        ("", with_extensions, whole, "gzip", None),
        ("forward_extensions = true", with_extensions, whole, "gzip", Some(with_extensions)),
        ("upstream_errors = \"mask\"", with_errors, whole, "gzip", None),
        ("upstream_errors = \"mask\"", one, whole, "gzip", Some(one)),
        ("", with_errors, whole, "gzip", Some(with_errors)),
    ] {
        for close in [false, true] {
            let directory = directory();
            let original = gzip(body);
            let peer = ScriptedPeer::answering(coded("gzip", &original));
            let gateway = before(&peer, &directory, settings);
            let (head, received) = ask(&gateway, query, accepted, close);
            let what = format!("{settings} {query} {accepted}: {head}");
            if expected.is_some() {
                assert!(head.contains("\r\ncontent-encoding: gzip\r\n"), "{what}");
                assert!(head.contains("\r\nvary: accept-encoding\r\n"), "{what}");
                assert!(received == original, "it is the same byte for byte: {what}");
                continue;
            }
            assert!(!head.contains("content-encoding"), "{what}");
            let text = String::from_utf8(received).expect("it is text");
            assert!(text.starts_with("{\"data\":{") && !text.contains("secret"), "{what}{text}");
        }
    }
}

/// A body that others will be given too is read by clients that take no coding.
#[test]
fn responses_that_are_kept_are_in_no_coding() {
    let directory = directory();
    let peer = ScriptedPeer::answering(coded("gzip", &gzip(r#"{"data":{"one":1}}"#)));
    let gateway = before(
        &peer,
        &directory,
        "forward_extensions = true\n[auth]\nanonymous = \"all\"\n[roles.all]\nunrestricted = true\n\
         [[operation]]\nmatch = \"*\"\ncache = { ttl = \"60s\", scope = \"shared\" }\n",
    );
    for accepted in ["gzip", ""] {
        let (head, body) = ask(&gateway, "{ one }", accepted, false);
        assert!(!head.contains("content-encoding"), "{head}");
        assert_eq!(String::from_utf8_lossy(&body), r#"{"data":{"one":1}}"#);
    }
    assert_eq!(peer.connections(), 1, "it was kept");
}
