//! Measurements of the property graph over HTTP: `prony serve graph:DIR` on one processor, our load on the other, nginx
//! answering a constant of the same size in turn as the ceiling. One subcommand a question; each prints the table that
//! `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench graph -- get|relationships|create|sustained|start|import`
//!
//! Needs nginx, openssl and taskset, `import` none of them. The graphs of 3,000,000 nodes are made once and kept in `target/tmp/graph`.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod create;
mod data;
mod import;
mod load;
#[path = "../common/nginx.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod nginx;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
mod read;
mod start;
#[path = "../common/statistics.rs"]
mod statistics;
#[path = "../common/subject.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod subject;
mod sustained;
#[path = "../common/tool.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod tool;

/// Alternating rounds of each comparison; the median is quoted.
const ROUNDS: usize = 5;
/// Of each run.
const SECONDS: u32 = 4;
/// The server's processor and the load's.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";
/// The study's.
const CONNECTIONS: u32 = 192;

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("get") => read::nodes(),
        Some("relationships") => read::relationships(),
        Some("create") => create::by_durability(),
        Some("sustained") => sustained::with_a_snapshot(),
        Some("start") => start::from_snapshots(),
        Some("import") => import::of_csv(),
        _ => println!("name a measurement: get, relationships, create, sustained, start, import"),
    }
}
