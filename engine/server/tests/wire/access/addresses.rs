//! Limits by the address of a client, as a trusted proxy names it. This machine itself is not limited.

use std::{io::Write as _, time::Instant};

use prony_server::config::Settings;
use serde_json::json;

use super::{ACCESS, access, bearer, serve, token};
use crate::{
    sockets::{Socket, TRANSPORT, subscribe},
    support::{PATIENCE, Server, Wire},
};

const ONE: &str = "192.0.2.1";
const OTHER: &str = "192.0.2.2";

/// A server that believes this machine's `X-Forwarded-For`.
fn behind_a_proxy(change: impl FnOnce(&mut Settings)) -> Server {
    let access = access(&ACCESS.replacen("[auth]\n", "[auth]\ntrusted_proxies = [\"127.0.0.1\"]\n", 1));
    Server::with(|settings| {
        settings.access = access;
        change(settings);
    })
}

fn header(address: Option<&str>) -> String {
    address.map(|address| format!("x-forwarded-for: {address}\r\n")).unwrap_or_default()
}

/// A body without its end.
fn begin_body(server: &Server, address: Option<&str>) -> Wire {
    let mut wire = server.connect();
    let from = header(address);
    wire.send(format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{from}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    ));
    wire.send(format!("{:x}\r\n{{\"x\":\"{}\r\n", 45_000, "x".repeat(44_994)));
    wire
}

/// The response to such a body with its end.
fn ask_with_body(server: &Server, address: Option<&str>) -> String {
    let mut wire = begin_body(server, address);
    // Of one that is refused the connection may be closed by now.
    let _ = wire.stream.write_all(b"2\r\n\"}\r\n0\r\n\r\n");
    wire.response()
}

#[test]
fn bodies_of_one_address_that_do_not_end_leave_room_for_others() {
    let server = behind_a_proxy(|settings| {
        settings.max_unfinished_bodies_bytes = 400_000;
        settings.max_body_bytes = 50_000;
    });
    let mut unfinished = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    let refused = loop {
        // Two have room; which of those that come together have it is open.
        unfinished.push(begin_body(&server, Some(ONE)));
        let response = ask_with_body(&server, Some(ONE));
        if !response.starts_with("HTTP/1.1 400") {
            break response;
        }
        assert!(Instant::now() < deadline, "{response}");
    };
    assert!(refused.starts_with("HTTP/1.1 429 Too Many Requests"), "{refused}");
    let message =
        "from this address have more than 100000 bytes together (a quarter of max_unfinished_bodies_bytes)";
    assert!(refused.contains(message), "{refused}");
    for address in [Some(OTHER), None] {
        let response = ask_with_body(&server, address);
        assert!(response.starts_with("HTTP/1.1 400"), "they are no requests of GraphQL: {response}");
    }
}

