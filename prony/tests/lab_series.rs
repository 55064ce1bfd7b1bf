//! `prony lab series` from outside: a tiny run with the real program, which starts itself as the engine.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use prony_testkit::PronyProcess;
use serde_json::Value;

fn run(directory: &Path, arguments: &[&str]) -> (String, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["lab", "series"]).args(arguments).current_dir(directory);
    let finished = PronyProcess::start_command(command).wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    let results = fs::read_dir(directory.join("results")).unwrap().flatten().map(|entry| entry.path()).next();
    (finished.stdout, results.unwrap())
}

fn outcome(results: &Path) -> Value {
    serde_json::from_slice(&fs::read(results.join("series.json")).unwrap()).unwrap()
}

/// Every step failed nothing, and its result file is there.
fn check_steps(steps: &Value, results: &Path) {
    for step in steps.as_array().unwrap() {
        assert!(step["ok"].as_u64().unwrap() > 0 && step["ko"] == 0, "{step}");
        assert!(results.join(step["file"].as_str().unwrap()).is_file(), "{step}");
    }
}

#[test]
fn the_studys_script_is_its_own_limit_and_a_kill_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        ["--parts", "writes", "--durability", "sync,off", "--published", "3s", "--write", "500ms"];
    let (printed, results) = run(directory.path(), &arguments);
    assert!(printed.contains("Finding `offered-load-limited`"), "{printed}");
    assert!(printed.contains("metadata in Redis, connections are used again (published)"), "{printed}");
    let outcome = outcome(&results);
    check_steps(&outcome["writes"], &results);
    assert_eq!(outcome["writes"].as_array().unwrap().len(), 3 + 2);
    let (acknowledged, found) = (&outcome["restart"]["acknowledged_rows"], &outcome["restart"]["found_rows"]);
    assert!(acknowledged.as_u64().unwrap() > 0 && found.as_u64() >= acknowledged.as_u64(), "{outcome}");
    let left = fs::read_dir(&results).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with("data-")).count(), 0);
}

#[test]
fn queries_are_held_against_the_rows_and_measured() {
    let directory = tempfile::tempdir().unwrap();
    let (printed, results) =
        run(directory.path(), &["--parts", "reads", "--rows", "30000", "--read", "300ms"]);
    for text in ["30 000 rows of 10 entities", "| hourly averages of one entity", "| PostgreSQL 15"] {
        assert!(printed.contains(text), "{text}\n{printed}");
    }
    let outcome = outcome(&results);
    check_steps(&outcome["reads"], &results);
    assert_eq!(outcome["reads"].as_array().unwrap().len(), 4 * 3);
}
