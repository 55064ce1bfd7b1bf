//! Sweeps that were cut off, or that are made larger: what is measured stays, and the rest is measured.

use super::{SHORT, Swept, Trial, plan};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

fn trial() -> Trial {
    let trial = Trial::new();
    let url = trial.peer.url();
    trial.write("plan.toml", &plan(&url, "item = { list = [1] }", "path = \"/${item}\""));
    trial
}

#[test]
fn a_larger_sweep_keeps_what_is_measured_and_another_one_is_refused() {
    let trial = trial();
    let first = trial.demand(&["plan.toml", "--users=2"]);
    let before = fs::read(first.folder.join("users-2.prony.json")).unwrap();
    let resume = format!("--resume={}", first.folder.display());
    let ended = trial.sweep(&[&["plan.toml", "--users=1,2", &resume][..], &SHORT].concat());
    assert!(ended.error.contains("2 of 2: 2 users; measured before"), "{}", ended.error);
    let swept = Swept::read(&first.folder);
    assert_eq!(swept.column("Concurrent Users"), ["1", "2"]);
    assert_eq!(fs::read(first.folder.join("users-2.prony.json")).unwrap(), before);
    let other = trial.sweep(&["plan.toml", "--users=1,2", &resume, "--ramp=0s", "--warm-up=0s", "--hold=1s"]);
    assert_eq!(other.code, Some(2));
    assert!(
        other.error.contains("holds another sweep: --hold was `300 ms` and is `1.00 s`"),
        "{}",
        other.error
    );
    assert_eq!(fs::read(first.folder.join("users-2.prony.json")).unwrap(), before);
}

/// Ctrl-C in the second of three: the first is kept, the second is measured again.
#[test]
fn a_sweep_that_was_interrupted_goes_on() {
    let trial = trial();
    let arguments = ["plan.toml", "--users=1,2,3", "--ramp=0s", "--warm-up=0s", "--hold=2s", "--threads=1"];
    let mut command = trial.command(&arguments);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().starts_with("2 of 3: 2 users")).unwrap().unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("2 of 3 combinations were not measured"), "{shown}");
    let folder =
        shown.lines().find_map(|line| line.strip_prefix("go on with the same command and --resume "));
    let folder = trial.folder.path().join(folder.unwrap());
    let stopped = Swept::read(&folder);
    assert_eq!(stopped.column("Concurrent Users"), ["1"]);
    assert_eq!(stopped.json("sweep.json")["state"], "stopped");
    let before = fs::read(folder.join("users-1.prony.json")).unwrap();
    let resume = format!("--resume={}", folder.display());
    trial.sweep(&[&arguments[..], &[&resume, "--quiet"]].concat());
    let whole = Swept::read(&folder);
    assert_eq!(whole.column("Concurrent Users"), ["1", "2", "3"]);
    assert_eq!(whole.json("sweep.json")["state"], "completed");
    assert_eq!(whole.json("users-2.prony.json")["state"], "completed");
    assert_eq!(fs::read(folder.join("users-1.prony.json")).unwrap(), before);
}

/// A target that goes away: the first combination is kept and in the tables.
#[test]
fn an_error_in_the_middle_keeps_what_is_measured() {
    let trial = trial();
    let port = prony_testkit::free_port();
    let url = format!("http://127.0.0.1:{port}/health");
    let prony = env!("CARGO_BIN_EXE_prony");
    // The second start fails.
    let start = format!(
        "[ -e once ] && {{ echo no more memory >&2; exit 7; }}; touch once; exec {prony} example donuts --listen 127.0.0.1:{port}"
    );
    let start = format!("--target-start={start}");
    let ended = trial.sweep(&[&[&url, "--users=1,2", &start][..], &SHORT].concat());
    assert_eq!(ended.code, Some(2), "{}{}", ended.out, ended.error);
    assert!(ended.error.contains("ended with exit status: 7"), "{}", ended.error);
    assert!(ended.error.contains("no more memory"), "{}", ended.error);
    let folder = ended.error.lines().find_map(|line| line.split_once("--resume ").map(|(_, folder)| folder));
    let swept = Swept::read(&trial.folder.path().join(folder.unwrap()));
    assert_eq!(swept.column("Concurrent Users"), ["1"]);
}
