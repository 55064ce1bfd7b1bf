//! Starting where somebody is already, and stopping while somebody is served.

use std::{
    io::Write as _,
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use prony_server::runtime;
use prony_testkit::chinook::sqlite_copy;

use crate::{
    sockets::Socket,
    support::{PATIENCE, Server, Wire, post_with, query, settings},
};

/// Returns once the server has begun to stop.
fn until_nobody_listens(address: SocketAddr) {
    while TcpStream::connect(address).is_ok() {}
}

/// Asks until the server has heard that it stops, and says so; that response.
fn last_response(wire: &mut Wire, request: &str) -> String {
    loop {
        wire.send(request);
        let response = wire.response();
        if response.contains("connection: close") {
            return response;
        }
    }
}

/// Connections without a request were closed at once, and what their clients were just sending was lost.
#[test]
fn a_request_that_comes_after_the_signal_is_the_last_of_its_connection() {
    let server = Server::with(|settings| {
        settings.grace = 3 * PATIENCE;
        settings.idle_grace = PATIENCE;
    });
    let address = server.address();
    let simple = query("{ __typename }");
    // With a header that is hyper's.
    let headers = "content-type: application/json\r\nconnection: any\r\n";
    let by_hyper = post_with(headers, r#"{"query":"{ __typename }"}"#);
    let [unused, mut kept, mut kept_by_hyper] = [(); 3].map(|()| server.connect());
    for (wire, request) in [(&mut kept, &simple), (&mut kept_by_hyper, &by_hyper)] {
        wire.send(request);
        let response = wire.response();
        assert!(!response.contains("connection: close"), "{response}");
    }
    let stopping = std::thread::spawn(move || server.running.stop());
    until_nobody_listens(address);
    for (mut wire, request) in [(unused, &simple), (kept, &simple), (kept_by_hyper, &by_hyper)] {
        let response = last_response(&mut wire, request);
        assert!(response.contains("Query"), "{response}");
        assert_eq!(wire.rest(), "");
    }
    stopping.join().expect("it stops");
}

#[test]
fn a_client_that_sends_slowly_does_not_keep_the_server() {
    let server = Server::with(|settings| settings.grace = Duration::from_millis(100));
    let mut slow = server.connect();
    let stopping = std::thread::spawn(move || server.running.stop());
    // Never silent, and never at the end of a head.
    let bytes = b"GET /health HTTP/1.1\r\nhost: localhost\r\nslow: ".iter().chain(std::iter::repeat(&b'a'));
    for byte in bytes {
        if stopping.is_finished() || slow.stream.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    stopping.join().expect("it stops");
}

#[test]
fn requests_in_flight_finish_and_their_connections_close() {
    let server = Server::start();
    let address = server.address();
    let mut idle = server.connect();
    idle.send(query("{ __typename }"));
    idle.response();
    let mut busy = server.connect();
    let request = query("{ artists(limit: 1) { Name } }");
    let (first, rest) = request.split_at(request.len() - 10);
    // The server has the headers, and answers only when it has the body.
    busy.send(format!("{}{first}", query("{ __typename }")));
    busy.response();
    let stopping = std::thread::spawn(move || server.running.stop());
    assert_eq!(idle.rest(), "", "an idle connection is closed");
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
    busy.send(rest);
    let response = busy.response();
    assert!(response.contains("AC/DC"), "{response}");
    assert!(response.contains("connection: close"), "its client sends nothing more: {response}");
    assert_eq!(busy.rest(), "");
    stopping.join().expect("it stops");
}

/// A request that one core has in flight does not keep another core's sockets and streams from hearing of the end.
#[test]
fn who_is_in_flight_keeps_nobody_waiting() {
    let server = Server::donuts(|_| {});
    // New connections go to the core that has the fewest: each has two of each kind.
    let request = query("{ __typename }");
    let mut busy = [server.connect(), server.connect()];
    for wire in &mut busy {
        wire.send(&request[..request.len() - 3]);
    }
    let mut sockets = [Socket::ready(&server), Socket::ready(&server)];
    let mut streams = [server.connect(), server.connect()];
    for stream in &mut streams {
        let events = "accept: text/event-stream\r\ncontent-type: application/json\r\n";
        let updates = r#"{"query":"subscription { onDonutUpdated(id: \"7\") { id } }"}"#;
        stream.send(post_with(events, updates));
        stream.until(":\n\n");
    }
    let stopping = std::thread::spawn(move || server.running.stop());
    for socket in &mut sockets {
        assert_eq!(socket.next(), "close 1012 the server is stopping: connect again");
        assert_eq!(socket.next(), "(closed)");
    }
    for stream in &mut streams {
        assert!(stream.rest().contains(": the server is stopping; connect again\n\n\r\n0\r\n\r\n"));
    }
    for wire in &mut busy {
        wire.send(&request[request.len() - 3..]);
        assert!(wire.response().contains("Query"));
    }
    stopping.join().expect("it stops");
}

#[test]
fn the_grace_ends() {
    let server = Server::with(|settings| settings.grace = Duration::from_millis(50));
    let mut stuck = server.connect();
    let request = query("{ __typename }");
    stuck.send(&request[..request.len() - 3]);
    server.running.stop();
    assert_eq!(stuck.rest(), "");
}

#[test]
fn a_second_server_on_the_port_says_who_holds_it() {
    let server = Server::start();
    let address = server.address();
    let database = sqlite_copy();
    let error = runtime::start(settings(&database.path(), |settings| settings.listen = vec![address]))
        .expect_err("the port is taken");
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot listen on {address}: the port is in use")), "{text}");
    assert!(text.contains("try --listen 127.0.0.1:"), "{text}");
}

#[test]
fn several_addresses_are_served() {
    let server =
        Server::with(|settings| settings.listen = vec![settings.listen[0], ([127, 0, 0, 1], 0).into()]);
    for &address in server.running.addresses() {
        let mut wire = Wire::to(address);
        wire.send(query("{ __typename }"));
        assert!(wire.response().contains("\"Query\""));
    }
}
