//! Measurements of `prony run PLAN.jmx` beside Apache JMeter, and of its files. One subcommand a question; each prints the table that
//! `docs/benchmarks.md` quotes, but for `plans`.
//!
//! `cargo bench -p prony --bench jmeter -- plans|load [--rounds N]|instructions|start|jtl [--gigabytes N]`
//!
//! `plans` has JMeter write the tables with which the tests compare Prony's rows (`tests/jmeter/compared`). `plans` and `load` need Java
//! and Maven, which fetches JMeter once; `load` also taskset, nginx and openssl, as `instructions` does beside valgrind.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod instructions;
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

use std::str::FromStr;

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
        Some("load") => load::beside_jmeter(number(&arguments, "--rounds", load::ROUNDS)),
        Some("instructions") => instructions::of_a_request(),
        Some("start") => start::of_a_long_plan(),
        Some("jtl") => jtl::read(number(&arguments, "--gigabytes", 1.0)),
        _ => println!("name a measurement: plans, load, instructions, start, jtl"),
    }
}

/// What is given behind a flag.
fn number<T: FromStr>(arguments: &[String], flag: &str, default: T) -> T {
    let given = arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1));
    given.map_or(default, |value| {
        value.parse().unwrap_or_else(|_| panic!("{flag} takes a number, not `{value}`"))
    })
}
