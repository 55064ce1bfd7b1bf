//! Events of mutations at their subscribers, over sockets and streams, and subscribers that do not keep up.

use std::time::Duration;

use expect_test::expect;

use crate::{
    sockets::{INIT, LEGACY, Socket},
    support::{Server, Wire, get, post, post_with},
};

/// A subscription to a donut, as the payload of a message or the body of a request.
pub(crate) fn updates(id: &str) -> String {
    format!(
        r#"{{"query":"subscription ($id: String!) {{ onDonutUpdated(id: $id) {{ name flavor }} }}","variables":{{"id":"{id}"}}}}"#
    )
}

pub(crate) fn subscribe(operation: &str, id: &str) -> String {
    format!(r#"{{"id":"{operation}","type":"subscribe","payload":{}}}"#, updates(id))
}

/// A connection that changes donuts.
struct Baker(Wire);

impl Baker {
    fn at(server: &Server) -> Self {
        Self(server.connect())
    }

    fn bake(&mut self, id: &str, name: &str) {
        let query = format!(
            r#"mutation {{ addOrUpdateDonut(donut: {{id: \"{id}\", name: \"{name}\", flavor: VANILLA}}) {{ id }} }}"#
        );
        self.0.send(post(&format!(r#"{{"query":"{query}"}}"#)));
        let response = self.0.response();
        assert!(
            response.contains(&format!(r#"{{"data":{{"addOrUpdateDonut":{{"id":"{id}"}}}}}}"#)),
            "{response}"
        );
    }
}

pub(crate) fn event(name: &str) -> String {
    format!(r#"{{"data":{{"onDonutUpdated":{{"name":"{name}","flavor":"VANILLA"}}}}}}"#)
}

/// A stream of server-sent events for one donut.
fn stream(server: &Server, id: &str) -> Wire {
    let mut wire = server.connect();
    let headers = "accept: text/event-stream\r\ncontent-type: application/json\r\n";
    wire.send(post_with(headers, &updates(id)));
    wire.until(":\n\n");
    wire
}

#[test]
fn every_subscriber_gets_each_event_once_and_in_order() {
    let server = Server::donuts(|_| {});
    // On both cores, and several of each form.
    let mut sockets: Vec<Socket> = (0..4).map(|_| Socket::ready(&server)).collect();
    for socket in &mut sockets {
        socket.send(&subscribe("a", "7"));
        socket.send(&subscribe("b", "8"));
    }
    let mut legacy = Socket::open(&server, LEGACY);
    legacy.send(INIT);
    legacy.send(&format!(r#"{{"id":"1","type":"start","payload":{}}}"#, updates("7")));
    assert_eq!([legacy.next(), legacy.next()], [r#"{"type":"connection_ack"}"#, r#"{"type":"ka"}"#]);
    let mut streams: Vec<Wire> = (0..2).map(|_| stream(&server, "7")).collect();
    server.until_metric("prony_subscriptions", 11);
    let mut baker = Baker::at(&server);
    for name in ["first", "second", "third"] {
        baker.bake("7", name);
        baker.bake("9", "unheard");
    }
    baker.bake("8", "last");
    for socket in &mut sockets {
        let mut of_a = Vec::new();
        let mut of_b = Vec::new();
        for _ in 0..4 {
            let text = socket.next();
            if text.starts_with(r#"{"id":"a""#) { of_a.push(text) } else { of_b.push(text) }
        }
        let next =
            |id: &str, name: &str| format!(r#"{{"id":"{id}","type":"next","payload":{}}}"#, event(name));
        assert_eq!(of_a, ["first", "second", "third"].map(|name| next("a", name)));
        assert_eq!(of_b, [next("b", "last")]);
    }
    for name in ["first", "second", "third"] {
        assert_eq!(legacy.next(), format!(r#"{{"id":"1","type":"data","payload":{}}}"#, event(name)));
        for stream in &mut streams {
            let came = stream.until(&format!("event: next\ndata: {}\n\n", event(name)));
            assert!(!came.contains("event: complete"), "{came}");
        }
    }
}

#[test]
fn an_event_is_executed_once_for_all_who_ask_the_same() {
    let server = Server::donuts(|settings| settings.cores = prony_server::config::CoreChoice::Count(1));
    let mut sockets: Vec<Socket> = (0..5).map(|_| Socket::ready(&server)).collect();
    for socket in &mut sockets {
        socket.send(&subscribe("a", "7"));
    }
    // Another selection and another donut are others' events.
    sockets[0].send(r#"{"id":"b","type":"subscribe","payload":{"query":"subscription { onDonutUpdated(id: \"7\") { id } }"}}"#);
    sockets[0].send(&subscribe("c", "8"));
    server.until_metric("prony_subscriptions", 7);
    Baker::at(&server).bake("7", "shared");
    server.until_metric("prony_subscription_events_total", 2);
    server.until_metric("prony_subscription_messages_total", 6);
}

#[test]
fn what_is_completed_hears_no_more_and_its_id_is_free() {
    let server = Server::donuts(|_| {});
    let mut socket = Socket::ready(&server);
    let mut baker = Baker::at(&server);
    socket.send(&subscribe("a", "7"));
    server.until_metric("prony_subscriptions", 1);
    socket.send(r#"{"id":"a","type":"complete"}"#);
    server.until_metric("prony_subscriptions", 0);
    baker.bake("7", "unheard");
    socket.send(&subscribe("a", "8"));
    server.until_metric("prony_subscriptions", 1);
    baker.bake("8", "heard");
    assert_eq!(socket.next(), format!(r#"{{"id":"a","type":"next","payload":{}}}"#, event("heard")));
    socket.send(&subscribe("a", "8"));
    assert_eq!(socket.next(), "close 4409 Subscriber for a already exists");
    server.until_metric("prony_subscriptions", 0);
}

/// What waits for a client when it completes an operation is taken back: it gets what its kernel had, and no more.
#[test]
fn results_that_wait_for_a_completed_operation_are_not_sent() {
    const EVENTS: usize = 30;
    let server = Server::donuts(|settings| {
        settings.subscriptions.max_queued_bytes = 1 << 30;
        settings.limits.max_document_bytes = 1 << 20;
    });
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("a", "7"));
    server.until_metric("prony_subscriptions", 1);
    let (mut baker, name) = (Baker::at(&server), "x".repeat(1_000_000));
    for _ in 0..EVENTS {
        baker.bake("7", &name);
    }
    // More than the kernel takes for a client that does not read.
    server.until_metric("prony_subscription_messages_total", EVENTS as u64);
    socket.send(r#"{"id":"a","type":"complete"}"#);
    server.until_metric("prony_subscriptions", 0);
    socket.send(r#"{"type":"ping"}"#);
    let came = std::iter::from_fn(|| Some(socket.next()).filter(|text| text != r#"{"type":"pong"}"#)).count();
    assert!(came < EVENTS, "{came} of {EVENTS} results came, though most waited when the operation ended");
}

/// Whatever is written to it, donut 1 stays, and its event tells how it is: what a read at that moment would.
#[test]
fn the_event_of_the_donut_that_stays_tells_how_it_is() {
    let server = Server::donuts(|_| {});
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("a", "1"));
    server.until_metric("prony_subscriptions", 1);
    Baker::at(&server).bake("1", "Other");
    expect![[r#"{"id":"a","type":"next","payload":{"data":{"onDonutUpdated":{"name":"Super Mega Donut","flavor":"CHOCOLATE"}}}}"#]].assert_eq(&socket.next());
}

#[test]
fn operations_over_the_limit_are_refused_one_by_one() {
    let server = Server::donuts(|settings| settings.subscriptions.max_operations = 2);
    let mut socket = Socket::ready(&server);
    for operation in ["a", "b", "c"] {
        socket.send(&subscribe(operation, "7"));
    }
    expect![[r#"{"id":"c","type":"error","payload":[{"message":"this connection has 2 operations (max_operations); complete one, or open another connection","extensions":{"code":"LIMIT_EXCEEDED"}}]}"#]].assert_eq(&socket.next());
    server.until_metric("prony_subscriptions", 2);
}

#[test]
fn clients_that_do_not_read_are_cut_and_counted() {
    let server = Server::donuts(|settings| {
        settings.subscriptions.max_queued_messages = 10;
        settings.subscriptions.ping_interval = Duration::from_secs(600);
        settings.cores = prony_server::config::CoreChoice::Count(1);
    });
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("a", "7"));
    let mut stream = stream(&server, "7");
    let mut reader = Socket::ready(&server);
    reader.send(&subscribe("a", "7"));
    server.until_metric("prony_subscriptions", 3);
    // Until the kernel's buffers are full; who reads gets each event all the while.
    let mut baker = Baker::at(&server);
    let name = "x".repeat(100_000);
    let mut rounds = 0;
    loop {
        baker.bake("7", &name);
        rounds += 1;
        assert_eq!(reader.next().len(), event(&name).len() + r#"{"id":"a","type":"next","payload":}"#.len());
        let metrics = server.ask(get("/metrics"));
        if metrics.contains("prony_slow_consumers_total{} 2.0") {
            break;
        }
        assert!(rounds < 1000, "{metrics}");
    }
    // What had been sent, and then the reason.
    let came = std::iter::from_fn(|| Some(socket.next()).filter(|text| text != "(closed)"));
    let last = came.last().expect("something had been sent");
    let said = last.starts_with("close 1013 the client reads too slowly: 10 messages");
    // A client that reads again only after the server has given it up finds no reason.
    assert!(said || last.len() > name.len(), "{last}");
    let rest = stream.until("\r\n0\r\n\r\n");
    let tail = &rest[rest.len().saturating_sub(300)..];
    assert!(tail.contains("the client reads too slowly: 10 messages"), "{tail}");
    assert!(tail.contains("event: complete"), "{tail}");
    server.until_metric("prony_sockets", 1);
    server.until_metric("prony_subscriptions", 1);
}

#[test]
fn a_reserved_stream_hears_events_until_it_stops() {
    let server = Server::donuts(|_| {});
    let request = |method: &str, query: &str, body: &str| {
        let length = body.len();
        format!(
            "{method} /graphql/stream{query} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let reserved = server.ask(request("PUT", "", ""));
    let token = format!("?token={}", reserved.lines().last().expect("the token is the body"));
    let mut stream = server.connect();
    stream.send(request("GET", &token, ""));
    stream.until(":\n\n");
    let with_id = updates("7").replacen('{', r#"{"extensions":{"operationId":"seven"},"#, 1);
    assert!(server.ask(request("POST", &token, &with_id)).starts_with("HTTP/1.1 202"));
    assert!(server.ask(request("POST", &token, &with_id)).starts_with("HTTP/1.1 409"));
    server.until_metric("prony_subscriptions", 1);
    let mut baker = Baker::at(&server);
    baker.bake("7", "heard");
    stream.until(&format!("event: next\ndata: {{\"id\":\"seven\",\"payload\":{}}}\n\n", event("heard")));
    assert!(
        server.ask(request("DELETE", &format!("{token}&operationId=seven"), "")).starts_with("HTTP/1.1 200")
    );
    server.until_metric("prony_subscriptions", 0);
}

#[test]
fn a_subscription_that_is_asked_as_a_request_is_told_how_to_ask() {
    let server = Server::donuts(|_| {});
    expect![[r#"
        HTTP/1.1 406 Not Acceptable
        content-type: application/json; charset=utf-8
        {"errors":[{"message":"a subscription is answered with many results: send `accept: text/event-stream`, or open a WebSocket here"}]}
    "#]].assert_eq(&server.ask(post(&updates("7"))));
}

#[test]
fn subscribers_are_told_to_come_back_when_the_server_stops() {
    let server = Server::donuts(|_| {});
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("a", "7"));
    let mut stream = stream(&server, "7");
    server.until_metric("prony_subscriptions", 2);
    let stopping = std::thread::spawn(move || server.running.stop());
    // Without `complete`: clients would take it for the end of all events.
    assert_eq!(socket.next(), "close 1012 the server is stopping: connect again");
    let rest = stream.rest();
    assert!(rest.contains(": the server is stopping") && !rest.contains("complete"), "{rest}");
    stopping.join().expect("it stops");
}

#[test]
fn subscriptions_opened_and_closed_leave_nothing() {
    let server = Server::donuts(|settings| settings.subscriptions.ping_interval = Duration::from_secs(60));
    for round in 0..5 {
        let mut sockets: Vec<Socket> = (0..100).map(|_| Socket::ready(&server)).collect();
        for (number, socket) in sockets.iter_mut().enumerate() {
            socket.send(&subscribe("a", &(number % 10).to_string()));
        }
        let streams: Vec<Wire> = (0..10).map(|_| stream(&server, &round.to_string())).collect();
        server.until_metric("prony_subscriptions", 110);
        drop((sockets, streams));
        server.until_metric("prony_subscriptions", 0);
    }
    server.until_metric("prony_sockets", 0);
    server.until_metric("prony_event_streams", 0);
    Baker::at(&server).bake("7", "nobody hears");
    server.until_metric("prony_subscription_events_total", 0);
}

/// Four writers, and on each core subscribers that read: nobody misses an event without being told, and none comes twice
/// or in another order than its writer sent it.
#[test]
fn a_storm_of_mutations_reaches_every_subscriber() {
    const WRITERS: usize = 4;
    const EACH: usize = 300;
    let server = Server::donuts(|_| {});
    let mut sockets: Vec<Socket> = (0..6).map(|_| Socket::ready(&server)).collect();
    for socket in &mut sockets {
        socket.send(&subscribe("a", "7"));
    }
    server.until_metric("prony_subscriptions", 6);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let mut baker = Baker::at(&server);
            scope.spawn(move || {
                for number in 0..EACH {
                    baker.bake("7", &format!("{writer} {number}"));
                }
            });
        }
        for mut socket in sockets {
            scope.spawn(move || {
                let mut next = [0; WRITERS];
                let mut lost = 0;
                while next.iter().sum::<usize>() < WRITERS * EACH && lost == 0 {
                    let text = socket.next();
                    let name = text.split(r#""name":""#).nth(1).and_then(|rest| rest.split('"').next());
                    let Some((writer, number)) = name.and_then(|name| name.split_once(' ')) else {
                        // The only other answer there may be.
                        assert!(text.contains("events are lost: more than 256 waited"), "{text}");
                        lost += 1;
                        continue;
                    };
                    let [writer, number] =
                        [writer, number].map(|text| text.parse::<usize>().expect("a number"));
                    assert_eq!(number, next[writer], "of writer {writer}");
                    next[writer] += 1;
                }
            });
        }
    });
}
