//! Measurements of `prony run` beside tools that others wrote, against targets that others wrote. One subcommand a
//! question; each prints the table that `docs/benchmarks.md` quotes. Target and tool have one processor each.
//!
//! `cargo bench -p prony --bench load -- closed|rate|lua|tls|http2|users|find|compare|k6|k6-memory|k6-init|k6-agreement|k6-arrivals|outputs|live`
//!
//! Needs nginx, wrk and openssl; `http2` h2load; those of scripts k6, and they pin nothing; `tls` and `http2` oha, where it is found.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod arrivals;
mod closed;
mod live;
#[path = "../common/nginx.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod nginx;
mod outputs;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
mod rate;
mod repeats;
mod scripts;
mod secure;
#[path = "../common/statistics.rs"]
mod statistics;
#[path = "../common/tool.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod tool;
mod users;

/// Alternating rounds of each comparison; the median is quoted.
const ROUNDS: usize = 5;
/// Of each run.
const SECONDS: u32 = 3;
/// The target's processor and the tools'.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("closed") => closed::by_connections_and_size(),
        Some("lua") => closed::with_a_script(),
        Some("rate") => rate::kept(),
        Some("tls") => secure::http1_over_tls(),
        Some("http2") => secure::http2(),
        Some("find") => repeats::find(),
        Some("compare") => repeats::compare(),
        Some("users") => users::memory_of_sleepers(),
        Some("k6") => scripts::beside_k6(),
        Some("k6-memory") => scripts::memory_of_users(),
        Some("k6-init") => scripts::init_of_users(),
        Some("k6-agreement") => scripts::agreement(),
        Some("k6-arrivals") => arrivals::rates(),
        Some("outputs") => outputs::cost(),
        Some("live") => live::cost(),
        _ => println!(
            "name a measurement: closed, lua, rate, tls, http2, users, find, compare, k6, k6-memory, k6-init, \
             k6-agreement, k6-arrivals, outputs, live"
        ),
    }
}
