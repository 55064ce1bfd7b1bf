//! Logs that grow beside a run whose clock stands where the test puts it.

use super::*;
use crate::book::Book;
use prony_model::measurement::observation::Observation;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A run of ten seconds that is just over; times of lines are milliseconds since its start.
struct Run {
    directory: tempfile::TempDir,
    clock: RunClock,
    wall_ms: u128,
}

impl Run {
    fn new() -> Self {
        let clock = RunClock::started_at(Instant::now().checked_sub(Duration::from_secs(10)).unwrap());
        let wall_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() - 10_000;
        Self { directory: tempfile::tempdir().unwrap(), clock, wall_ms }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("gc.log")
    }

    fn append(&self, text: &str) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn open(&self) -> GcLogObserver {
        GcLogObserver::open(self.path().to_str().unwrap()).unwrap()
    }

    /// The decoration of a line that is written `at_ms` after the start.
    fn wall(&self, at_ms: u128) -> String {
        format!("[{}ms]", self.wall_ms + at_ms)
    }

    fn seen(&self, observer: &mut GcLogObserver) -> Observation {
        let (mut book, mut notes) = (Book::default(), Notes::default());
        observer.look(&self.clock, &mut notes);
        book.write(notes);
        book.observations().pop().unwrap_or_default()
    }
}

