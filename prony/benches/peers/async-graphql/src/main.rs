//! Prony's examples donuts and music on async-graphql and axum: the same schemas, data, requests and answers.
//!
//! `peer-async-graphql serve donuts|music current|multi` listens on a free port and prints it; the last word is the kind
//! of tokio's runtime. `peer-async-graphql functions` prints the figures of the micro-benchmarks, as Prony's own
//! `cargo bench -p prony-server --bench functions` measures them. `peer-async-graphql answers` prints what is answered.

#[path = "../../../../../engine/server/src/observe/allocations.rs"]
mod allocations;
mod donuts;
#[path = "../../../../../engine/server/src/examples/micro.rs"]
mod micro;
mod music;

use std::error::Error;

use async_graphql::Request;
use axum::{Router, routing::post_service};
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: allocations::CountingAllocator = allocations::CountingAllocator;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", example, runtime] => serve(example, &runtime_of(runtime)?),
        ["functions"] => functions(&runtime_of("current")?),
        ["answers"] => answers(&runtime_of("current")?),
        _ => Err("serve donuts|music current|multi, functions, or answers".into()),
    }
}

fn runtime_of(kind: &str) -> std::io::Result<Runtime> {
    match kind {
        "multi" => Builder::new_multi_thread().enable_all().build(),
        _ => Builder::new_current_thread().enable_all().build(),
    }
}

fn serve(example: &str, runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    runtime.block_on(async {
        let app = match example {
            "donuts" => donuts::routes(),
            _ => Router::new().route("/graphql", post_service(async_graphql_axum::GraphQL::new(music::schema()))),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        axum::serve(axum::serve::ListenerExt::tap_io(listener, |socket| drop(socket.set_nodelay(true))), app).await?;
        Ok(())
    })
}

/// From the bytes of a request to the bytes of its answer.
fn ask(runtime: &Runtime, schema: &music::MusicSchema, request: &[u8]) -> Vec<u8> {
    runtime.block_on(async {
        let request: Request = serde_json::from_slice(request).expect("the request is JSON");
        serde_json::to_vec(&schema.execute(request).await).expect("answers are JSON")
    })
}

fn functions(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let schema = music::schema();
    let ask = |request: &[u8]| ask(runtime, &schema, request);
    let subject = micro::Subject { ask: &ask, allocations: allocations::allocations };
    for case in &micro::CASES {
        println!("{} {}", case.name, subject.row(case).join(" "));
    }
    Ok(())
}

fn answers(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let schema = music::schema();
    for case in &micro::CASES {
        println!("{} {}", case.name, String::from_utf8(ask(runtime, &schema, &case.request(None)))?);
    }
    Ok(())
}
