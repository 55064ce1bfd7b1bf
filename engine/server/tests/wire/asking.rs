//! Who asks: a context of each request, made of its head, over every way that a request can come, in our own server and
//! inside axum.

use std::{fmt::Write as _, net::SocketAddr, sync::Arc, time::Instant};

use expect_test::expect;
use prony_server::{
    ConnectionInit, RequestParts, Service, outputs,
    resolvers::{Error, Events, Resolvers, Schema},
};
use serde::Serialize;

use crate::{
    hosted::Hosted,
    sockets::{Socket, TRANSPORT},
    support::{PATIENCE, Server, Wire, get, post_with},
};

const SDL: &str = "
    type Query { me: String! slowMe: String! }
    type Mutation { tick: Int! }
    type Subscription { tick: Tick! }
    type Tick { number: Int! hearer: String! }";

#[derive(Clone, Default, Serialize)]
struct Tick {
    number: i32,
}

outputs!(Tick);

struct Visitor {
    name: String,
    ticks: Arc<Events<(), Tick>>,
}

/// By a header, by the payload of `connection_init`, or by what a layer in front has found.
fn visitor(ticks: &Arc<Events<(), Tick>>, head: &RequestParts) -> Result<Visitor, Error> {
    let header = head.headers.get("x-user").and_then(|value| value.to_str().ok());
    let payload = head.extensions.get::<ConnectionInit>().and_then(|init| init.0["user"].as_str());
    match header.or(payload) {
        None => Err(Error::new("who are you?").code("UNAUTHENTICATED")),
        Some("number") => Err("seven".parse::<i32>().expect_err("it is no number"))?,
        Some("panic") => panic!("the register is on fire"),
        Some(name) => Ok(Visitor { name: name.to_owned(), ticks: Arc::clone(ticks) }),
    }
}

fn functions() -> Resolvers {
    let ticks = Arc::default();
    Schema::per_request(SDL, move |head: &RequestParts| visitor(&ticks, head))
        .field("Query.me", |visitor: &Visitor, (): ()| visitor.name.clone())
        .async_field("Query.slowMe", |visitor: Arc<Visitor>, (): ()| async move { visitor.name.clone() })
        .field("Mutation.tick", |visitor: &Visitor, (): ()| {
            i32::try_from(visitor.ticks.publish(&(), Tick { number: 1 })).expect("they are few")
        })
        .event_field("Subscription.tick", |visitor: &Visitor, (): ()| visitor.ticks.subscribe(()))
        .field("Tick.hearer", |visitor: &Visitor, _: &Tick, (): ()| visitor.name.clone())
        .build()
        .expect("it fits")
}

