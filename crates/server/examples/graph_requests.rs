//! How many instructions a call on a graph takes: one core, one database without durability, and a client on a thread of
//! its own, all in this process, over sockets and the server's own connection code. Made for
//!
//! ```text
//! cargo build --release -p prony-server --example graph_requests
//! valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file=/tmp/calls \
//!     target/release/examples/graph_requests get-node 10000
//! callgrind_annotate /tmp/calls-0N
//! ```
//!
//! where `0N` is the thread of the core, which `callgrind` numbers in the order of their start. What the start costs goes
//! out of the difference of two runs. Kinds: `get-node`, `get-relationships`, `post-node`, `post-relationship`; behind the
//! number, `hyper` sends a header that keeps requests from being answered beside hyper.

use std::{
    error::Error,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use prony_graph_store::{Durability, Options, Store};
use prony_server::{
    config::{self, CommandLine, CoreChoice},
    runtime,
};

/// Requests of one round, each over a connection of its own: they share the look for what has come, as under load.
const CONNECTIONS: usize = 16;
const NODES: usize = 4096;
/// Relationships of each node, half of them incoming.
const DEGREE: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "get-node".to_owned());
    let requests: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let header = if arguments.next().is_some_and(|way| way == "hyper") { "Connection: any\r\n" } else { "" };
    let directory = tempfile::tempdir()?;
    fill(&directory.path().join("rage"))?;
    let sources = vec![format!("graph:{}", directory.path().display())];
    let mut settings = config::load(None, CommandLine { sources, flags: Vec::new() }, &|_| None)?;
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    settings.cores = CoreChoice::Count(1);
    settings.sources[0].graph.durability = Durability::Off;
    let running = runtime::start(settings)?;
    ask(running.addresses()[0], (&kind, header), requests)?;
    running.stop();
    Ok(())
}

/// Nodes 0, 1, 2, … in a ring, each with relationships to those that follow it.
fn fill(directory: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let store = Store::open(directory, Options::new(Durability::Off))?;
    store.write_and_wait(|write| {
        let nodes: Vec<_> = (0..NODES)
            .map(|key| write.create_node("User", &key.to_string(), &[]))
            .collect::<Result<_, _>>()?;
        for (place, from) in nodes.iter().enumerate() {
            for step in 1..=DEGREE / 2 {
                write.create_relationship("FRIEND", *from, nodes[(place + step) % NODES], &[])?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn ask(address: SocketAddr, asked: (&str, &str), requests: usize) -> Result<(), Box<dyn Error>> {
    let mut connections: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
        .collect::<std::io::Result<_>>()?;
    let mut received = [0; 4096];
    for first in (0..requests).step_by(CONNECTIONS) {
        for (connection, number) in connections.iter_mut().zip(first..requests) {
            connection.write_all(request(asked, number)?.as_bytes())?;
        }
        for (connection, _) in connections.iter_mut().zip(first..requests) {
            // Answers are short, and each goes out in one piece.
            let bytes = connection.read(&mut received)?;
            if !received[..bytes].starts_with(b"HTTP/1.1 20") {
                return Err(format!("not answered: {}", String::from_utf8_lossy(&received[..bytes])).into());
            }
        }
    }
    Ok(())
}

fn request((kind, header): (&str, &str), number: usize) -> Result<String, String> {
    let node = number % NODES;
    let call = match kind {
        "get-node" => format!("GET /db/rage/node/User/{node}"),
        "get-relationships" => format!("GET /db/rage/node/User/{node}/relationships"),
        "post-node" => format!("POST /db/rage/node/User/{}", NODES + number),
        "post-relationship" => {
            format!("POST /db/rage/node/User/{node}/relationship/User/{}/FRIEND", number * 7 % NODES)
        }
        _ => {
            return Err(format!(
                "`{kind}` is no kind: get-node, get-relationships, post-node, post-relationship"
            ));
        }
    };
    Ok(format!("{call} HTTP/1.1\r\nHost: 127.0.0.1:7243\r\n{header}\r\n"))
}
