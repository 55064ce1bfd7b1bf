//! Measurements of the engine as a process of its own, driven by tools that others wrote. One subcommand a
//! question; each prints the table that `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench engine -- postgres|postgraphile|sqlite|resolvers|requests|memory|tables|roles|growth|triggers|limits`

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod data;
mod drivers;
mod growth;
mod limits;
mod memory;
mod postgres;
#[path = "../common/process.rs"]
mod process;
mod queries;
mod requests;
mod roles;
mod sqlite;
#[path = "../common/statistics.rs"]
mod statistics;
#[path = "../common/subject.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod subject;
mod tables;
mod triggers;

/// Alternating rounds of each comparison; the median is quoted.
const ROUNDS: usize = 5;
/// Seconds of each driver's run.
const SECONDS: u32 = 4;

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("postgres") => postgres::against_pgbench(),
        Some("postgraphile") => postgres::against_postgraphile(),
        Some("sqlite") => sqlite::against_bare_loop(),
        Some("resolvers") => sqlite::resolver_models(),
        Some("requests") => requests::cold_and_warm(),
        Some("memory") => memory::flat(),
        Some("tables") => tables::five_thousand(),
        Some("roles") => roles::eleven(),
        Some("growth") => growth::by_table_size(),
        Some("triggers") => triggers::cost(),
        Some("limits") => limits::exactness(),
        _ => println!(
            "name a measurement: postgres, postgraphile, sqlite, resolvers, requests, memory, tables, roles, growth, triggers, limits"
        ),
    }
}
