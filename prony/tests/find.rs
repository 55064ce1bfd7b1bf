//! `prony find` as a user meets it: exit codes, the file with every run, what it prints and what it refuses.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use prony_testkit::process::{Finished, PronyProcess, Signal};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn prony_find(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).arg("find").args(arguments).output().unwrap()
}

fn plan(directory: &Path, url: &str) {
    let text = format!(
        "target = \"{url}\"\nusers = 4\nduration = \"1s\"\nthink_time = \"10ms\"\n\
         [[requests]]\nname = \"a\"\npath = \"/a\"\n"
    );
    fs::write(directory.join("plan.toml"), text).unwrap();
}

const SHORT: [&str; 11] =
    ["--from", "1", "--max", "4", "--repeats", "2", "--ramp", "0s", "--hold", "200ms", "--threads=1"];

/// What the answer of a search exits with.
fn code_of(file: &serde_json::Value) -> i32 {
    match file["answer"].as_str().unwrap() {
        "between" | "at_least" => 0,
        "below" => 1,
        _ => 3,
    }
}

/// Whether the machine was busy decides if loads pass; that the exit code and the file agree does not.
#[test]
fn the_file_holds_every_run_and_the_exit_code_follows_the_answer() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer.url());
    let arguments = [&["plan.toml", "--slo", "errors<50%"], &SHORT[..]].concat();
    let output = prony_find(directory.path(), &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("plan: ") && text.contains("errors<50%") && text.contains("load"), "{text}");
    assert!(progress.contains("1 user: "), "{progress}");
    let path = text.lines().find_map(|line| line.strip_prefix("result: ")).unwrap();
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join(path)).unwrap()).unwrap();
    assert_eq!((&file["schema"], &file["state"]), (&"prony-search".into(), &"completed".into()));
    let steps = file["steps"].as_array().unwrap();
    assert_eq!(steps[0]["load"], 1);
    for run in steps.iter().flat_map(|step| step["runs"].as_array().unwrap()) {
        assert_eq!(run["result"]["schema"], "prony-result");
        assert_eq!(run["result"]["plan"]["scenarios"][0]["load"]["model"], "closed");
    }
    let code = code_of(&file);
    assert_eq!(output.status.code(), Some(code), "{text}");
    let word =
        ["passed: every objective was kept up to ", "FAILED: ", "", "VOID, neither passed nor failed: "];
    let last = text.lines().rev().nth(2).unwrap();
    assert!(last.starts_with(word[code as usize]) && !word[code as usize].is_empty(), "{text}");
}

#[test]
fn an_objective_that_nothing_keeps_is_exit_1() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let url = format!("{}/page", peer.url());
    let arguments = [&[url.as_str(), "--slo", "max<1us", "--json", "--quiet"], &SHORT[..]].concat();
    let output = prony_find(directory.path(), &arguments);
    assert!(output.stderr.is_empty());
    let file: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code_of(&file)));
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(file["interval"]["passed"], serde_json::Value::Null);
    assert_eq!(file["steps"][0]["runs"][0]["result"]["plan"]["requests"][0]["name"], "GET /page");
}

/// The one run is the last, after which nothing goes on.
#[test]
fn a_search_that_cannot_be_written_says_at_its_end_that_it_is_over() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("taken"), "a file in the place of the folder").unwrap();
    let (url, output) = (peer.url(), ["--output", "taken", "--quiet"]);
    let once =
        ["--from", "1", "--max", "1", "--repeats", "1", "--ramp", "0s", "--hold", "200ms", "--threads=1"];
    let arguments = [&[url.as_str(), "--slo", "errors<50%"], &once[..], &output].concat();
    let error = String::from_utf8(prony_find(directory.path(), &arguments).stderr).unwrap();
    assert!(error.contains("cannot write the result to taken/find-"), "{error}");
    assert!(error.contains("what is printed is all that is left of it"), "{error}");
    assert!(!error.contains("goes on"), "{error}");
}

/// There is nothing to be written, which is no fault of the folder.
#[test]
fn a_search_that_is_stopped_in_its_first_run_names_no_file() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory.path()).args(["find", &peer.url(), "--slo", "errors<50%", "--hold", "1h"]);
    let (search, begun) = (PronyProcess::start_command(command), Instant::now());
    while !(0..peer.connections()).any(|index| !peer.received(index).is_empty()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{search}");
        thread::sleep(Duration::from_millis(10));
    }
    search.signal(Signal::INT);
    let Finished { status, stdout, stderr } = search.wait();
    assert_eq!(status.code(), Some(3), "{stdout}{stderr}");
    assert!(stdout.contains("nothing is known: no load was measured to the end"), "{stdout}");
    assert!(!stdout.contains("result: "), "{stdout}");
}