/// The same in our own server and inside axum.
fn everywhere(test: impl Fn(SocketAddr)) {
    test(Server::functions(functions(), |_| {}).address());
    test(Hosted::start(&Service::new(functions()).expect("it is sound")).address);
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut wire = Wire::to(address);
    wire.send(request);
    wire.response()
}

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn each_request_has_its_own_context() {
    everywhere(|address| {
        let mut table = String::new();
        for head in ["", "x-user: Ann\r\n", "x-user: number\r\n", "x-user: panic\r\n"] {
            let answer = ask(address, &post_with(&format!("{JSON}{head}"), r#"{"query":"{ me slowMe }"}"#));
            let mut body = answer.trim_end().lines().last().expect("there is one").to_owned();
            if let Some(from) = body.find(r#","reference""#) {
                body.truncate(from);
            }
            let _ = writeln!(table, "{head:?} {body}");
        }
        expect![[r#"
            "" {"errors":[{"message":"who are you?","extensions":{"code":"UNAUTHENTICATED"}}]}
            "x-user: Ann\r\n" {"data":{"me":"Ann","slowMe":"Ann"}}
            "x-user: number\r\n" {"errors":[{"message":"the field could not be answered","extensions":{"code":"SOURCE_FAILED"
            "x-user: panic\r\n" {"errors":[{"message":"the field could not be answered","extensions":{"code":"SOURCE_FAILED"
        "#]]
        .assert_eq(&table);
        let by_get =
            get("/graphql?query=%7Bme%7D").replace("host: localhost", "host: localhost\r\nx-user: Bob");
        assert!(ask(address, &by_get).ends_with("{\"data\":{\"me\":\"Bob\"}}\n"));
        // What is no GraphQL is nobody's.
        assert!(
            ask(address, &post_with(JSON, r#"{"query":"{ nothing }"}"#)).contains("does not have a field")
        );
    });
}

/// Opens a socket as somebody and subscribes; what came meanwhile.
fn subscribe(address: SocketAddr, headers: &[(&'static str, &'static str)], init: &str) -> (Socket, String) {
    let headers = [headers, &[("sec-websocket-protocol", TRANSPORT)]].concat();
    let mut socket = Socket::open_at(address, &headers);
    socket.send(init);
    let came = socket.next();
    if came.contains("ack") {
        socket.send(
            r#"{"id":"a","type":"subscribe","payload":{"query":"subscription { tick { number hearer } }"}}"#,
        );
        socket.send(r#"{"id":"b","type":"subscribe","payload":{"query":"{ me }"}}"#);
        let me = socket.next();
        assert!(socket.next().contains("complete"));
        return (socket, me);
    }
    (socket, came)
}

#[test]
fn a_socket_is_somebodys_from_its_init_on() {
    everywhere(|address| {
        const INIT: &str = r#"{"type":"connection_init"}"#;
        let refused = |headers: &[_], init: &str| subscribe(address, headers, init).1;
        assert_eq!(refused(&[], INIT), "close 4403 who are you?");
        let internal = "close 4500 Internal server error: the server's log has more";
        assert_eq!(refused(&[("x-user", "number")], INIT), internal);
        assert_eq!(refused(&[("x-user", "panic")], INIT), internal);
        let (mut ann, me) = subscribe(address, &[("x-user", "Ann")], INIT);
        assert!(me.contains(r#"{"me":"Ann"}"#), "{me}");
        let (mut bob, me) = subscribe(address, &[], r#"{"type":"connection_init","payload":{"user":"Bob"}}"#);
        assert!(me.contains(r#"{"me":"Bob"}"#), "{me}");
        // They ask the same, and each hears it with their own context.
        let mut stream = Wire::to(address);
        let events = format!("accept: text/event-stream\r\nx-user: Eve\r\n{JSON}");
        stream.send(post_with(&events, r#"{"query":"subscription { tick { number hearer } }"}"#));
        stream.until(":\n\n");
        let tick = post_with(&format!("{JSON}x-user: Ann\r\n"), r#"{"query":"mutation { tick }"}"#);
        let ticked = ask(address, &tick);
        assert!(ticked.ends_with("{\"data\":{\"tick\":3}}\n"), "{ticked}");
        let event = |name: &str| format!(r#"{{"data":{{"tick":{{"number":1,"hearer":"{name}"}}}}}}"#);
        for (socket, name) in [(&mut ann, "Ann"), (&mut bob, "Bob")] {
            assert_eq!(socket.next(), format!(r#"{{"id":"a","type":"next","payload":{}}}"#, event(name)));
        }
        stream.until(&format!("data: {}\n\n", event("Eve")));
        // Who goes leaves nothing behind.
        drop((ann, bob, stream));
        let deadline = Instant::now() + PATIENCE;
        while !ask(address, &tick).ends_with("{\"data\":{\"tick\":0}}\n") {
            assert!(Instant::now() < deadline, "their subscriptions stay");
        }
    });
}

#[test]
fn operations_of_a_reserved_stream_are_those_of_who_posts_them() {
    everywhere(|address| {
        let request = |method: &str, query: &str, head: &str, body: &str| {
            let length = body.len();
            format!(
                "{method} /graphql/stream{query} HTTP/1.1\r\nhost: localhost\r\n{JSON}{head}content-length: {length}\r\n\r\n{body}"
            )
        };
        let reserved = ask(address, &request("PUT", "", "", ""));
        let token = format!("?token={}", reserved.lines().last().expect("the token is the body"));
        let mut stream = Wire::to(address);
        stream.send(request("GET", &token, "", ""));
        stream.until(":\n\n");
        for name in ["Ann", "Bob"] {
            let body = format!(r#"{{"query":"{{ me }}","extensions":{{"operationId":"{name}"}}}}"#);
            let posted = ask(address, &request("POST", &token, &format!("x-user: {name}\r\n"), &body));
            assert!(posted.starts_with("HTTP/1.1 202"), "{posted}");
            stream.until(&format!(
                "data: {{\"id\":\"{name}\",\"payload\":{{\"data\":{{\"me\":\"{name}\"}}}}}}\n\n"
            ));
        }
        let body = r#"{"query":"{ me }","extensions":{"operationId":"x"}}"#;
        let refused = ask(address, &request("POST", &token, "", body));
        assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("UNAUTHENTICATED"), "{refused}");
    });
}