fn figure(observation: &Observation, name: &str) -> Option<f64> {
    observation.summary.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

fn series(observation: &Observation, name: &str) -> Vec<(f64, f64)> {
    let series = observation.series.iter().find(|series| series.name == name);
    let points = series.map(|series| series.points.as_slice()).unwrap_or_default();
    points.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect()
}

fn assert_near(value: f64, expected: f64) {
    // A millisecond of the log's own, and the clock's of the time between two readings of it.
    assert!((value - expected).abs() < 0.1, "{value} instead of {expected}");
}

const START: &str = "[0.005s][info][gc] Using G1\n";

#[test]
fn pauses_of_the_run_are_placed_by_their_dates() {
    let run = Run::new();
    run.append(START);
    let mut observer = run.open();
    let wall = |at_ms| run.wall(at_ms);
    run.append(&format!("{}[gc] GC(1) Pause Young (Normal) 24M->4M(256M) 500.000ms\n", wall(3_000)));
    run.append(&format!("{}[gc] GC(2) Pause Full (System.gc()) 30M->3M(256M) 1500.000ms\n", wall(6_000)));
    let seen = run.seen(&mut observer);
    assert_eq!(seen.name, "collector gc.log");
    let pauses = series(&seen, "pause");
    assert_eq!(pauses.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [5e8, 1.5e9]);
    assert_near(pauses[0].0, 2.5);
    assert_near(pauses[1].0, 4.5);
    assert_near(figure(&seen, "GC throughput").unwrap(), 0.8);
    assert_eq!(series(&seen, "heap before collection").len(), 2);
    assert_near(series(&seen, "heap after full collection")[0].1, f64::from(3 << 20));
    assert_eq!(figure(&seen, "heap after the last full collection"), Some(f64::from(3 << 20)));
    assert_eq!(series(&seen, "heap committed").len(), 2);
    assert_eq!(figure(&seen, "heap committed, highest seen"), Some(f64::from(256 << 20)));
    assert_eq!((figure(&seen, "pauses"), figure(&seen, "full collections")), (Some(2.0), Some(1.0)));
    assert_eq!((figure(&seen, "aligned by dates"), seen.faults.len()), (Some(1.0), 0));
}

#[test]
fn pauses_before_the_run_are_not_its_own() {
    let run = Run::new();
    run.append(&format!("{}[gc] GC(0) Pause Full (System.gc()) 2M->1M(9M) 900.000ms\n", run.wall(0)));
    let mut observer = run.open();
    let clock = RunClock::started_at(Instant::now().checked_sub(Duration::from_secs(8)).unwrap());
    // Written between first contact and the start; half of the second one is in the run.
    run.append(&format!("{}[gc] GC(1) Pause Young (Normal) 2M->1M(9M) 100.000ms\n", run.wall(1_000)));
    run.append(&format!("{}[gc] GC(2) Pause Young (Normal) 2M->1M(9M) 2000.000ms\n", run.wall(3_000)));
    let seen = Run { clock, ..run }.seen(&mut observer);
    assert_eq!(series(&seen, "pause"), [(0.0, 2e9)]);
    assert_near(figure(&seen, "paused in all").unwrap() / 1e9, 1.0);
}

#[test]
fn without_dates_uptimes_and_the_time_of_writing_place_pauses() {
    let run = Run::new();
    run.append("0.100: [GC (Allocation Failure)  33280K->5126K(125952K), 0.0100000 secs]\n");
    let mut observer = run.open();
    run.append("107.900: [Full GC (System.gc())  9M->4M(125M), 0.1000000 secs]\n");
    run.append("108.000: [GC (Allocation Failure)  9M->4M(125M), 0.2000000 secs]\n");
    // The last of it was written nine seconds after the start: uptime 108.2 s is second 9.
    let file = fs::File::open(run.path()).unwrap();
    let written = UNIX_EPOCH + Duration::from_millis(u64::try_from(run.wall_ms).unwrap() + 9_000);
    file.set_modified(written).unwrap();
    let seen = run.seen(&mut observer);
    let pauses = series(&seen, "pause");
    assert_near(pauses[0].0, 8.7);
    assert_near(pauses[1].0, 8.8);
    assert_eq!(figure(&seen, "aligned by dates"), Some(0.0));
    assert!(seen.faults[0].1.contains("aligned by uptime"), "{:?}", seen.faults);
}

#[test]
fn a_full_pause_within_a_young_one_is_paused_once() {
    let run = Run::new();
    run.append(START);
    let mut observer = run.open();
    let wall = |at_ms| run.wall(at_ms);
    run.append(&format!("{}[gc] GC(5) Pause Full (Allocation Failure) 9M->4M(9M) 900.000ms\n", wall(4_000)));
    run.append(&format!(
        "{}[gc] GC(4) Pause Young (Allocation Failure) 9M->4M(9M) 1000.000ms\n",
        wall(4_000)
    ));
    let seen = run.seen(&mut observer);
    assert_near(figure(&seen, "paused in all").unwrap() / 1e9, 1.0);
    assert_eq!(series(&seen, "pause").len(), 2);
}

#[test]
fn broken_lines_are_counted_and_end_nothing() {
    let run = Run::new();
    run.append(START);
    let mut observer = run.open();
    run.append(&format!("{}[gc] GC(1) Pause Young (Normal) 24M->4M(2\n", run.wall(1_000)));
    run.append(&format!("{}[gc] GC(2) Pause Young (Normal) 24M->4M(256M) 1.000ms\n", run.wall(2_000)));
    let seen = run.seen(&mut observer);
    assert_eq!((figure(&seen, "broken lines"), figure(&seen, "pauses")), (Some(1.0), Some(1.0)));
    assert_eq!(seen.faults[0].1, "lines that cannot be read are left out and counted");
}

#[test]
fn nothing_is_claimed_of_a_log_that_nothing_is_written_to_or_that_leaves_pauses_away() {
    let run = Run::new();
    run.append(START);
    let mut observer = run.open();
    assert_eq!(run.seen(&mut observer), Observation::default());
    run.append(&format!("{}[gc] GC(1) Garbage Collection (Warmup) 20M(2%)->4M(1%)\n", run.wall(1_000)));
    let seen = run.seen(&mut observer);
    assert_eq!((figure(&seen, "GC throughput"), figure(&seen, "full collections")), (None, Some(1.0)));
    assert!(seen.faults[0].1.contains("not of their pauses"), "{:?}", seen.faults);
}

#[test]
fn another_machines_clock_is_told() {
    let run = Run::new();
    run.append(START);
    let mut observer = run.open();
    run.append(&format!("{}[gc] GC(1) Pause Young (Normal) 2M->1M(9M) 1.000ms\n", run.wall(500_000)));
    assert!(run.seen(&mut observer).faults[0].1.contains("ahead of this machine's clock"));
}

#[test]
fn what_is_no_log_is_refused() {
    let run = Run::new();
    let message = |path: &str| GcLogObserver::open(path).unwrap_err().of(&format!("gc:{path}")).to_string();
    let missing = message("/nowhere/gc.log");
    expect_test::expect!["observer `gc:/nowhere/gc.log`: `/nowhere/gc.log` cannot be read: No such file or directory (os error 2); start the JVM with -Xlog:gc*:file=FILE (JDK 9 and later) or -Xloggc:FILE (JDK 8) first"].assert_eq(&missing);
    run.append("2026-11-21 ERROR something\n");
    assert!(message(run.path().to_str().unwrap()).contains("is not a log of garbage collections"));
    assert!(message(run.directory.path().to_str().unwrap()).contains("it is not a file"));
}
