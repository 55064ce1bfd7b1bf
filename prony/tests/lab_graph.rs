//! `prony lab graph` from outside: tiny runs with the real program, which starts itself as the engine; and the study's
//! requests as a wrk script.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use prony_testkit::{PronyProcess, process::Signal};

const TINY: &[&str] = &["--nodes", "500", "--step", "200ms"];
const PRONY: &str = env!("CARGO_BIN_EXE_prony");

fn start(directory: &Path, arguments: &[&str]) -> PronyProcess {
    let mut command = Command::new(PRONY);
    command.args(["lab", "graph"]).args(arguments).current_dir(directory);
    PronyProcess::start_command(command)
}

/// The run's own directory.
fn results(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory.join("results")).expect("results were written");
    entries.flatten().map(|entry| entry.path()).next().expect("the run has a directory")
}

/// Names of data directories that are there.
fn data_directories(results: &Path) -> Vec<String> {
    let names = fs::read_dir(results).unwrap().flatten().map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with("data-")).collect()
}

#[test]
fn each_durability_makes_the_four_steps_and_what_it_acknowledged_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let finished = start(directory.path(), &[TINY, &["--no-rates"]].concat()).wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    let results = results(directory.path());
    assert!(finished.stdout.contains(&fs::read_to_string(results.join("table.md")).unwrap()));
    for text in
        ["| Create nodes         | Prony, sync", "Prony, interval=100", "Prony, off", "| RageDB, 4 cores"]
    {
        assert!(finished.stdout.contains(text), "{text}\n{}", finished.stdout);
    }
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(results.join("graph.json")).unwrap()).unwrap();
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3 * 4);
    for step in steps {
        assert!(step["ok"].as_u64().unwrap() > 0 && step["ko"] == 0, "{step}");
        assert!(results.join(step["file"].as_str().unwrap()).is_file(), "{step}");
    }
    assert_eq!(steps[0]["ok"], 500);
    assert_eq!(data_directories(&results), [""; 0], "the engines' data is removed");
}

#[test]
fn rates_of_reads_are_searched() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--durability", "off", "--hold", "300ms", "--sustained", "300ms"];
    let finished = start(directory.path(), &[TINY, &arguments].concat()).wait();
    assert_eq!(finished.status.code(), Some(0), "{}{}", finished.stdout, finished.stderr);
    for text in ["| Closed loop (theirs by wrk)", "188 931 |", "| Highest rate that holds", "| Asked/s"] {
        assert!(finished.stdout.contains(text), "{text}\n{}", finished.stdout);
    }
    let results = results(directory.path());
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(results.join("graph.json")).unwrap()).unwrap();
    // Which rates hold depends on the machine; that some were tried does not.
    assert!(json["rates"][0]["closed"]["ok"].as_u64().unwrap() > 0);
    assert!(!json["rates"][0]["steps"].as_array().unwrap().is_empty());
    assert!(results.join("reads-search-1cpu.prony.json").is_file());
}

#[test]
fn an_interrupted_run_stops_the_engine_and_removes_its_data() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--nodes", "50000000", "--no-rates", "--step", "10m"];
    let child = start(directory.path(), &arguments);
    let is_served = || {
        fs::read_dir(directory.path().join("results")).is_ok_and(|mut entries| {
            entries.any(|entry| {
                let log = entry.unwrap().path().join("engine.log");
                fs::read_to_string(log).is_ok_and(|log| log.contains("listening on"))
            })
        })
    };
    while !is_served() {
        thread::sleep(Duration::from_millis(20));
    }
    let results = results(directory.path());
    assert_eq!(data_directories(&results).len(), 1);
    child.signal(Signal::INT);
    let finished = child.wait();
    assert!(finished.stdout.contains("The run was stopped"), "{}{}", finished.stdout, finished.stderr);
    assert_eq!(data_directories(&results), [""; 0]);
    let log = fs::read_to_string(results.join("engine.log")).unwrap();
    let address = log.split("listening on http://").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(std::net::TcpStream::connect(address.trim_end_matches('/')).is_err(), "nobody listens any more");
}

/// A served graph of its own.
fn serve() -> (PronyProcess, String, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let source = format!("graph:{}", directory.path().display());
    let mut process = PronyProcess::start(PRONY, ["serve", &source, "--listen", "127.0.0.1:0"]);
    let url = process.wait_for_url();
    (process, url, directory)
}

/// Runs the example script, first to create, then to read what was created; gives both outputs.
fn create_and_read(program: &str, before: &[&str]) -> [String; 2] {
    let (_process, url, _directory) = serve();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/wrk/graph.lua");
    let results = tempfile::tempdir().unwrap();
    // Few keys are read, so that even a busy machine has created them.
    [&["create"][..], &["read", "10"]].map(|own| {
        let mut command = Command::new(program);
        command.args(before).args(["-t1", "-c2", "-d1s", "-s", script, &url, "--"]).args(own);
        let output = command.current_dir(results.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    })
}

fn check_script(outputs: &[String; 2]) {
    for output in outputs {
        assert!(!output.contains("Non-2xx") && !output.contains("Socket errors"), "{output}");
        let requests = output.split(" requests in").next().and_then(|text| text.split_whitespace().last());
        assert!(requests.unwrap().parse::<u64>().unwrap() > 10, "{output}");
    }
}

#[test]
fn the_studys_requests_run_as_a_wrk_script() {
    check_script(&create_and_read(PRONY, &["run", "--quiet"]));
}

#[test]
fn real_wrk_runs_the_same_script() {
    // Debian's package `wrk`; without it there is nothing to show.
    if Command::new("wrk").arg("-v").output().is_ok() {
        check_script(&create_and_read("wrk", &[]));
    }
}
