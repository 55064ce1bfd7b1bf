//! Faults of snapshots: one fails, at any of the steps that it takes on the disk. Writes go on, the log stays whole, and a later one succeeds.

use std::{path::PathBuf, thread};

use serde_json::Value;

use super::{Graph, INPUT_OUTPUT, SNAPSHOT_PATIENCE, SNAPSHOT_THREAD, Snapshots};
use crate::{
    injection::{Fault, LASTS, Sign},
    syscalls::{Injection, is_injected},
};

pub(super) const FAULTS: [Fault<Graph>; 8] = [
    Fault {
        name: "a snapshot cannot be written for 3 s (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| fail(graph, ("pwrite64", "error=EIO"), Some(Graph::part), INPUT_OUTPUT),
    },
    Fault {
        name: "the disk is full for snapshots for 3 s (ENOSPC)",
        setting: Snapshots::Frequent,
        // Writes are refused while a snapshot has the room that is kept for it.
        sign: Sign::None,
        harm: |graph| fail(graph, ("pwrite64", "error=ENOSPC"), Some(Graph::part), "No space left"),
    },
    Fault {
        name: "a snapshot cannot be synced for 3 s (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| fail(graph, ("fsync,fdatasync", "error=EIO"), Some(Graph::part), INPUT_OUTPUT),
    },
    Fault {
        name: "a snapshot cannot be read back for 3 s (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| {
            fail(graph, ("pread64", "error=EIO"), Some(Graph::part), "is not what was written");
        },
    },
    Fault {
        name: "a snapshot cannot be given its name for 3 s (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| {
            let calls = "?rename,?renameat,?renameat2";
            fail(graph, (calls, "error=EIO"), Some(Graph::part), INPUT_OUTPUT);
        },
    },
    Fault {
        name: "the directory cannot be synced for 3 s when a file of the log is made for a snapshot (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| {
            fail(graph, ("fsync", "error=EIO"), Some(Graph::files), "cannot begin a new file of the log");
        },
    },
    Fault {
        name: "the directory cannot be synced once when a snapshot has its name (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| {
            // The first sync is that of the log's new file.
            let how = "error=EIO:when=2";
            fail(graph, ("fsync", how), Some(Graph::files), "cannot write the snapshot");
        },
    },
    Fault {
        name: "files that a snapshot makes needless cannot be removed for 3 s (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| fail(graph, ("?unlink,?unlinkat", "error=EIO"), None, INPUT_OUTPUT),
    },
];

/// Calls of the thread that takes snapshots fail, those about `path` where there is one; `/health` has to say so, and that one was taken
/// afterwards.
fn fail(graph: &mut Graph, (calls, how): (&str, &str), path: Option<fn(&Graph) -> PathBuf>, says: &str) {
    let path = path.map(|path| path(graph));
    let injection = Injection::attach(&graph.threads(SNAPSHOT_THREAD), calls, how, path.as_deref());
    let begun = injection.wait_for(SNAPSHOT_PATIENCE, is_injected);
    graph.begins(begun);
    let failed = graph.wait_for_health(|health| health["snapshot_failure"].is_object());
    let failure = failed.map(|health| health["snapshot_failure"].clone()).unwrap_or_default();
    if !failure["error"].as_str().is_some_and(|error| error.contains(says)) {
        graph.has_problem(format!("`/health` does not say `{says}` of a snapshot that fails: {failure}"));
    }
    thread::sleep(LASTS);
    injection.end();
    let at = |value: &Value| value["at_seconds"].as_f64().unwrap_or_default();
    let is_taken =
        |health: &Value| health["snapshot_failure"].is_null() && at(&health["last_snapshot"]) > at(&failure);
    if graph.wait_for_health(is_taken).is_none() {
        graph.has_problem("no snapshot was taken after one that failed".to_owned());
    }
}
