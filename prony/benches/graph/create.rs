//! Nodes and relationships created by 192 connections, with each durability, beside nginx with
//! the answer that they get; and what one sync of the disk costs.

use crate::load::{Requests, Run, body_of, ceiling, middle, serve};
use crate::statistics::{median_ratio, print_table};
use crate::{ROUNDS, data};
use prony_experiments::sync_cost;
use std::path::Path;

/// There before anything is measured; relationships are created between them.
const NODES: u32 = 100_000;
const DURABILITIES: [&str; 3] = ["off", "interval=100", "sync"];

pub(crate) fn by_durability() {
    let disk = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let cost = sync_cost(disk).expect("the target's folder can be written to");
    println!("One fdatasync of 4 kB in the same folder: {:.0} µs (median)\n", cost.as_secs_f64() * 1e6);
    let node = Requests::create_nodes(NODES);
    let relationship = Requests::create_relationships(NODES);
    let calls = [
        ("create node", "/db/rage/node/Node/first", node),
        ("create relationship", "/db/rage/node/Node/1/relationship/Node/2/TYPE_1", relationship),
    ];
    let mut rows = vec![head()];
    for (name, sample, requests) in calls {
        let body = sample_answer(disk, sample);
        let rounds: Vec<[Run; 4]> = (0..ROUNDS).map(|_| round(disk, &body, &requests)).collect();
        rows.push(row(&format!("{name}, {} bytes of body", body.len()), &rounds));
    }
    print_table(&rows);
}

/// nginx, then the engine with each durability, each on a new graph.
fn round(disk: &Path, body: &str, requests: &Requests) -> [Run; 4] {
    let nginx = ceiling(201, body);
    let theirs = requests.measure(&nginx.url(""), nginx.pid());
    drop(nginx);
    let [off, interval, sync] = DURABILITIES.map(|durability| {
        let directory = graph(disk);
        let engine = serve(directory.path(), durability);
        requests.measure(&engine.url, engine.pid())
    });
    [theirs, off, interval, sync]
}

fn graph(disk: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(disk).expect("the target's folder can be written to");
    data::make(directory.path(), NODES, 0);
    directory
}

/// What the engine answers.
fn sample_answer(disk: &Path, path: &str) -> String {
    let directory = graph(disk);
    let engine = serve(directory.path(), "off");
    body_of(&engine.url, "POST", path)
}

fn head() -> Vec<String> {
    let columns = [
        "call",
        "nginx/s",
        "off/s",
        "off / nginx",
        "interval=100/s",
        "interval / off",
        "sync/s",
        "sync / off",
        "nginx, µs CPU",
        "off, µs CPU",
        "interval, µs CPU",
        "sync, µs CPU",
    ];
    columns.map(str::to_owned).to_vec()
}

fn row(name: &str, rounds: &[[Run; 4]]) -> Vec<String> {
    let [theirs, off, interval, sync] =
        std::array::from_fn(|at| rounds.iter().map(|round| round[at]).collect::<Vec<Run>>());
    let rate = |runs: &[Run]| runs.iter().map(|run| run.per_s).collect::<Vec<_>>();
    let per_s = |runs: &[Run]| format!("{:.0}", middle(runs, |run| run.per_s));
    let cpu = |runs: &[Run]| format!("{:.2}", middle(runs, |run| run.server_us));
    vec![
        name.to_owned(),
        per_s(&theirs),
        per_s(&off),
        format!("{:.2}", median_ratio(&rate(&off), &rate(&theirs))),
        per_s(&interval),
        format!("{:.2}", median_ratio(&rate(&interval), &rate(&off))),
        per_s(&sync),
        format!("{:.2}", median_ratio(&rate(&sync), &rate(&off))),
        cpu(&theirs),
        cpu(&off),
        cpu(&interval),
        cpu(&sync),
    ]
}
