//! `prony run` as a user meets it: the process, its exit code, what it prints and what it leaves.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"data\":{}}";

fn prony_run(directory: &Path, plan: &str, flags: &[&str]) -> Output {
    fs::write(directory.join("plan.toml"), plan).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).args(["run", "plan.toml"]).args(flags).output().unwrap()
}

fn plan(url: &str, threshold: &str) -> String {
    format!(
        "target = \"{url}\"\nusers = 4\nduration = \"1s\"\nthink_time = \"10ms\"\nthresholds = [\"{threshold}\"]\n\
         [[requests]]\nname = \"q\"\ngraphql = {{ query = \"{{ a }}\" }}\n"
    )
}

fn results(directory: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(directory).map_or(Vec::new(), |entries| entries.map(|entry| entry.unwrap().path()).collect())
}

#[test]
fn a_kept_threshold_is_exit_0_and_the_result_is_kept() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let output = prony_run(directory.path(), &plan(&peer.url(), "errors<1%"), &["--threads", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in
        ["steady state", "successes a second", "kept  errors<1%", "! too-short", "result: results/plan-"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let files = results(&directory.path().join("results"));
    assert_eq!(files.len(), 1);
    assert!(files[0].to_string_lossy().ends_with(".prony.json"));
}

#[test]
fn a_failed_threshold_is_exit_1() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let flags = ["--json", "--quiet", "--output", "out", "--seed", "7"];
    let output = prony_run(directory.path(), &plan(&peer.url(), "max<1us"), &flags);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty());
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["thresholds"][0]["judgement"], "failed");
    assert_eq!(result["plan"]["seed"], 7);
    assert_eq!(results(&directory.path().join("out")).len(), 1);
}

#[test]
fn what_cannot_run_is_exit_2_with_every_mistake() {
    let directory = tempfile::tempdir().unwrap();
    let mistakes = "target = \"http://localhost\"\nusrs = 10\nduration = \"10 parsecs\"\nusers = 10\n\
                    [[requests]]\npath = \"/a/${nobody}\"\n";
    let output = prony_run(directory.path(), mistakes, &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    for part in ["plan.toml:2:1: ", "plan.toml:3:12: ", "plan.toml:6:8: "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let gone = format!("http://127.0.0.1:{}", prony_testkit::free_port());
    let output = prony_run(directory.path(), &plan(&gone, "errors<1%"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot reach the target"));
    assert!(results(&directory.path().join("results")).is_empty());
}

/// What could not be written is said when it is over, and no file is named that is not there.
#[test]
fn a_result_that_cannot_be_written_is_not_said_to_be_there() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("taken"), "a file in the place of the folder").unwrap();
    let flags = ["--threads", "1", "--quiet", "--output", "taken"];
    let output = prony_run(directory.path(), &plan(&peer.url(), "errors<1%"), &flags);
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{error}");
    assert!(error.contains("cannot write the result to taken/plan-"), "{error}");
    assert!(
        error.contains("what is printed is all that is left of it") && !error.contains("goes on"),
        "{error}"
    );
    assert!(text.contains("result: not written, taken/plan-"), "{text}");
}

/// As `head` does that has seen enough: it ends quietly, with the code that it would have ended with.
#[test]
fn a_reader_that_is_gone_is_no_error() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("kept.toml"), plan(&peer.url(), "errors<1%")).unwrap();
    fs::write(directory.path().join("failed.toml"), plan(&peer.url(), "max<1us")).unwrap();
    let script = format!(
        "import http from 'k6/http';\nexport const options = {{ vus: 1, iterations: 1 }};\n\
         export default function () {{ http.get('{}'); }}\n",
        peer.url()
    );
    fs::write(directory.path().join("script.js"), script).unwrap();
    // A search on a busy machine may be void in place of failed.
    let find = format!("find {} --slo max<1us --max 1 --repeats 1 --ramp 0s --hold 200ms", peer.url());
    let commands: [(&str, &[i32]); 8] = [
        ("run kept.toml", &[0]),
        ("run failed.toml", &[1]),
        ("run kept.toml --json", &[0]),
        ("run kept.toml --explain", &[0]),
        ("run script.js", &[0]),
        ("run script.js --check", &[0]),
        ("lab", &[0]),
        (&find, &[1, 3]),
    ];
    for (arguments, codes) in commands {
        let ends = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.current_dir(directory.path()).args(arguments.split(' '));
        let output = command.stdout(ends()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("error: ") && !error.contains("pipe"), "{arguments}: {error}");
        assert!(codes.contains(&output.status.code().unwrap()), "{arguments}: {error}");
        let status = command.stdout(ends()).stderr(ends()).status().unwrap();
        assert!(
            codes.contains(&status.code().unwrap()),
            "{arguments}, with standard error gone too: {status}"
        );
    }
}
