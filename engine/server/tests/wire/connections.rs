//! Connections: pipelining, pieces, keep-alive, half-closed ones, slow ones, too many.

use std::{io::Read as _, net::Shutdown, time::Duration};

use expect_test::expect;

use crate::support::{Server, get, post, query};

const ONE: &str = "{ artists(limit: 1) { Name } }";
const TWO: &str = "{ genres(limit: 1) { Name } }";

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::start();
    let mut wire = server.connect();
    wire.send(format!("{}{}{}{}", query(ONE), get("/none"), query(TWO), query(ONE)));
    let bodies: Vec<String> =
        (0..4).map(|_| wire.response().lines().last().expect("there is a body").to_owned()).collect();
    expect![[r#"
        {"data":{"artists":[{"Name":"AC/DC"}]}}
        {"errors":[{"message":"nothing is at /none; there are /graphql, /, /health, /live, /ready and /metrics"}]}
        {"data":{"genres":[{"Name":"Rock"}]}}
        {"data":{"artists":[{"Name":"AC/DC"}]}}"#]]
    .assert_eq(&bodies.join("\n"));
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let server = Server::start();
    let mut wire = server.connect();
    for byte in query(ONE).bytes() {
        wire.send([byte]);
    }
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: application/json; charset=utf-8
        {"data":{"artists":[{"Name":"AC/DC"}]}}
    "#]]
    .assert_eq(&wire.response());
}

#[test]
fn a_chunked_body_is_put_together() {
    let server = Server::start();
    let mut wire = server.connect();
    wire.send("POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    for piece in ["{\"query\":", "\"{__typename}\"", "}"] {
        wire.send(format!("{:x}\r\n{piece}\r\n", piece.len()));
    }
    wire.send("0\r\n\r\n");
    assert!(wire.response().ends_with("{\"data\":{\"__typename\":\"Query\"}}\n"));
}

#[test]
fn codings_that_are_not_understood_are_refused() {
    let server = Server::start();
    for (coding, body, status) in [
        ("transfer-encoding: gzip, chunked", "2\r\n{}\r\n0\r\n\r\n", "501 Not Implemented"),
        ("content-encoding: gzip\r\ncontent-length: 2", "{}", "415 Unsupported Media Type"),
    ] {
        let mut wire = server.connect();
        let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        wire.send(format!("{head}{coding}\r\n\r\n{body}"));
        let response = wire.response();
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
    }
}

#[test]
fn the_connection_lives_as_the_client_says() {
    let server = Server::start();
    let mut kept = server.connect();
    for _ in 0..3 {
        kept.send(query(ONE));
        assert!(kept.response().starts_with("HTTP/1.1 200 OK"));
    }
    let mut closed = server.connect();
    closed.send("GET /none HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert!(closed.response().contains("connection: close"));
    assert_eq!(closed.rest(), "");
    let mut old = server.connect();
    old.send("GET /none HTTP/1.0\r\n\r\n");
    assert!(old.rest().starts_with("HTTP/1.0 404 Not Found"));
}

/// A whole request that is followed by the end of the client's sending is answered; one that is not whole is not.
#[test]
fn a_half_closed_connection_gets_what_it_asked_for() {
    let server = Server::start();
    let mut whole = server.connect();
    whole.send(query(ONE));
    whole.stream.shutdown(Shutdown::Write).expect("it is open");
    assert!(whole.rest().contains("AC/DC"));
    let mut partial = server.connect();
    let request = query(ONE);
    partial.send(&request[..request.len() - 5]);
    partial.stream.shutdown(Shutdown::Write).expect("it is open");
    assert!(!partial.rest().contains("AC/DC"));
    assert!(server.ask(query(ONE)).contains("AC/DC"));
}

#[test]
fn a_client_that_does_not_finish_its_headers_is_closed() {
    let server = Server::with(|settings| settings.header_timeout = Duration::from_millis(50));
    let mut silent = server.connect();
    assert_eq!(silent.rest(), "");
    let mut slow = server.connect();
    slow.send("GET /health HTTP/1.1\r\nhost:");
    assert_eq!(slow.rest(), "");
}

#[test]
fn a_client_that_does_not_finish_its_body_is_told() {
    let server = Server::with(|settings| settings.body_timeout = Duration::from_millis(50));
    let mut slow = server.connect();
    let request = query(ONE);
    slow.send(&request[..request.len() - 5]);
    expect![[r#"
        HTTP/1.1 408 Request Timeout
        content-type: application/json; charset=utf-8
        connection: close
        {"errors":[{"message":"the body took longer than 50 ms (body_timeout_ms)"}]}
    "#]]
    .assert_eq(&slow.response());
    assert_eq!(slow.rest(), "");
}

/// The response is larger than what the kernel takes, so that the server has to wait for the client.
#[test]
fn a_client_that_does_not_read_loses_its_connection() {
    let server = Server::with(|settings| {
        settings.write_timeout = Duration::from_millis(50);
        settings.limits.max_aliases = 10_000;
        settings.limits.max_root_fields = 1000;
    });
    let fields = (0..60).fold(String::new(), |text, index| {
        format!("{text}t{index}: tracks(limit: 3503) {{ Name Composer }} ")
    });
    let mut deaf = server.connect();
    deaf.send(query(&format!("{{ {fields} }}")));
    let mut other = server.connect();
    loop {
        other.send(get("/metrics"));
        if other.response().contains("prony_connections{} 1.0") {
            break;
        }
        std::thread::yield_now();
    }
    let got = deaf.rest();
    assert!(got.starts_with("HTTP/1.1 200 OK") && !got.ends_with("}}"), "it was sent completely");
}

/// It reads all the time, and never leaves the server without progress for as long as the write timeout.
#[test]
fn a_client_that_reads_too_slowly_loses_its_connection() {
    let server = Server::with(|settings| {
        settings.write_timeout = Duration::from_millis(400);
        settings.min_rate_bytes = 1 << 40;
        settings.limits.max_root_fields = 1000;
    });
    let fields = (0..200).fold(String::new(), |text, index| {
        format!("{text}t{index}: tracks(limit: 3503) {{ Name Composer }} ")
    });
    let mut slow = server.connect();
    slow.send(query(&format!("{{ {fields} }}")));
    let (mut got, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(read @ 1..) = slow.stream.read(&mut piece) {
        got.extend_from_slice(&piece[..read]);
        std::thread::sleep(Duration::from_millis(1));
    }
    let got = String::from_utf8_lossy(&got);
    assert!(got.starts_with("HTTP/1.1 200 OK") && !got.ends_with("}}"), "it was sent completely");
}

#[test]
fn one_connection_too_many_is_told_so() {
    let server = Server::with(|settings| settings.max_connections = 2);
    let mut first = server.connect();
    let mut second = server.connect();
    for wire in [&mut first, &mut second] {
        wire.send(query(ONE));
        assert!(wire.response().contains("AC/DC"));
    }
    let mut refused = server.connect();
    expect![[r#"
        HTTP/1.1 503 Service Unavailable
        content-type: application/json; charset=utf-8
        retry-after: 1
        connection: close
        {"errors":[{"message":"the server is at its limit of connections; try later"}]}
    "#]]
    .assert_eq(&refused.response());
    assert_eq!(refused.rest(), "");
    drop(first);
    second.send(post("{}"));
    assert!(second.response().starts_with("HTTP/1.1 400"));
}

/// The gauge counts the request until it is dropped, and the request for the metrics itself.
#[test]
fn a_request_whose_client_has_gone_is_dropped() {
    let server = Server::start();
    let mut gone = server.connect();
    let request = query(ONE);
    gone.send(&request[..request.len() - 5]);
    let mut other = server.connect();
    let mut wait_for = |line: &str| {
        loop {
            other.send(get("/metrics"));
            if other.response().contains(line) {
                break;
            }
            std::thread::yield_now();
        }
    };
    wait_for("prony_requests_in_flight{} 2.0");
    drop(gone);
    wait_for("prony_requests_in_flight{} 1.0");
}
