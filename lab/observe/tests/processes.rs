//! Observers of processes against processes that the test starts and ends.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_model::measurement::observation::Observation;
use prony_observe::{Observers, Problem};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A child that ends with the test.
struct Process(Child);

impl Process {
    /// A child can be seen for a moment before it has its program's name.
    fn start(command: &mut Command, name: &str) -> Self {
        let process = Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
        let comm = format!("/proc/{}/comm", process.0.id());
        while std::fs::read_to_string(&comm).unwrap().trim_end() != name {
            std::thread::yield_now();
        }
        process
    }

    fn label(&self, name: &str) -> String {
        format!("process {name} ({})", self.0.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn started(spec: &str) -> Observers {
    let mut observers = Observers::open(&Observers::parse(&[spec.to_owned()]).unwrap()).unwrap();
    observers.start(Instant::now());
    observers
}

/// Looks until `holds`, which the observers need a second or two for.
fn until(observers: &Observers, holds: impl Fn(&[Observation]) -> bool) -> Vec<Observation> {
    let begin = Instant::now();
    loop {
        let seen = observers.observations();
        if holds(&seen) {
            return seen;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "not within a minute: {seen:#?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn points(seen: &[Observation], name: &str, series: &str) -> usize {
    let observation = seen.iter().find(|observation| observation.name == name);
    let series = observation.and_then(|found| found.series.iter().find(|one| one.name == series));
    series.map_or(0, |series| series.points.len())
}

#[test]
fn a_process_is_watched_and_its_end_is_a_fault_with_its_time() {
    let computing = ["-c", "while :; do :; done"];
    let process = Process::start(Command::new("/bin/sh").args(computing), "sh");
    let (id, label) = (process.0.id(), process.label("sh"));
    let mut observers = started(&format!("pid:{id}"));
    until(&observers, |seen| points(seen, &label, "processor time, user") > 0);
    drop(process);
    let seen = until(&observers, |seen| seen.iter().any(|one| !one.faults.is_empty()));
    let ended = seen.iter().find(|one| one.name == label).unwrap();
    assert_eq!(ended.faults[0].1, format!("process {id} has ended"));
    assert!(ended.summary.iter().any(|figure| figure.name == "processor time, mean" && figure.value > 0.0));
    for series in ["resident memory", "threads", "descriptors", "context switches, involuntary"] {
        assert!(points(&seen, &label, series) > 0, "{series}");
    }
    observers.stop();
    let seen = observers.observations();
    assert!(points(&seen, "lab", "processor time, user") > 0, "the lab watches itself");
}

#[test]
fn processes_that_join_during_the_run_are_found_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("prony-test-busy");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let spawn = || Process::start(Command::new(&program).arg("100"), "prony-test-busy");
    let first = spawn();
    let observers = started("name:prony-test-busy");
    let second = spawn();
    let (one, other) = (first.label("prony-test-busy"), second.label("prony-test-busy"));
    let seen =
        until(&observers, |seen| points(seen, &one, "threads") > 0 && points(seen, &other, "threads") > 0);
    let sum = seen.iter().find(|one| one.name == "processes prony-test-busy (all)").unwrap();
    let processes = sum.series.iter().find(|series| series.name == "processes").unwrap();
    let most = processes.points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    assert!((most - 2.0).abs() < 1e-9, "{processes:?}");
}

#[test]
fn who_is_not_there_is_told_before_the_run() {
    let specs = ["name:no-such-program".to_owned(), format!("pid:{}", u32::MAX)];
    let errors = Observers::open(&Observers::parse(&specs).unwrap()).unwrap_err();
    let problems: Vec<_> = errors.into_iter().map(|error| error.problem).collect();
    let missing = Problem::NoProcessNamed("no-such-program".to_owned());
    assert_eq!(problems, [missing, Problem::NoSuchProcess(u32::MAX)]);
}
