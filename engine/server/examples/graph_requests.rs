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
//! number, `hyper` sends a header that keeps requests from being answered on the fast path.

#[path = "common/asking.rs"]
mod asking;

use std::{error::Error, net::SocketAddr, path::Path};

use prony_graph::GraphKind;
use prony_graph_store::{Durability, Options, Store};
use prony_server::{
    config::{self, CommandLine, CoreChoice},
    runtime,
};

const NODES: usize = 4096;
/// Relationships of each node, half of them incoming.
const DEGREE: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "get-node".to_owned());
    let requests: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let header = asking::way(arguments.next().as_deref());
    let directory = tempfile::tempdir()?;
    fill(&directory.path().join("rage"))?;
    let text = format!("[[source]]\nurl = \"graph:{}\"\ndurability = \"off\"\n", directory.path().display());
    let file = Some((Path::new("prony.toml"), &*text));
    let mut settings = config::load(&[&GraphKind], file, CommandLine::default(), &|_| None)?;
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    settings.cores = CoreChoice::Count(1);
    let running = runtime::start(settings)?;
    asking::ask(running.addresses()[0], requests, |number| request((&kind, header), number))?;
    running.stop();
    Ok(())
}

/// Nodes 0, 1, 2, … in a ring, each with relationships to those that follow it.
fn fill(directory: &Path) -> Result<(), Box<dyn Error>> {
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
