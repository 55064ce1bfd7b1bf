//! How many instructions a request to functions takes, as GraphQL and as REST: donuts on one core, and a client on a
//! thread of its own, all in this process, over sockets and the server's own connection code. Made for
//!
//! ```text
//! cargo build --release -p prony-server --example function_requests
//! valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file=/tmp/calls \
//!     target/release/examples/function_requests graphql 10000
//! callgrind_annotate /tmp/calls-0N
//! ```
//!
//! where `0N` is the thread of the core, as in `graph_requests`, and what the start costs goes out of the difference of
//! two runs. Kinds: `graphql`, `graphql-variable`, `rest`; behind the number, `hyper` sends a header that keeps requests
//! from being answered on the fast path.

#[path = "common/asking.rs"]
mod asking;

use std::{error::Error, net::SocketAddr};

use prony_server::{
    config::{CoreChoice, Settings},
    examples::donuts,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "graphql".to_owned());
    let requests: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let request = request(&kind, asking::way(arguments.next().as_deref()))?;
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let settings = Settings { listen, cores: CoreChoice::Count(1), ..Settings::default() };
    let running = donuts::server(settings).start()?;
    asking::ask(running.addresses()[0], requests, |_| Ok(request.clone()))?;
    running.stop();
    Ok(())
}

/// What `cargo bench -p prony --bench resolvers -- rest` asks.
fn request(kind: &str, header: &str) -> Result<String, String> {
    let body = match kind {
        "graphql" => r#"{"query":"{ retrieveDonut(id: \"1\") { id name flavor } }","variables":{}}"#,
        "graphql-variable" => {
            r#"{"query":"query Donut($id: String!) { retrieveDonut(id: $id) { id name flavor } }","variables":{"id":"1"}}"#
        }
        "rest" => return Ok(format!("GET /api/donuts/1 HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n{header}\r\n")),
        _ => return Err(format!("`{kind}` is no kind: graphql, graphql-variable, rest")),
    };
    let length = body.len();
    Ok(format!(
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1:3000\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{header}\r\n{body}"
    ))
}
