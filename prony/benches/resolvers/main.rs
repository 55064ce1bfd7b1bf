//! Measurements of functions as a GraphQL API, `prony example donuts` and `music`: beside REST in the same process, nginx
//! and async-graphql, and what subscriptions cost. One subcommand a question; each prints the tables that
//! `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench resolvers -- rest|peer|fanout|idle|memory`
//!
//! Needs nginx, openssl, wrk and taskset; `peer` builds its peer with cargo.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tables are what a benchmark is for, and some take minutes"
)]

mod fanout;
mod idle;
mod memory;
#[path = "../common/nginx.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod nginx;
mod peer;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
mod requests;
mod rest;
mod socket;
#[path = "../common/statistics.rs"]
mod statistics;
#[path = "../common/subject.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod subject;
#[path = "../common/tool.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod tool;

use prony_server::observe::allocations::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Alternating rounds of each comparison; the median is quoted.
const ROUNDS: usize = 5;
/// Of each run.
const SECONDS: u32 = 4;
/// The server's processor and the load's.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";
const CONNECTIONS: u32 = 64;

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("rest") => rest::beside_rest_and_nginx(),
        Some("peer") => peer::beside_async_graphql(),
        Some("functions") => peer::print_functions(),
        Some("fanout") => fanout::to_half(),
        Some("idle") => idle::subscriptions(),
        Some("memory") => memory::flat(),
        _ => println!("name a measurement: rest, peer, functions (of ours alone), fanout, idle, memory"),
    }
}
