//! Measurements of series over NGSI: notifications beside nginx with a constant answer, beside QuestDB's own line protocol, and beside
//! `COPY`, a day in twenty minutes, and 10,000,000 rows beside `InfluxDB` and `DuckDB`. One subcommand a question; each prints the table that
//! `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench series -- notify|lines|copy|day|stores`
//!
//! Needs taskset and wrk; `notify` nginx, `lines` Java and Maven, `copy` a PostgreSQL with its defaults, whose address `POSTGRES` has
//! (`postgres://…`): it gets a database of its own, which goes again; `stores` `influxd` 1.x, and a Python with `DuckDB`, which `PYTHON`
//! names.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod bodies;
mod copy;
mod day;
mod lines;
#[path = "../common/nginx.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod nginx;
mod notify;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
#[path = "../common/statistics.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod statistics;
mod stores;
#[path = "../common/subject.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod subject;
#[path = "../common/tool.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod tool;
mod wrk;

/// Alternating rounds of each comparison; the median is quoted.
const ROUNDS: usize = 5;
/// Of each run.
const SECONDS: u32 = 4;
/// The server's processor and the load's, where each has one.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("notify") => notify::beside_nginx(),
        Some("lines") => lines::beside_questdb(),
        Some("copy") => copy::beside_copy(),
        Some("day") => day::in_twenty_minutes(),
        Some("stores") => stores::beside_each_other(),
        _ => println!("name a measurement: notify, lines, copy, day, stores"),
    }
}
