//! `prony lab gateway` from outside: a tiny run with the real program, which starts itself as gateway and backend.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{fs, process::Command};

use prony_testkit::PronyProcess;
use serde_json::Value;

#[test]
fn every_step_and_every_layer_is_measured_and_shown_on_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    let arguments = [
        "--queries",
        "q1,q3",
        "--users",
        "5,50",
        "--warm-up",
        "100ms",
        "--hold",
        "400ms",
        "--rounds",
        "1",
        "--layer",
        "300ms",
    ];
    command.args(["lab", "gateway"]).args(arguments).current_dir(directory.path());
    let finished = PronyProcess::start_command(command).wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    let results = fs::read_dir(directory.path().join("results")).unwrap().flatten().map(|entry| entry.path());
    let results = results.last().unwrap();
    let outcome: Value = serde_json::from_slice(&fs::read(results.join("gateway.json")).unwrap()).unwrap();
    let steps = outcome["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    for step in steps {
        assert!(step["requests"].as_u64().unwrap() > 0 && step["error_share"] == 0.0, "{step}");
        assert!(results.join(step["file"].as_str().unwrap()).is_file(), "{step}");
    }
    let layers = outcome["layers"].as_array().unwrap();
    assert_eq!(layers.len(), 9);
    for layer in layers {
        let per_second = layer["requests_per_second"].as_f64();
        assert!(per_second > Some(0.0) && layer["error_share"] == 0.0, "{layer}");
    }
    assert!(finished.stdout.contains("table.md, gateway.json, report.html"), "{}", finished.stdout);
    let page = fs::read_to_string(results.join("report.html")).unwrap();
    // The study had 50 users, and not 5.
    for text in
        ["2 234 / 22 ms / 50 ms", "What each layer costs: Q1", "What differs from the study", "Q3, 50 users"]
    {
        assert!(page.contains(text), "{text}");
    }
}
