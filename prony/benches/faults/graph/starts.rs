//! Faults of a disk when a graph is opened: a start ends and says which file it was, and the next one succeeds once the disk is well.

use std::{path::PathBuf, time::Instant};

use prony_testkit::process::Signal;

use super::{Graph, INPUT_OUTPUT, Snapshots};
use crate::{
    injection::{Fault, LASTS, Sign},
    syscalls::injected,
};

pub(super) const FAULTS: [Fault<Graph>; 4] = [
    Fault {
        name: "the log cannot be read when the server is started after a kill, for 3 s (EIO)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| start_in_vain(graph, "pread64", |graph| graph.newest("log-"), "cannot read"),
    },
    Fault {
        name: "the snapshot cannot be read when the server is started after a kill, for 3 s (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| {
            graph.wait_for_snapshot();
            graph.begins(Instant::now());
            start_in_vain(graph, "pread64", |graph| graph.newest("snapshot-"), "cannot read");
        },
    },
    Fault {
        name: "the log cannot be cut or synced when the server is started after a kill, for 3 s (EIO)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| {
            start_in_vain(graph, "ftruncate,fsync", |graph| graph.newest("log-"), "cannot write");
        },
    },
    Fault {
        name: "the directory cannot be synced when the server is started after a kill, for 3 s (EIO)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| start_in_vain(graph, "fsync", Graph::files, "cannot write"),
    },
];

/// Kills the server, and starts it again and again while calls about a file fail.
fn start_in_vain(graph: &mut Graph, calls: &str, find: fn(&Graph) -> PathBuf, says: &str) {
    graph.kill(Signal::KILL);
    let path = find(graph);
    let says = format!("{says} {}", path.display());
    let begin = Instant::now();
    while begin.elapsed() < LASTS {
        let command = injected(&graph.command(false), calls, "error=EIO", &path);
        graph.start_in_vain(command, &[&says, INPUT_OUTPUT]);
    }
    graph.serve();
}
