//! Calls on a graph are answered on the fast path, others by hyper: what is answered where must not be seen.

use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
};

use super::Graph;
use crate::support::{self, Wire};

const HOST: &str = "HTTP/1.1\r\nhost: localhost\r\n";

/// Requests that both answer, in turns, each with what its answer begins with and holds. They change nothing that another
/// is asked for.
fn mixed() -> Vec<(String, [&'static str; 2])> {
    let get = |path: &str| format!("GET {path} {HOST}\r\n");
    vec![
        (get("/db/rage/node/User/Max"), ["HTTP/1.1 200 OK", "\"key\": \"Max\""]),
        (support::query("{ graph_nodes { _key } }"), ["HTTP/1.1 200 OK", "{\"data\":{\"graph_nodes\":["]),
        (get("/db/rage/node/User/Max/relationships"), ["HTTP/1.1 200 OK", "\"type\": \"FRIEND\""]),
        (get("/db/rage/node/User/Nobody"), ["HTTP/1.1 404 Not Found", ""]),
        (format!("HEAD /db/rage/node/User/Nobody {HOST}\r\n"), ["HTTP/1.1 404 Not Found", ""]),
        (format!("POST /db/rage/node/User/Max {HOST}\r\n"), ["HTTP/1.1 400 Bad Request", "Invalid Request"]),
        (
            format!("PUT /db/rage/node/User/Max/properties {HOST}content-length: 10\r\n\r\n{{\"age\": 7}}"),
            ["HTTP/1.1 204 No Content", ""],
        ),
        (get("/db/rage/node/User/Max/property/age"), ["HTTP/1.1 200 OK", "{\"age\": 7}"]),
        (
            format!(
                "POST /db/rage/nodes/User/age/EQ {HOST}expect: 100-continue-not\r\ncontent-length: 1\r\n\r\n7"
            ),
            ["HTTP/1.1 200 OK", "\"key\": \"Max\""],
        ),
        (get("/db/rage/elsewhere"), ["HTTP/1.1 404 Not Found", "\"Not found\""]),
        (get("/nowhere"), ["HTTP/1.1 404 Not Found", "\"Not found\""]),
        (get("/db/rage/node/User/Max/degree"), ["HTTP/1.1 200 OK", "{\"degree\": 1}"]),
        (
            format!(
                "PUT /db/rage/node/User/Max/property/age {HOST}transfer-encoding: chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n"
            ),
            ["HTTP/1.1 204 No Content", ""],
        ),
        (get("/db/rage/node/User/Max"), ["HTTP/1.1 200 OK", "\"properties\": {\"age\": 7}"]),
    ]
}

/// Behind such a response hyper closed the connection without a word, where the body came later than the head.
#[test]
fn a_body_that_nobody_asked_for_leaves_the_connection_open() {
    let graph = graph();
    let node = format!("GET /db/rage/node/User/Max {HOST}\r\n");
    for first in [node.clone(), support::query("{ graph_nodes { _key } }")] {
        let mut wire = Wire::to(graph.address());
        wire.send(first);
        assert!(wire.response().starts_with("HTTP/1.1 200 OK"));
        for path in ["/db/elsewhere/nodes", "/db/elsewhere/node/User/Max", "/nowhere"] {
            wire.send(format!("POST {path} {HOST}content-length: 2\r\n\r\n"));
            wire.send("{}");
            let answer = wire.response();
            assert!(answer.starts_with("HTTP/1.1 404 Not Found"), "{path}\n{answer}");
        }
        wire.send(&node);
        assert!(wire.response().starts_with("HTTP/1.1 200 OK"));
    }
}

fn graph() -> Graph {
    let mut graph = Graph::start();
    for request in [
        "POST /schema/nodes/User/properties/age/integer",
        r#"POST /node/User/Max {"age": 7}"#,
        "POST /node/User/Helene",
        "POST /node/User/Max/relationship/User/Helene/FRIEND",
    ] {
        assert!(graph.ask(request).starts_with("201"), "{request}");
    }
    graph
}

/// Sends the requests as `pieces` cuts them, and holds the answers against what is expected.
fn check(graph: &Graph, requests: &[(String, [&str; 2])], pieces: impl Fn(&[u8]) -> Vec<Vec<u8>>) {
    let mut wire = Wire::to(graph.address());
    let whole: String = requests.iter().map(|(request, _)| request.as_str()).collect();
    for piece in pieces(whole.as_bytes()) {
        wire.send(piece);
    }
    for (request, [begin, part]) in requests {
        let answer = wire.response();
        assert!(answer.starts_with(begin) && answer.contains(part), "{request}\n{answer}");
    }
}

#[test]
fn answers_come_in_order_wherever_the_requests_are_cut() {
    let graph = graph();
    let requests = mixed();
    let bytes: usize = requests.iter().map(|(request, _)| request.len()).sum();
    check(&graph, &requests, |whole| vec![whole.to_vec()]);
    check(&graph, &requests, |whole| whole.iter().map(|byte| vec![*byte]).collect());
    for cut in (1..bytes).step_by(7) {
        check(&graph, &requests, |whole| vec![whole[..cut].to_vec(), whole[cut..].to_vec()]);
    }
}

#[test]
fn requests_one_after_the_other_are_answered_by_both() {
    let graph = graph();
    let mut wire = Wire::to(graph.address());
    for _ in 0..3 {
        for (request, [begin, part]) in mixed() {
            wire.send(&request);
            let answer = wire.response();
            assert!(answer.starts_with(begin) && answer.contains(part), "{request}\n{answer}");
        }
    }
}

#[test]
fn more_requests_than_a_buffer_holds_are_all_answered() {
    let graph = graph();
    let mut wire = Wire::to(graph.address());
    let many = 5000;
    let requests = format!("GET /db/rage/node/User/Max {HOST}\r\n").repeat(many);
    let mut sender = wire.stream.try_clone().expect("a socket can be cloned");
    let sending = std::thread::spawn(move || sender.write_all(requests.as_bytes()));
    for _ in 0..many {
        assert!(wire.response().contains("\"key\": \"Max\""));
    }
    sending.join().expect("the thread ends").expect("the server reads");
}

#[test]
fn a_client_that_ends_sending_gets_its_answer() {
    let graph = graph();
    for request in ["GET /db/rage/node/User/Max", "POST /db/rage/node/User/Another"] {
        let wire = Wire::to(graph.address());
        let mut stream = wire.stream;
        stream.write_all(format!("{request} {HOST}\r\n").as_bytes()).expect("the server reads");
        stream.shutdown(Shutdown::Write).expect("the socket is open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers and closes");
        assert!(answer.starts_with("HTTP/1.1 20") && answer.contains("\"type\": \"User\""), "{answer}");
    }
}

#[test]
fn a_write_that_is_waited_for_is_answered_before_the_server_stops() {
    let graph = graph();
    let mut wires: Vec<Wire> = (0..64).map(|_| Wire::to(graph.address())).collect();
    for (number, wire) in wires.iter_mut().enumerate() {
        wire.send(format!("POST /db/rage/node/User/{number} {HOST}\r\n"));
    }
    // The first answer says that all connections were taken: they wait in one line for their core.
    for wire in &mut wires[..2] {
        assert!(wire.response().starts_with("HTTP/1.1 201 Created"));
    }
    let graph = graph.restart();
    for wire in &mut wires[2..] {
        let rest = wire.rest();
        // A connection that was not taken before the stop is closed without a word.
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 201 Created"), "{rest}");
        assert!(rest.is_empty() || rest.ends_with("{}}"), "{rest}");
    }
    drop(graph);
}
