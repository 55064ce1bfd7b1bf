//! Time until the engine listens, the memory it has then, and the most that it had until then: on nothing, on 3,000,000 nodes, and on those
//! with 6,000,000 relationships, each whole in a snapshot that the system has in its cache.

use crate::ROUNDS;
use crate::data::{NODES, RELATIONSHIPS, kept};
use crate::load::serve;
use crate::process::{cpu_seconds, peak_resident_kib, resident_kib};
use crate::statistics::{median, print_table};
use std::path::Path;
use std::time::Instant;

pub(crate) fn from_snapshots() {
    let empty = tempfile::tempdir().expect("a temporary directory");
    let (nodes, both) = (kept(0), kept(RELATIONSHIPS));
    let graphs: [(&str, &Path); 3] = [
        ("empty", empty.path()),
        ("3,000,000 nodes", &nodes),
        ("3,000,000 nodes, 6,000,000 relationships", &both),
    ];
    let columns =
        ["graph", "ready after, ms", "processor time, ms", "resident, MB", "most until then, MB", "ratio"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    let mut resident = Vec::new();
    for (name, directory) in graphs {
        let [elapsed, used, kib, most_kib] = start(directory);
        rows.push(vec![
            name.to_owned(),
            format!("{elapsed:.0}"),
            format!("{used:.0}"),
            format!("{:.0}", kib * 1.024 / 1e3),
            format!("{:.0}", most_kib * 1.024 / 1e3),
            format!("{:.2}", most_kib / kib),
        ]);
        resident.push(kib * 1_024.0);
    }
    print_table(&rows);
    println!("a node: {:.0} bytes resident", (resident[1] - resident[0]) / f64::from(NODES));
    println!("a relationship: {:.0} bytes resident", (resident[2] - resident[1]) / f64::from(RELATIONSHIPS));
}

/// Medians of the milliseconds until it listens, of its processor time until then, of its resident memory then and of the most of that, in KiB.
fn start(directory: &Path) -> [f64; 4] {
    let runs: Vec<[f64; 4]> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            let engine = serve(directory, "sync");
            let elapsed = began.elapsed().as_secs_f64() * 1e3;
            let [now_kib, most_kib] = [resident_kib, peak_resident_kib].map(|of| of(engine.pid()) as f64);
            [elapsed, cpu_seconds(engine.pid()) * 1e3, now_kib, most_kib]
        })
        .collect();
    std::array::from_fn(|at| median(&runs.iter().map(|run| run[at]).collect::<Vec<_>>()))
}
