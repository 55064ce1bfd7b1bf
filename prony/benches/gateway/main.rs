//! Measurements of the GraphQL gateway: `prony serve` with another GraphQL server behind it, on one processor, load and backend on
//! the other. One subcommand a question; each prints the table that `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench gateway -- proxy|hive|stages|stall|slow-clients|memory`
//!
//! Needs taskset; `proxy`, `hive` and `memory` wrk, the first two nginx and openssl, `hive` also node and npm;
//! `slow-clients` some 12,000 open files (`ulimit -Hn`).

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod backend;
mod gateway;
mod hive;
mod memory;
#[path = "../common/nginx.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod nginx;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
mod proxy;
mod slow;
mod stages;
mod stall;
#[path = "../common/statistics.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod statistics;
mod study;
#[path = "../common/subject.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod subject;
#[path = "../common/tool.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod tool;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Alternating rounds of each comparison; the median is quoted.
const ROUNDS: usize = 5;
/// Of each run.
const SECONDS: u32 = 4;
/// The gateway's processor, and that of load and backend.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";

fn main() {
    let mut processors = CpuSet::new();
    processors.set(TOOL_CORE.parse().expect("it is a number"));
    sched_setaffinity(None, &processors).expect("there are two processors");
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("proxy") => proxy::beside_nginx(),
        Some("hive") => hive::beside_hive(),
        Some("stages") => stages::by_operation(),
        Some("stall") => stall::beside_the_backend(),
        Some("slow-clients") => slow::beside_fast_ones(),
        Some("memory") => memory::over_many_requests(),
        _ => println!("name a measurement: proxy, hive, stages, stall, slow-clients, memory"),
    }
}
