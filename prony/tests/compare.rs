//! `prony compare` as a user meets it: runs in turns, conditions, saved results, exit codes.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const BROKEN: &str = "HTTP/1.1 500 Oh No\r\nContent-Length: 2\r\n\r\nno";

fn prony_compare(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).arg("compare").args(arguments).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Whether the lab was too busy to be believed depends on the machine.
fn is_void(shown: &str) -> bool {
    shown.contains("runs were not about the target")
}

const SHORT: [&str; 5] = ["--duration=200ms", "--users=2", "--threads=1", "--runs", "3"];

#[test]
fn a_b_b_a_and_what_was_saved_is_judged_again() {
    let (a, b) = (ScriptedPeer::answering(OK), ScriptedPeer::answering(OK));
    let (urls, directory) = ([a.url(), b.url()], tempfile::tempdir().unwrap());
    let condition = ["--fail-if", "throughput worse than 900%"];
    let arguments = [&[urls[0].as_str(), &urls[1]], &SHORT[..], &condition].concat();
    let output = prony_compare(directory.path(), &arguments);
    let shown = text(output.stdout);
    let (code, judged) = if is_void(&shown) { (3, "VOID") } else { (0, "kept") };
    assert_eq!(output.status.code(), Some(code), "{shown}");
    let judged = format!("throughput worse than 900%  {judged}");
    let verdict =
        if code == 3 { "\nVOID, neither passed nor failed: " } else { "\npassed: no condition is shown\n" };
    for part in ["throughput", "3 runs of each, made in turns", &judged, verdict] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let path = shown.lines().find_map(|line| line.strip_prefix("result: ")).unwrap();
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join(path)).unwrap()).unwrap();
    assert_eq!((&file["schema"], &file["state"]), (&"prony-comparison".into(), &"completed".into()));
    let sides: Vec<_> = file["runs"].as_array().unwrap().iter().map(|run| run["side"].clone()).collect();
    assert_eq!(sides, ["a", "b", "b", "a", "a", "b"]);

    let again = prony_compare(directory.path(), &[path, "--fail-if", "errors worse than 0%", "--json"]);
    assert_eq!(again.status.code(), Some(code));
    let judged: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(judged["fail_if"][0]["failure"], if code == 3 { "void" } else { "excluded" });
    assert_eq!(judged["comparison"]["pairs"], 3);

    // What `--json` has printed into a file is a saved comparison as well.
    fs::write(directory.path().join("judged.json"), &again.stdout).unwrap();
    let arguments = ["judged.json", "--fail-if", "errors worse than 0%"];
    assert_eq!(prony_compare(directory.path(), &arguments).status.code(), Some(code));
    // One of a later version is not judged by the rules of this one.
    let newer = text(again.stdout).replacen("\"schema_version\": 1", "\"schema_version\": 99", 1);
    fs::write(directory.path().join("newer.prony.json"), newer).unwrap();
    let refused = prony_compare(directory.path(), &["newer.prony.json"]);
    let error = text(refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("newer.prony.json: written by a newer version (schema 99"), "{error}");
}

#[test]
fn a_condition_that_is_shown_is_exit_1() {
    let (a, b) = (ScriptedPeer::answering(OK), ScriptedPeer::answering(BROKEN));
    let (urls, directory) = ([a.url(), b.url()], tempfile::tempdir().unwrap());
    let condition = ["--quiet", "--fail-if", "errors worse than 5%"];
    let arguments = [&[urls[0].as_str(), &urls[1]], &SHORT[..], &condition].concat();
    let output = prony_compare(directory.path(), &arguments);
    let shown = text(output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(output.stderr.is_empty());
    for part in
        ["errors worse than 5%  FAILED", "! errors-dominate", "no claim is made", "\nFAILED: B: not one of "]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

/// Each run but the last is followed by another one.
#[test]
fn a_comparison_that_cannot_be_written_says_at_its_end_that_it_is_over() {
    let (a, b) = (ScriptedPeer::answering(OK), ScriptedPeer::answering(OK));
    let (urls, directory) = ([a.url(), b.url()], tempfile::tempdir().unwrap());
    fs::write(directory.path().join("taken"), "a file in the place of the folder").unwrap();
    let output = ["--output", "taken", "--quiet"];
    let arguments = [&[urls[0].as_str(), &urls[1]], &SHORT[..], &output].concat();
    let error = text(prony_compare(directory.path(), &arguments).stderr);
    let is_over = error.lines().map(|line| line.contains("what is printed is all that is left of it"));
    assert_eq!(is_over.collect::<Vec<_>>(), [false, false, false, false, false, true], "{error}");
}

#[test]
fn saved_results_are_compared_without_running() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let plan = format!(
        "target = \"{}\"\nusers = 2\nduration = \"200ms\"\nthink_time = \"5ms\"\n[[requests]]\npath = \"/\"\n",
        peer.url()
    );
    fs::write(directory.path().join("plan.toml"), plan).unwrap();
    for folder in ["before", "after"] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_prony"));
        let run = run.current_dir(directory.path()).args(["run", "plan.toml", "--quiet", "--output", folder]);
        assert_eq!(run.output().unwrap().status.code(), Some(0));
    }
    let output = prony_compare(directory.path(), &["before", "after"]);
    let shown = text(output.stdout);
    // One run of each says nothing of the noise.
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("A: before") && shown.contains("no claim is made: "), "{shown}");
    assert!(shown.contains("\nVOID, neither passed nor failed: "), "{shown}");
    let mixed = prony_compare(directory.path(), &["before", "plan.toml"]);
    assert_eq!(mixed.status.code(), Some(2));
    assert!(text(mixed.stderr).contains("give two of the same kind"));

    // Under names of their own, as `--json` makes them.
    for folder in ["before", "after"] {
        let mut saved = fs::read_dir(directory.path().join(folder)).unwrap();
        let path = saved.next().unwrap().unwrap().path();
        fs::copy(path, directory.path().join(format!("{folder}.json"))).unwrap();
    }
    let output = prony_compare(directory.path(), &["before.json", "after.json"]);
    let shown = text(output.stdout);
    assert!(shown.contains("A: before.json") && shown.contains("no claim is made: "), "{shown}");

    // A file may have the comma in its name that parts files.
    fs::create_dir(directory.path().join("v1,2")).unwrap();
    fs::rename(directory.path().join("after.json"), directory.path().join("v1,2/after.json")).unwrap();
    let output = prony_compare(directory.path(), &["before.json", "v1,2/after.json"]);
    let shown = text(output.stdout);
    assert!(shown.contains("B: v1,2/after.json") && shown.contains("no claim is made: "), "{shown}");
}

