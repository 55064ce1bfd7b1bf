//! Large responses of upstreams, which the gateway sends on from where they were read.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use prony_testkit::peer::{ScriptedPeer, Step};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::{
    SDL, directory, ok,
    server::{PATIENCE, Server},
};

const ORIGIN: &str = "https://pages.example";

/// Around the sizes at which something changes: a piece of memory, what is read at once, what is sent at once.
const BODY_BYTES: [usize; 10] = [40, 4_095, 4_096, 4_097, 16_384, 70_001, 33, 262_144, 3_000_000, 5_000];

fn body(bytes: usize) -> String {
    let (begin, end) = (r#"{"data":{"two":{"name":""#, r#""}}}"#);
    let length = bytes.saturating_sub(begin.len() + end.len());
    let name: String = ('a'..='z').step_by(3).cycle().take(length).collect();
    [begin, &name, end].concat()
}

/// A client that takes a little at a time.
fn slow_reader(address: &str) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("sockets can be made");
    socket.set_recv_buffer_size(4_096).expect("it is a small buffer");
    let address: SocketAddr = address.parse().expect("it is an address");
    socket.connect(&address.into()).expect("it listens");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
    stream
}

/// Requests that come together are answered in order, byte for byte, and the log knows how long each response was.
#[test]
fn large_responses_are_whole_and_in_order() {
    let directory = directory();
    let (schema, log) = (directory.path().join("schema.graphql"), directory.path().join("access.log"));
    fs::write(&schema, SDL).expect("the file can be written");
    let bodies = BODY_BYTES.map(body);
    let steps = bodies.iter().flat_map(|body| [Step::ReadRequest, Step::Write(ok(body))]);
    let peer = ScriptedPeer::start(vec![steps.collect()]);
    let gateway = Server::configured(
        &directory,
        &format!(
            "[server]\ncors_origins = [\"{ORIGIN}\"]\n[log]\naccess_log = {log:?}\n[[source]]\nname = \"peer\"\n\
             upstream = \"{}/graphql\"\nschema_file = {schema:?}\n",
            peer.url()
        ),
    );
    let query = json!({ "query": "{ two(id: 1) { name } }" }).to_string();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\norigin: {ORIGIN}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{query}",
        query.len()
    );
    let mut stream = slow_reader(&gateway.address);
    stream.write_all(request.repeat(bodies.len()).as_bytes()).expect("it reads");
    let (mut received, mut piece) = (Vec::new(), [0; 3_000]);
    for (index, expected) in bodies.iter().enumerate() {
        let end = loop {
            let head_end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            if let Some(head_end) = head_end.filter(|end| received.len() >= end + 4 + expected.len()) {
                break head_end;
            }
            let count = stream.read(&mut piece).expect("it responds");
            assert!(count > 0, "it ended within response {index}");
            received.extend_from_slice(&piece[..count]);
        };
        let head = String::from_utf8_lossy(&received[..end + 2]).to_lowercase();
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", expected.len())), "{index}: {head}");
        assert!(head.contains(&format!("\r\naccess-control-allow-origin: {ORIGIN}\r\n")), "{index}: {head}");
        let body = &received[end + 4..end + 4 + expected.len()];
        assert!(body == expected.as_bytes(), "response {index} is another one");
        received.drain(..end + 4 + expected.len());
    }
    assert!(received.is_empty(), "{} bytes too many", received.len());
    gateway.wait_until("all lines are written", |_| lines(&log).len() == bodies.len());
    let logged: Vec<usize> =
        lines(&log).iter().map(|line| line["bytes"].as_u64().expect("it is told") as usize).collect();
    assert_eq!(logged, bodies.each_ref().map(String::len));
}

fn lines(log: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("lines are JSON")).collect()
}