/// A WebSocket of a customer.
fn socket(server: &Server, address: &'static str) -> Socket {
    let headers = [("sec-websocket-protocol", TRANSPORT), ("x-forwarded-for", address)];
    let mut socket = Socket::open_at(server.address(), &headers);
    let payload = json!({"Authorization": format!("Bearer {}", token("customer", 2))});
    socket.send(&json!({"type": "connection_init", "payload": payload}).to_string());
    assert_eq!(socket.next(), r#"{"type":"connection_ack"}"#);
    socket
}

/// Subscribes, and says why that is refused.
fn refusal(socket: &mut Socket, id: &str) -> Option<String> {
    socket.send(&subscribe(id, "subscription { onInvoiceChanged { operation } }"));
    // A query behind it is answered when the subscription has begun, or has been refused.
    socket.send(&subscribe("q", "{ __typename }"));
    let mut first = socket.next();
    let refused = (!first.contains("__typename")).then(|| std::mem::replace(&mut first, socket.next()));
    assert!(first.contains("__typename"), "{first}");
    assert!(socket.next().contains("complete"));
    refused
}

#[test]
fn subscriptions_of_one_address_are_bounded_over_all_its_connections() {
    let server = behind_a_proxy(|settings| settings.subscriptions.max_subscriptions_per_address = 2);
    let (mut first, mut second) = (socket(&server, ONE), socket(&server, ONE));
    assert_eq!(refusal(&mut first, "a"), None);
    assert_eq!(refusal(&mut second, "b"), None);
    for socket in [&mut first, &mut second] {
        let refused = refusal(socket, "c").expect("there are two");
        assert!(refused.contains("TOO_MANY_REQUESTS"), "{refused}");
        assert!(refused.contains("(max_subscriptions_per_address)"), "{refused}");
    }
    assert_eq!(refusal(&mut socket(&server, OTHER), "a"), None);
    first.send(r#"{"id":"a","type":"complete"}"#);
    assert_eq!(refusal(&mut first, "c"), None, "one has ended");
}

/// The payload of `connection_init` stands for headers, and a client could choose its address by it.
#[test]
fn a_client_behind_a_proxy_does_not_say_in_its_payload_where_it_is() {
    let rule =
        "[[operation]]\nmatch = \"Query.albums\"\nrate_limit = [{ by = \"address\", rate = \"1/d\" }]\n";
    let text = ACCESS.replacen("[auth]\n", "[auth]\ntrusted_proxies = [\"127.0.0.1\"]\n", 1);
    let server = serve(&format!("{text}{rule}"));
    let ask = |address: &'static str, payload: &serde_json::Value| {
        let headers = [("sec-websocket-protocol", TRANSPORT), ("x-forwarded-for", address)];
        let mut socket = Socket::open_at(server.address(), &headers);
        socket.send(&json!({"type": "connection_init", "payload": payload}).to_string());
        assert_eq!(socket.next(), r#"{"type":"connection_ack"}"#);
        socket.send(&subscribe("a", "{ albums(limit: 1) { AlbumId } }"));
        socket.next()
    };
    assert!(ask(ONE, &json!({})).contains("AlbumId"));
    for payload in
        [json!({}), json!({"X-Forwarded-For": OTHER}), json!({"headers": {"x-forwarded-for": OTHER}})]
    {
        let refused = ask(ONE, &payload);
        assert!(refused.contains("TOO_MANY_REQUESTS"), "{payload}: {refused}");
    }
    assert!(ask(OTHER, &json!({"x-forwarded-for": ONE})).contains("AlbumId"));
}

fn reserve(server: &Server, headers: &str) -> String {
    server
        .ask(format!("PUT /graphql/stream HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: 0\r\n\r\n"))
}

#[test]
fn reservations_of_one_address_leave_room_for_others() {
    let server = behind_a_proxy(|settings| {
        settings.subscriptions.max_reservations = 100;
        settings.subscriptions.reservation_timeout = 10 * PATIENCE;
    });
    for _ in 0..64 {
        assert!(reserve(&server, &header(Some(ONE))).starts_with("HTTP/1.1 201"));
    }
    let refused = reserve(&server, &header(Some(ONE)));
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("max_reservations"), "{refused}");
    assert!(reserve(&server, &header(Some(OTHER))).starts_with("HTTP/1.1 201"));
}

/// A proxy puts the address behind what its client has sent. The whole line named nobody then, who is not limited.
#[test]
fn odd_bytes_of_a_client_hide_its_address_from_no_limit() {
    let server = behind_a_proxy(|settings| {
        settings.subscriptions.max_reservations = 100;
        settings.subscriptions.reservation_timeout = 10 * PATIENCE;
    });
    let reserve = b"PUT /graphql/stream HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: \xff, 192.0.2.1\r\ncontent-length: 0\r\n\r\n";
    for _ in 0..64 {
        assert!(server.ask(reserve).starts_with("HTTP/1.1 201"));
    }
    let refused = server.ask(reserve);
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("max_reservations"), "{refused}");
}

#[test]
fn who_may_not_ask_may_not_reserve_a_stream() {
    let server = serve(&ACCESS.replace("anonymous = \"visitor\"", ""));
    let refused = reserve(&server, "");
    assert!(refused.starts_with("HTTP/1.1 401 Unauthorized"), "{refused}");
    let wrong = reserve(&server, "authorization: Bearer x.y.z\r\n");
    assert!(wrong.starts_with("HTTP/1.1 401 Unauthorized"), "{wrong}");
    let reserved = reserve(&server, &bearer(&token("customer", 2)));
    assert!(reserved.starts_with("HTTP/1.1 201 Created"), "{reserved}");
}
