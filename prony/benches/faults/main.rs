//! What clients that write see of a fault, and what is left of what they were told: for each fault what they were answered, how long until a
//! write succeeded again, and that nothing acknowledged is lost, nothing refused is there, and nothing is there in part. Prints the table that
//! `docs/benchmarks.md` quotes, and ends with 1 where something is lost, where a fault was not felt, and where a client is not served again.
//!
//! `cargo bench -p prony --bench faults -- [graph|postgres] [--clients N] [--group GROUP] [--only TEXT]`
//!
//! `--only` takes the faults whose name has the text, `--group` those of a group: of a graph `process`, `log`, `snapshots`, `starts` and `rot`, of
//! PostgreSQL `database`. Needs taskset, strace, PostgreSQL and `PgBouncer`: the server has one processor, clients and
//! databases the other.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod clients;
mod graph;
mod injection;
mod network;
mod postgres;
#[path = "../common/process.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod process;
mod syscalls;
mod table;

use std::process::{Command, ExitCode};

use injection::{Fault, Site, inject};
use table::Table;

/// The processor of the server; clients and databases have the other.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";
/// The program that is harmed, or whose database is.
const PRONY: &str = env!("CARGO_BIN_EXE_prony");
const CLIENTS: u64 = 1_000;

/// What was asked for.
struct Choice {
    kind: Option<String>,
    group: Option<String>,
    only: Option<String>,
    clients: u64,
}

impl Choice {
    fn of_arguments() -> Self {
        let mut choice = Self { kind: None, group: None, only: None, clients: CLIENTS };
        // `cargo bench` adds `--bench`.
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
            match argument.as_str() {
                "graph" | "postgres" => choice.kind = Some(argument),
                "--group" => choice.group = Some(value()),
                "--only" => choice.only = Some(value()),
                "--clients" => choice.clients = value().parse().expect("--clients takes a number"),
                other => {
                    panic!("`{other}` is none of: graph, postgres, --clients N, --group GROUP, --only TEXT")
                }
            }
        }
        choice
    }

    fn inject<S: Site>(&self, kind: &'static str, group: &str, faults: &[Fault<S>], table: &mut Table) {
        if self.kind.as_deref().is_some_and(|chosen| chosen != kind) {
            return;
        }
        if self.group.as_deref().is_some_and(|chosen| chosen != group) {
            return;
        }
        let is_chosen = |fault: &&Fault<S>| self.only.as_deref().is_none_or(|text| fault.name.contains(text));
        for fault in faults.iter().filter(is_chosen) {
            table.add(kind, inject(fault, self.clients));
        }
    }
}

fn main() -> ExitCode {
    let choice = Choice::of_arguments();
    let pid = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-cp", TOOL_CORE, &pid]).output();
    assert!(pinned.is_ok_and(|output| output.status.success()), "taskset is needed");
    let mut table = Table::begin(choice.clients);
    for (group, faults) in graph::GROUPS {
        choice.inject("graph", group, faults, &mut table);
    }
    choice.inject("postgres", "database", &postgres::FAULTS, &mut table);
    table.end()
}
