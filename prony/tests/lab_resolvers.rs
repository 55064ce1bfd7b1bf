//! `prony lab resolvers` from outside: tiny runs with the real program, which starts itself as the engine.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use prony_testkit::{PronyProcess, process::Signal};
use serde_json::Value;

fn start(directory: &Path, arguments: &[&str]) -> PronyProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["lab", "resolvers"]).args(arguments).current_dir(directory);
    PronyProcess::start_command(command)
}

/// Runs to the end and returns the tables and the outcome.
fn run(directory: &Path, arguments: &[&str]) -> (String, Value) {
    let finished = start(directory, arguments).wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    let results = results(directory);
    let table = fs::read_to_string(results.join("table.md")).unwrap();
    assert!(finished.stdout.contains(&table), "{}", finished.stdout);
    (table, outcome(&results))
}

/// The run's own directory.
fn results(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory.join("results")).expect("results were written");
    entries.flatten().map(|entry| entry.path()).next().expect("the run has a directory")
}

fn outcome(results: &Path) -> Value {
    serde_json::from_slice(&fs::read(results.join("resolvers.json")).unwrap()).unwrap()
}

#[test]
fn graphql_and_rest_take_turns_and_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let (table, json) = run(directory.path(), &["--parts", "control", "--rounds", "2", "--step", "500ms"]);
    for text in ["| Requests/s ", "36 509 / 37 360", "Without think time", "| Engine CPU a request |"] {
        assert!(table.contains(text), "{text}\n{table}");
    }
    let runs = json["control"].as_array().unwrap();
    let sides: Vec<&str> = runs.iter().map(|run| run["side"].as_str().unwrap()).collect();
    assert_eq!(sides, ["graphql", "rest", "rest", "graphql"].repeat(2));
    // How many a machine with other work makes in so short a time is its business.
    assert!(runs.iter().any(|run| run["requests"].as_u64().unwrap() > 100), "{json}");
    for run in runs {
        assert_eq!(run["failures"], 0, "{run}");
        assert!(results(directory.path()).join(run["file"].as_str().unwrap()).is_file(), "{run}");
    }
}

#[test]
fn users_join_until_there_are_enough() {
    let directory = tempfile::tempdir().unwrap();
    let (table, json) = run(directory.path(), &["--parts", "throughput", "--users-max", "80"]);
    assert!(table.contains("20 users join in each second, up to 80"), "{table}");
    assert!(table.contains("| ≥ 57 919") || table.contains("≥ 57 919 |"), "{table}");
    let found = &json["throughput"];
    assert_eq!(found["failures"], 0, "{found}");
    let seconds = found["seconds"].as_array().unwrap();
    assert!(seconds.len() >= 3 && seconds[0]["users"].as_u64() < seconds[2]["users"].as_u64(), "{found}");
    assert!(seconds.iter().all(|second| second["users"].as_u64() > Some(0)), "{found}");
}

#[test]
fn every_event_is_matched_with_its_mutation() {
    let directory = tempfile::tempdir().unwrap();
    let (table, json) = run(directory.path(), &["--parts", "subscriptions", "--step", "1s"]);
    assert!(table.contains("| An event to two ") && table.contains("| 1 000 of 1 000 |"), "{table}");
    let [few, half] = json["subscriptions"].as_array().unwrap().as_slice() else { panic!("{json}") };
    for heard in [few, half] {
        assert!(heard["due"].as_u64().unwrap() > 0, "{heard}");
        for count in ["missed", "cut_off", "duplicated", "out_of_order", "unexpected", "troubles"] {
            assert_eq!(heard[count], 0, "{count}: {heard}");
        }
        assert!(results(directory.path()).join(heard["file"].as_str().unwrap()).is_file(), "{heard}");
    }
    // Half of 1 000 hear each, except those that a busy machine has not been listening for long enough.
    let (due, published) = (half["due"].as_u64().unwrap(), half["published"].as_u64().unwrap());
    assert!(due <= 500 * published && half["events"].as_u64().unwrap() <= 500 * published, "{half}");
}

#[test]
fn memory_is_looked_at_before_meanwhile_and_after() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--parts", "memory", "--requests", "150", "--soak", "5000"];
    let (table, json) = run(directory.path(), &arguments);
    assert!(table.contains("| 2 250 ") && table.contains("| 5 000 more "), "{table}");
    let [study, soak] = json["memory"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!((&study["requests"], &soak["requests"]), (&Value::from(2_250), &Value::from(5_000)));
    assert!(!study["samples"].as_array().unwrap().is_empty(), "{study}");
    assert!(study["before_bytes"].as_u64().unwrap() > 0 && soak["after_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn the_engine_measures_itself_in_a_process_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let (table, json) = run(directory.path(), &["--parts", "micro", "--executions", "50"]);
    for text in ["| Single object ", "| Full introspection ", "638 µs |"] {
        assert!(table.contains(text), "{text}\n{table}");
    }
    assert!(!table.contains(" × ,"), "the machine is named where no load was run too: {table}");
    let rows = json["micro"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let (warm, cold) = (&row["warm"], &row["cold"]);
        assert!(warm["allocations"].as_u64().unwrap() > 0, "{row}");
        assert!(cold["allocations"].as_u64() > warm["allocations"].as_u64(), "{row}");
        assert!(warm["median_ns"].as_u64().unwrap() > 0, "{row}");
    }
}

#[test]
fn an_interrupted_run_prints_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["--parts", "control,memory", "--rounds", "1", "--step", "10m"]);
    let is_under_way = || {
        fs::read_dir(directory.path().join("results")).is_ok_and(|mut entries| {
            entries.any(|entry| entry.unwrap().path().join("graphql-thinking-1.prony.json").is_file())
        })
    };
    while !is_under_way() {
        thread::sleep(Duration::from_millis(20));
    }
    child.signal(Signal::INT);
    let finished = child.wait();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("The run was stopped"), "{}", finished.stdout);
    let results = results(directory.path());
    assert_eq!(outcome(&results)["stopped"], true);
    let log = fs::read_to_string(results.join("engine.log")).unwrap();
    let address = log.split("listening on http://").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(std::net::TcpStream::connect(address.trim_end_matches('/')).is_err(), "nobody listens any more");
}
