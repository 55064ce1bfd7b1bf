//! The engine as a service inside an axum server: requests, streams and sockets come as they do from our own, and stopping
//! tells subscribers so.

use std::{net::SocketAddr, thread};

use prony_server::{Service, examples::donuts};
use tokio::{net::TcpListener, sync::oneshot};

use crate::{
    sockets::{INIT, LEGACY, Socket, TRANSPORT},
    subscriptions::{event, subscribe, updates},
    support::{Wire, get, post, post_with, query},
};

/// An axum server on a thread of its own; stops when it is dropped.
pub(crate) struct Hosted {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Hosted {
    pub(crate) fn start(service: &Service) -> Self {
        let app = axum::Router::new()
            .route_service("/graphql", service.clone())
            .route_service("/graphql/stream", service.clone());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let serving = async move {
            let stopped = async { drop(stopped.await) };
            axum::serve(listener, app).with_graceful_shutdown(stopped).await.expect("it serves");
        };
        let thread = thread::spawn(move || runtime.block_on(serving));
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut wire = Wire::to(self.address);
        wire.send(request);
        wire.response()
    }

    fn socket(&self, protocol: &'static str) -> Socket {
        let mut socket = Socket::open_at(self.address, &[("sec-websocket-protocol", protocol)]);
        socket.send(INIT);
        assert_eq!(socket.next(), r#"{"type":"connection_ack"}"#);
        socket
    }

    /// A stream of events for donut 7.
    fn stream(&self) -> Wire {
        let mut wire = Wire::to(self.address);
        wire.send(post_with(
            "accept: text/event-stream\r\ncontent-type: application/json\r\n",
            &updates("7"),
        ));
        assert!(wire.until("\r\n\r\n").contains("content-type: text/event-stream"));
        wire.until(":\n\n");
        wire
    }

    fn bake(&self, name: &str) {
        let text = format!(
            r#"mutation {{ addOrUpdateDonut(donut: {{id: "7", name: "{name}", flavor: VANILLA}}) {{ name }} }}"#
        );
        let answer = self.ask(query(&text));
        assert!(
            answer.contains(&format!(r#"{{"data":{{"addOrUpdateDonut":{{"name":"{name}"}}}}}}"#)),
            "{answer}"
        );
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(thread::JoinHandle::join);
        if !thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "axum has panicked");
        }
    }
}

fn service() -> Service {
    Service::new(donuts::functions()).expect("the example is sound")
}

/// An operation that has been answered is under way before another of the same connection is answered.
fn wait_until_subscribed(socket: &mut Socket) {
    socket.send(r#"{"id":"w","type":"subscribe","payload":{"query":"{ __typename }"}}"#);
    while !socket.next().contains(r#""id":"w","type":"complete""#) {}
}

#[test]
fn requests_are_answered() {
    let hosted = Hosted::start(&service());
    for request in [
        query("{ retrieveDonut(id: \"1\") { flavor } }"),
        get("/graphql?query=%7BretrieveDonut(id:%221%22)%7Bflavor%7D%7D"),
    ] {
        assert!(hosted.ask(request).ends_with("{\"data\":{\"retrieveDonut\":{\"flavor\":\"CHOCOLATE\"}}}\n"));
    }
    assert!(hosted.ask(post_with("", "{}")).starts_with("HTTP/1.1 415"));
    assert!(hosted.ask(post(&updates("7"))).starts_with("HTTP/1.1 406"));
    // An upgrade that is none.
    let open =
        "GET /graphql HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
    assert!(hosted.ask(open).starts_with("HTTP/1.1 426"));
}

#[test]
fn subscribers_hear_events_over_sockets_and_streams() {
    let hosted = Hosted::start(&service());
    let mut socket = hosted.socket(TRANSPORT);
    socket.send(&subscribe("a", "7"));
    wait_until_subscribed(&mut socket);
    let mut legacy = hosted.socket(LEGACY);
    legacy.send(&format!(r#"{{"id":"1","type":"start","payload":{}}}"#, updates("7")));
    legacy.send(r#"{"id":"w","type":"start","payload":{"query":"{ __typename }"}}"#);
    while !legacy.next().contains(r#""id":"w","type":"complete""#) {}
    let mut stream = hosted.stream();
    for name in ["first", "second"] {
        hosted.bake(name);
        assert_eq!(socket.next(), format!(r#"{{"id":"a","type":"next","payload":{}}}"#, event(name)));
        assert_eq!(legacy.next(), format!(r#"{{"id":"1","type":"data","payload":{}}}"#, event(name)));
        stream.until(&format!("event: next\ndata: {}\n\n", event(name)));
    }
}

#[test]
fn a_reserved_stream_is_fed_from_other_connections() {
    let hosted = Hosted::start(&service());
    let request = |method: &str, query: &str, body: &str| {
        let length = body.len();
        format!(
            "{method} /graphql/stream{query} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let reserved = hosted.ask(request("PUT", "", ""));
    let token = format!("?token={}", reserved.lines().last().expect("the token is the body"));
    let mut stream = Wire::to(hosted.address);
    stream.send(request("GET", &token, ""));
    stream.until(":\n\n");
    for id in ["one", "two", "three", "four"] {
        let body = format!(r#"{{"query":"{{ __typename }}","extensions":{{"operationId":"{id}"}}}}"#);
        assert!(hosted.ask(request("POST", &token, &body)).starts_with("HTTP/1.1 202"));
        stream.until(&format!("event: complete\ndata: {{\"id\":\"{id}\"}}\n\n"));
    }
    assert!(hosted.ask(request("GET", "?token=0", "")).starts_with("HTTP/1.1 404"));
}

#[test]
fn stopping_tells_subscribers_to_come_back() {
    let service = service();
    let hosted = Hosted::start(&service);
    let mut socket = hosted.socket(TRANSPORT);
    socket.send(&subscribe("a", "7"));
    wait_until_subscribed(&mut socket);
    let mut stream = hosted.stream();
    service.stop();
    assert_eq!(socket.next(), "close 1012 the server is stopping: connect again");
    assert!(stream.until("\r\n0\r\n\r\n").contains(": the server is stopping"));
    // axum waits for nobody now; a late one hears the same.
    let mut late = Socket::open_at(hosted.address, &[("sec-websocket-protocol", TRANSPORT)]);
    assert_eq!(late.next(), "close 1012 the server is stopping: connect again");
}
