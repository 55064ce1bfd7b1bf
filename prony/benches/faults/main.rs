//! What a thousand clients that write see of a fault, and what is left of what they were told: for each fault how long nobody was served,
//! how long until as much is written as before, what the clients were answered meanwhile, and that nothing acknowledged is lost. Prints the
//! table that `docs/benchmarks.md` quotes.
//!
//! `cargo bench -p prony --bench faults` for all of them, `-- KIND` for those of one kind: graph, postgres.
//!
//! Needs taskset, PostgreSQL, and for the sync that fails strace: the server has one processor, clients and databases the other.

#![expect(clippy::print_stdout, reason = "tables are what a benchmark is for")]

mod clients;
mod graph;
mod postgres;
#[path = "../common/statistics.rs"]
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
mod statistics;
mod table;

use std::process::Command;

use table::Row;

/// The processor of what is harmed; clients and databases have the other.
const TARGET_CORE: &str = "0";
const TOOL_CORE: &str = "1";

fn main() {
    // `cargo bench` adds `--bench`.
    let kind = std::env::args().skip(1).find(|argument| argument != "--bench");
    let pid = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-cp", TOOL_CORE, &pid]).output();
    assert!(pinned.is_ok_and(|output| output.status.success()), "taskset is needed");
    table::print_head();
    let mut lost = 0;
    for (of, faults) in [("graph", graph::faults as fn(&mut dyn FnMut(Row))), ("postgres", postgres::faults)]
    {
        if kind.as_deref().is_none_or(|kind| kind == of) {
            faults(&mut |row| {
                lost += row.lost + row.invented;
                row.print(of);
            });
        }
    }
    assert_eq!(lost, 0, "writes were lost, or made that nobody was told of");
}
