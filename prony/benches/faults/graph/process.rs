//! Faults of the process that serves a graph: it is killed, also in the middle of work that takes a while.

use std::{
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::process::Signal;
use serde_json::{Value, json};

use super::{Graph, POLL, SNAPSHOT_PATIENCE, SNAPSHOT_THREAD, Snapshots, ask, files};
use crate::{
    injection::{Fault, LASTS, Sign},
    syscalls::Injection,
};

/// A fault of 3 s is felt for at least as long.
const FELT: Duration = Duration::from_millis(2_500);
/// Of a snapshot of some megabytes, frames that are written when it is killed.
const WRITTEN: usize = 8;
/// The calls that give a file another name, on all machines.
const RENAMES: &str = "?rename,?renameat,?renameat2";
/// Created with one request.
const LINES: u64 = 20_000;
const HUB: &str = "node/Hub/n%C5%93ud";
const RELATIONSHIPS: u64 = 100_000;
/// At the other end of the hub's relationships.
const LEAVES: u64 = 1_000;
/// Of which an index is made.
const INDEXED: u64 = 300_000;
const INDEX: &str = "schema/nodes/Other/properties/number/index";
/// Values are so far apart.
const APART: u64 = 7_919;
/// In which a deletion that readers see reaches the log; dropping the relationships takes several times as long.
const DELETION_BEGUN: Duration = Duration::from_millis(30);
/// In which a request reaches a busy server; making the index takes several times as long.
const INDEX_BEGUN: Duration = Duration::from_millis(150);

pub(super) const FAULTS: [Fault<Graph>; 8] = [
    Fault {
        name: "the server is killed (SIGKILL), and started again at once",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| graph.restart(Signal::KILL),
    },
    Fault {
        name: "it is stopped in order (SIGTERM), and started again",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| graph.restart(Signal::TERM),
    },
    Fault {
        name: "it stands still for 3 s (SIGSTOP)",
        setting: Snapshots::Rare,
        sign: Sign::Interruption(FELT),
        harm: |graph| {
            graph.process().signal(Signal::STOP);
            thread::sleep(LASTS);
            graph.process().signal(Signal::CONT);
        },
    },
    Fault {
        name: "it is killed (SIGKILL) while a snapshot is being written, and started again",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| {
            let is_written = |text: &str, _: &Graph| text.matches("pwrite64(").count() > WRITTEN;
            kill_beside_snapshot(graph, ("pwrite64", "delay_enter=50000"), is_written, has_part);
        },
    },
    Fault {
        name: "it is killed (SIGKILL) when a snapshot is whole and has no name yet, and started again",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| {
            let is_whole = |text: &str, _: &Graph| text.contains("rename");
            kill_beside_snapshot(graph, (RENAMES, "delay_enter=5000000"), is_whole, has_part);
        },
    },
    Fault {
        name: "it is killed (SIGKILL) when a snapshot has its name and the log before it is still there, and started again",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| {
            let before = graph.find("snapshot-");
            let is_named = |_: &str, graph: &Graph| graph.find("snapshot-") != before;
            kill_beside_snapshot(graph, (RENAMES, "delay_exit=5000000"), is_named, has_log_before);
        },
    },
    Fault {
        name: "it is killed (SIGKILL) while a node with 100,000 relationships is being deleted, and started again",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: kill_beside_deletion,
    },
    Fault {
        name: "it is killed (SIGKILL) while an index of 300,000 nodes is being made, and started again",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: kill_beside_index,
    },
];

/// Kills it at a moment of a snapshot, at which its calls are delayed; `is_left` says whether it was this moment.
fn kill_beside_snapshot(
    graph: &mut Graph,
    (calls, how): (&str, &str),
    is_moment: impl Fn(&str, &Graph) -> bool,
    is_left: fn(&Graph) -> bool,
) {
    let injection = Injection::attach(&graph.threads(SNAPSHOT_THREAD), calls, how, Some(&graph.part()));
    injection.wait_for(SNAPSHOT_PATIENCE, |text| is_moment(text, graph));
    graph.begins(Instant::now());
    graph.process().signal(Signal::KILL);
    injection.end();
    graph.end();
    if !is_left(graph) {
        graph.has_problem("it was not killed at this moment of a snapshot".to_owned());
    }
    graph.serve();
}

fn has_part(graph: &Graph) -> bool {
    graph.part().exists()
}

fn has_log_before(graph: &Graph) -> bool {
    let numbers = |kind: &str| files::numbered(&graph.files(), kind).into_iter().map(|(number, _)| number);
    numbers("snapshot-").max().is_some_and(|snapshot| numbers("log-").any(|log| log < snapshot))
}

/// Creates what `line` makes of each number, and a line each of it.
fn create(graph: &Graph, path: &str, numbers: u64, line: impl Fn(u64) -> Value) {
    for first in (0..numbers).step_by(LINES as usize) {
        let last = numbers.min(first + LINES);
        let mut lines = String::new();
        for number in first..last {
            writeln!(lines, "{}", line(number)).expect("a string has room");
        }
        let (status, report) = graph.call("POST", path, lines).expect("the server responds");
        assert_eq!((status, report["created"].as_u64()), (200, Some(last - first)), "{path}: {report}");
    }
}

/// A node with many relationships goes whole or stays whole.
fn kill_beside_deletion(graph: &mut Graph) {
    create(graph, "nodes", LEAVES, |number| json!({"type": "Leaf", "key": number.to_string()}));
    create(graph, "nodes", 1, |_| json!({"type": "Hub", "key": "nœud"}));
    create(graph, "relationships", RELATIONSHIPS, |number| {
        let leaf = json!({"type": "Leaf", "key": (number % LEAVES).to_string()});
        json!({"type": "HAS", "from": {"type": "Hub", "key": "nœud"}, "to": leaf})
    });
    let url = graph.url(HUB);
    let deletion = thread::spawn(move || ask("DELETE", &url, String::new()));
    while graph.call("GET", HUB, String::new()).is_some_and(|(status, _)| status == 200) {
        thread::sleep(POLL);
    }
    thread::sleep(DELETION_BEGUN);
    graph.begins(Instant::now());
    graph.kill(Signal::KILL);
    let response = deletion.join().expect("a request does not panic");
    let dropped = files::count(&graph.newest("log-"), files::RELATIONSHIP_GONE);
    if response.is_some() || dropped as u64 == RELATIONSHIPS {
        graph.has_problem(format!("the deletion was over when it was killed: {response:?}"));
    }
    graph.serve();
    let is_there = graph.call("GET", HUB, String::new()).is_some_and(|(status, _)| status == 200);
    let expected = if is_there { RELATIONSHIPS } else { 0 };
    let degree = |node: &str| graph.get(&format!("{node}/degree"))["degree"].as_u64().unwrap_or_default();
    let degrees = (if is_there { degree(HUB) } else { 0 }, degree("node/Leaf/7"));
    if degrees != (expected, expected / LEAVES) {
        graph.has_problem(format!(
            "of {expected} relationships of the hub {} are left, of a leaf {}",
            degrees.0, degrees.1
        ));
    }
}

/// An index is there, with all that it is of, or not.
fn kill_beside_index(graph: &mut Graph) {
    graph.declare("Other");
    create(
        graph,
        "nodes",
        INDEXED,
        |number| json!({"type": "Other", "key": format!("o{number}"), "properties": {"number": number * APART}}),
    );
    let url = graph.url(INDEX);
    let making = thread::spawn(move || ask("POST", &url, String::new()));
    thread::sleep(INDEX_BEGUN);
    graph.begins(Instant::now());
    graph.kill(Signal::KILL);
    let response = making.join().expect("a request does not panic");
    if response.is_some() {
        graph.has_problem(format!("the index was there when it was killed: {response:?}"));
    }
    graph.serve();
    let made = graph.call("POST", INDEX, String::new()).map(|(status, _)| status);
    let asked = graph.call("POST", "nodes/Other/number/EQ", (INDEXED / 2 * APART).to_string());
    let keys: Vec<_> = asked.iter().filter_map(|(_, nodes)| nodes.as_array()).flatten().collect();
    let expected = format!("o{}", INDEXED / 2);
    if made != Some(201) || keys.len() != 1 || keys[0]["key"] != expected {
        graph.has_problem(format!("the index that is made again ({made:?}) names {keys:?} for {expected}"));
    }
}