#[test]
fn what_stands_alone_or_holds_no_run_is_told_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("shop.toml"), "target = \"http://127.0.0.1:1\"\n").unwrap();
    fs::create_dir(directory.path().join("before")).unwrap();
    fs::create_dir(directory.path().join("after")).unwrap();
    for (arguments, part) in [
        (&["shop.toml"][..], "shop.toml is one; write: prony compare shop.toml OTHER.toml"),
        (&["before"], "before is one; write: prony compare before OTHER"),
        (&["before", "after"], "before holds no result: no file in it ends with .prony.json"),
    ] {
        let output = prony_compare(directory.path(), arguments);
        let shown = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn what_cannot_be_compared_is_exit_2() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (&["a.prony.json"][..], "cannot read a.prony.json"),
        (&["a.toml", "b.toml"], "cannot read the plan a.toml"),
        (&["a.toml", "b.toml", "--fail-if", "p99 > 5%"], "has not the form"),
        (&["a.toml", "b.toml", "-c", "9", "-d", "5s"], "--users; in the place of -d write --duration"),
        (
            &["a.toml", "b.toml", "--users", "9"],
            "--users is the load of an address, and a.toml is a plan, which",
        ),
        (
            &["a.js", "b.toml", "--rate", "9"],
            "--rate is the load of an address, and a.js is a k6 script, which",
        ),
    ] {
        let output = prony_compare(directory.path(), arguments);
        let shown = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn wrk_scripts_are_compared_with_an_address_each_or_with_one() {
    let (a, b) = (ScriptedPeer::answering(OK), ScriptedPeer::answering(OK));
    let (urls, directory) = ([a.url(), b.url()], tempfile::tempdir().unwrap());
    fs::write(directory.path().join("a.lua"), "wrk.method = 'PUT'\n").unwrap();
    fs::write(directory.path().join("b.lua"), "wrk.method = 'DELETE'\n").unwrap();
    let check = |given: &[&str], subjects: [String; 2]| {
        let output = prony_compare(directory.path(), &[given, &SHORT, &["--json"]].concat());
        let error = text(output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{error}");
        let file: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(file["state"], "completed");
        assert_eq!([&file["a"]["given"], &file["b"]["given"]], [&subjects[0], &subjects[1]]);
    };
    check(
        &["a.lua", &urls[0], "b.lua", &urls[1]],
        [format!("a.lua {}", urls[0]), format!("b.lua {}", urls[1])],
    );
    check(&["a.lua", "b.lua", &urls[0]], [format!("a.lua {}", urls[0]), format!("b.lua {}", urls[0])]);
    check(&["a.lua", &urls[0], &urls[1]], [format!("a.lua {}", urls[0]), urls[1].clone()]);
    let sent = |peer: &ScriptedPeer| {
        let received: Vec<_> = (0..peer.connections()).map(|index| peer.received(index)).collect();
        String::from_utf8(received.concat()).unwrap()
    };
    assert!(sent(&a).contains("PUT / HTTP/1.1\r\n") && sent(&a).contains("DELETE / HTTP/1.1\r\n"));
    assert!(sent(&b).contains("DELETE / HTTP/1.1\r\n") && sent(&b).contains("GET / HTTP/1.1\r\n"));

    let output = prony_compare(directory.path(), &["a.lua", &urls[0]]);
    assert!(text(output.stderr).contains("two things are compared, and the arguments name 1"));
    assert_eq!(output.status.code(), Some(2));
}
