//! A minute at 80 % of what a closed loop reaches: reads, and some writes, on a graph of 3,000,000 nodes, with a
//! snapshot of it meanwhile: the slowest answers and the longest time without any.

use crate::CONNECTIONS;
use crate::data::{self, NODES, RELATIONSHIPS, kept};
use crate::load::{run_plan, serve};
use crate::process::cpu_seconds;
use crate::statistics::print_table;
use prony_graph_store::SNAPSHOT_AT_LOG_BYTES;
use prony_model::{Nanos, ResultFile, WindowKind};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

const SHARE: f64 = 0.8;
const LIMIT_SECONDS: u32 = 10;
const SECONDS: u32 = 60;
/// The log is made so long that it makes a snapshot due after this time.
const SNAPSHOT_AFTER_SECONDS: f64 = 12.0;
/// Of ten requests, one writes.
const MIX: &str = r#"
[[requests]]
name = "get node"
weight = 8
path = "/db/rage/node/Node/${key}"

[[requests]]
name = "get relationships"
weight = 1
path = "/db/rage/node/Node/${key}/relationships"

[[requests]]
name = "create relationship"
weight = 1
method = "POST"
path = "/db/rage/node/Node/${key}/relationship/Node/${other}/TYPE_${type}"
expect_status = 201
"#;

pub(crate) fn with_a_snapshot() {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (limit, bytes_per_s) = limit(tmp);
    let rate = (limit * SHARE).round();
    println!(
        "closed loop, {CONNECTIONS} connections: {limit:.0}/s; asked for 80 %: {rate}/s for {SECONDS} s"
    );
    let directory = tempfile::tempdir_in(tmp).expect("the target's folder can be written to");
    let short = bytes_per_s * SHARE * SNAPSHOT_AFTER_SECONDS;
    let relationships = data::make_with_log(directory.path(), SNAPSHOT_AT_LOG_BYTES - short as u64);
    println!("{NODES} nodes and {relationships} relationships, all in the log\n");
    let engine = serve(directory.path(), "sync");
    let open = format!("rate = {rate}\nusers = {CONNECTIONS}\nduration = \"{SECONDS}s\"");
    let (began, worked) = (SystemTime::now(), cpu_seconds(engine.pid()));
    let result = run_plan(&plan(&engine.url, &open));
    let busy = (cpu_seconds(engine.pid()) - worked) / f64::from(SECONDS);
    print(&result);
    print_slow_seconds(&result);
    let (lab, late) = (result.lab.busiest_thread_share, result.lab.lateness.percentile(99.9));
    println!(
        "busy: server {:.0} %, lab {:.0} % of a processor each; the lab's own lateness at p99.9: {} ms",
        busy * 100.0,
        lab * 100.0,
        milliseconds(late)
    );
    match snapshots_since(&directory.path().join("rage"), began).as_slice() {
        [] => println!("NO SNAPSHOT was taken meanwhile: these figures are without one"),
        times => {
            let times: Vec<_> = times.iter().map(|seconds| format!("{seconds:.0} s")).collect();
            println!("a snapshot was complete after {}", times.join(", "));
        }
    }
}

/// What a closed loop reaches, and by how many bytes a second the log grows meanwhile.
fn limit(tmp: &Path) -> (f64, f64) {
    let directory = tempfile::tempdir_in(tmp).expect("the target's folder can be written to");
    let database = directory.path().join("rage");
    copy(&kept(RELATIONSHIPS).join("rage"), &database);
    let engine = serve(directory.path(), "sync");
    let before = log_bytes(&database);
    let closed = format!("users = {CONNECTIONS}\nduration = \"{LIMIT_SECONDS}s\"");
    let limit = whole_rate(&run_plan(&plan(&engine.url, &closed)));
    (limit, (log_bytes(&database) - before) as f64 / f64::from(LIMIT_SECONDS))
}

fn log_bytes(database: &Path) -> u64 {
    let files = fs::read_dir(database).expect("the database has a directory").flatten();
    let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with("log-0"));
    logs.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

fn plan(url: &str, load: &str) -> String {
    let last = NODES - 1;
    format!(
        "target = \"{url}\"\n{load}\n[variables]\nkey = {{ range = [0, {last}] }}\nother = {{ range = [0, {last}] }}\n\
         type = {{ range = [1, 9] }}\n{MIX}"
    )
}

fn whole_rate(result: &ResultFile) -> f64 {
    result.window(WindowKind::Whole).expect("a result always holds the whole run").all.rate_per_s
}

fn print(result: &ResultFile) {
    let window = result.window(WindowKind::Whole).expect("a result always holds the whole run");
    let columns = ["requests", "reached", "p50, ms", "p99, ms", "p99.9, ms", "p99.99, ms", "max, ms"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    let reached = window.rate_reached.map_or("-".to_owned(), |share| format!("{:.2} %", share * 100.0));
    let named = window.by_request.iter().map(|named| (named.name.as_str(), &named.figures));
    for (name, figures) in [("all", &window.all)].into_iter().chain(named) {
        let at = |percentile| milliseconds(figures.response_time.percentile(percentile));
        let times = [50.0, 99.0, 99.9, 99.99, 100.0].map(at);
        let reached = if name == "all" { reached.clone() } else { String::new() };
        rows.push([name.to_owned(), reached].into_iter().chain(times).collect());
    }
    print_table(&rows);
    let silence = result.lab.longest_silence_ns.as_millis_f64();
    println!("longest time without any answer while one was waited for: {silence:.1} ms");
    for finding in &result.findings {
        println!("finding {}: {}", finding.kind.name(), finding.seen);
    }
}

fn milliseconds(time: Option<Nanos>) -> String {
    time.map_or("-".to_owned(), |time| format!("{:.2}", time.as_millis_f64()))
}

/// When the slow answers were: the seconds whose p99 is above what p99.9 of the whole may be.
fn print_slow_seconds(result: &ResultFile) {
    const P999_AIM: Nanos = Nanos::from_millis(5);
    let slow: Vec<String> = result
        .series
        .iter()
        .filter(|row| row.p99_ns.is_some_and(|p99| p99 > P999_AIM))
        .map(|row| format!("{} ({} ms)", row.second, milliseconds(row.p99_ns)))
        .collect();
    println!(
        "seconds with a p99 above 5 ms: {}",
        if slow.is_empty() { "none".to_owned() } else { slow.join(", ") }
    );
}

/// When snapshots of the database were complete, in seconds after a time.
fn snapshots_since(database: &Path, began: SystemTime) -> Vec<f64> {
    let files = fs::read_dir(database).expect("the database has a directory").flatten();
    let snapshots = files.filter(|file| file.file_name().to_string_lossy().starts_with("snapshot-"));
    let written = snapshots.filter_map(|file| file.metadata().ok()?.modified().ok());
    written.filter_map(|time| Some(time.duration_since(began).ok()?.as_secs_f64())).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target's folder can be written to");
    for file in fs::read_dir(from).expect("the kept graph can be read").flatten() {
        fs::copy(file.path(), to.join(file.file_name())).expect("there is room for a copy");
    }
}
