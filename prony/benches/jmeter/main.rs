//! Measurements of `prony run PLAN.jmx` beside Apache JMeter, and of its files. One subcommand a question; each prints the table that
//! `docs/benchmarks.md` quotes, but for `plans`.
//!
//! `cargo bench -p prony --bench jmeter -- plans|load|start|jtl [--gigabytes N]`
//!
//! `plans` has JMeter write the tables with which the tests compare Prony's rows (`tests/jmeter/compared`). `plans` and `load` need Java
//! and Maven, which fetches JMeter once; `load` also taskset, nginx and openssl.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod jtl;
mod load;
#[path = "../common/nginx.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod nginx;
mod plans;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
#[path = "../../tests/jmeter/site.rs"]
mod site;
mod start;
#[path = "../common/statistics.rs"]
mod statistics;
mod studies;
#[path = "../../tests/jmeter/table.rs"]
mod table;

/// The target's processor and the tools'.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";
/// The program that is measured.
const PRONY: &str = env!("CARGO_BIN_EXE_prony");

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("plans") => plans::written_by_jmeter(&arguments[1..]),
        Some("load") => load::beside_jmeter(),
        Some("start") => start::of_a_long_plan(),
        Some("jtl") => jtl::read(gigabytes(&arguments)),
        _ => println!("name a measurement: plans, load, start, jtl"),
    }
}

fn gigabytes(arguments: &[String]) -> f64 {
    let given = arguments.iter().position(|argument| argument == "--gigabytes");
    let value = given.and_then(|at| arguments.get(at + 1)).map_or("1", String::as_str);
    value.parse().unwrap_or_else(|_| panic!("--gigabytes takes a number, not `{value}`"))
}