#[test]
fn what_cannot_be_searched_is_exit_2() {
    let directory = tempfile::tempdir().unwrap();
    let gone = format!("http://127.0.0.1:{}", prony_testkit::free_port());
    for (arguments, part) in [
        (vec![gone.as_str()], "nothing says what a load must keep"),
        (vec![gone.as_str(), "--slo", "p95<500"], "`500` is not a duration"),
        (vec![gone.as_str(), "--slo", "p95<500ms"], "cannot reach the target"),
        (vec![gone.as_str(), "--slo", "p95<500ms", "--resolution", "5"], "`5` is no share"),
        (vec!["nothing.toml", "--slo", "p95<500ms"], "cannot read the plan nothing.toml"),
        (
            vec![gone.as_str(), "--slo", "p95<500ms", "-e", "A=b"],
            "`-e A=b` sets variables of k6 scripts, and http",
        ),
        (
            vec![gone.as_str(), "--slo", "p95<500ms", "-J", "a=b"],
            "`-J a=b` sets properties of JMeter plans, and",
        ),
        (vec![gone.as_str(), "--slo", "p95<500ms", "--from", "-1"], "-1 is not in 1..=4294967295"),
        (
            vec![gone.as_str(), "--slo", "p95<500ms", "--users", "9"],
            "--users are those that serve the starts of a rate, and here users vary",
        ),
        (
            vec![gone.as_str(), "--slo", "p95<500ms", "-c", "50"],
            "in the place of --connections write --from and --max",
        ),
        (
            vec![gone.as_str(), "-H", "Accept: a/b"],
            "prony from-curl 'curl URL -H …' -o plan.toml, and then prony find",
        ),
    ] {
        let output = prony_find(directory.path(), &arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!directory.path().join("results").exists());
}

/// A wrk script is searched like a plan: each run has the script's requests, and what it refuses is said beforehand.
#[test]
fn a_wrk_script_is_searched() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("w.lua"), "wrk.method = 'PUT'\nwrk.headers['X-From'] = 'script'\n")
        .unwrap();
    let url = format!("{}/path", peer.url());
    let output =
        prony_find(directory.path(), &[&["w.lua", &url, "--slo", "errors<50%"], &SHORT[..]].concat());
    let (text, error) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let path =
        text.lines().find_map(|line| line.strip_prefix("result: ")).unwrap_or_else(|| panic!("{error}"));
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join(path)).unwrap()).unwrap();
    assert_eq!(file["state"], "completed");
    let runs: Vec<_> =
        file["steps"].as_array().unwrap().iter().flat_map(|step| step["runs"].as_array().unwrap()).collect();
    assert!(runs.len() >= 2, "{runs:?}");
    let received: Vec<_> = (0..peer.connections()).map(|index| peer.received(index)).collect();
    let sent = String::from_utf8(received.concat()).unwrap();
    assert!(sent.starts_with("PUT /path HTTP/1.1\r\n") && sent.contains("X-From: script\r\n"), "{sent:.300}");
    assert!(!sent.contains("GET "), "{sent:.300}");

    let alone = prony_find(directory.path(), &["w.lua", "--slo", "errors<50%"]);
    let error = String::from_utf8(alone.stderr).unwrap();
    assert!(error.contains("the script `w.lua` needs a URL: prony find w.lua http://"), "{error}");
    assert_eq!(alone.status.code(), Some(2));
    fs::write(directory.path().join("broken.lua"), "this is no Lua").unwrap();
    let broken = prony_find(directory.path(), &["broken.lua", &url, "--slo", "errors<50%"]);
    let error = String::from_utf8(broken.stderr).unwrap();
    assert!(error.contains("broken.lua"), "{error}");
    assert_eq!(broken.status.code(), Some(2));
}

/// A load that this machine has too few descriptors for is a step that the lab limits, and the search goes on below it.
#[test]
fn a_script_that_meets_the_limit_of_descriptors_is_searched_below_it() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let script = format!(
        "import http from 'k6/http';\nexport const options = {{ vus: 1, duration: '1s' }};\n\
         export default function () {{ http.get('{}/a'); }}\n",
        peer.url()
    );
    fs::write(directory.path().join("s.js"), script).unwrap();
    let mut command = Command::new("sh");
    command.current_dir(directory.path()).args(["-c", "ulimit -n 200 && exec \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_prony")).args([
        "find",
        "s.js",
        "--slo",
        "errors<50%",
        "--json",
        "--quiet",
    ]);
    command.args(["--from", "150", "--max", "150", "--repeats", "1", "--ramp", "0s", "--hold", "200ms"]);
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let file: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    let step = &file["steps"][0];
    assert_eq!((&step["load"], &step["verdict"]), (&150.into(), &"lab_limited".into()), "{file}");
    assert!(step["note"].as_str().unwrap().contains("250 descriptors are needed"), "{step}");
    assert!(file["steps"].as_array().unwrap().len() > 1, "it is searched below: {file}");
    assert_eq!(output.status.code(), Some(code_of(&file)), "{error}");
}
