//! Reads of random nodes of a graph of 3,000,000: the node itself, and all its relationships, each beside nginx with a
//! constant answer of the same size.

use crate::ROUNDS;
use crate::data::{NODES, RELATIONSHIPS, kept};
use crate::load::{Requests, Run, body_of, ceiling, middle, serve};
use crate::statistics::{median_ratio, print_table};

/// Nodes whose answers stand for all where the size of answers differs.
const SAMPLE: u32 = 2_001;

pub(crate) fn nodes() {
    let directory = kept(0);
    compare(&directory, "GET node by key", &Requests::get_nodes(NODES), &|url| {
        body_of(url, "GET", &format!("/db/rage/node/Node/{}", NODES / 2))
    });
}

pub(crate) fn relationships() {
    let directory = kept(RELATIONSHIPS);
    compare(&directory, "GET relationships, average degree 4", &Requests::get_relationships(NODES), &|url| {
        let ask = |key: u32| body_of(url, "GET", &format!("/db/rage/node/Node/{key}/relationships"));
        average(&(0..SAMPLE).map(|index| ask(index * (NODES / SAMPLE))).collect::<Vec<_>>())
    });
}

/// The one whose length is nearest to the average.
fn average(bodies: &[String]) -> String {
    let average = bodies.iter().map(String::len).sum::<usize>() / bodies.len();
    bodies.iter().min_by_key(|body| body.len().abs_diff(average)).cloned().unwrap_or_default()
}

fn compare(directory: &std::path::Path, name: &str, requests: &Requests, sample: &dyn Fn(&str) -> String) {
    let engine = serve(directory, "sync");
    let body = sample(&engine.url);
    let nginx = ceiling(200, &body);
    let rounds: Vec<(Run, Run)> = (0..ROUNDS)
        .map(|_| {
            let theirs = requests.measure(&nginx.url(""), nginx.pid());
            (theirs, requests.measure(&engine.url, engine.pid()))
        })
        .collect();
    let (theirs, ours): (Vec<Run>, Vec<Run>) = rounds.into_iter().unzip();
    let column = |runs: &[Run], pick: fn(&Run) -> f64| runs.iter().map(pick).collect::<Vec<_>>();
    let ratio = |pick: fn(&Run) -> f64| median_ratio(&column(&ours, pick), &column(&theirs, pick));
    let head = [
        "answer",
        "nginx/s",
        "Prony/s",
        "ratio",
        "nginx, µs CPU a request",
        "Prony, µs CPU a request",
        "ratio",
    ];
    let row = [
        format!("{name}, {} bytes of body", body.len()),
        format!("{:.0}", middle(&theirs, |run| run.per_s)),
        format!("{:.0}", middle(&ours, |run| run.per_s)),
        format!("{:.2}", ratio(|run| run.per_s)),
        format!("{:.2}", middle(&theirs, |run| run.server_us)),
        format!("{:.2}", middle(&ours, |run| run.server_us)),
        format!("{:.2}", ratio(|run| run.server_us)),
    ];
    print_table(&[head.map(str::to_owned).to_vec(), row.to_vec()]);
}
