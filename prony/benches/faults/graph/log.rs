//! Faults of the log: what is written to it, synced, cut off, and gone on with in another file.

use std::{
    fs,
    ops::Range,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::process::Signal;

use super::{Graph, LOG_THREAD, SNAPSHOT_PATIENCE, Snapshots, files};
use crate::{
    injection::{Fault, LASTS, Sign},
    syscalls::{Injection, has_short_write, is_injected, rests},
};

/// A sync of 3 s is felt for at least as long.
const FELT: Duration = Duration::from_millis(2_500);
/// How large files may grow on the full disk: all of the graph's are larger.
const FULL_BYTES: u64 = 30_000;
/// Between two looks at how fast the log grows: longer than it takes to read it and to limit its length.
const LOOK: Duration = Duration::from_millis(150);
/// So many of the last frames say how long the next may be.
const LAST_FRAMES: usize = 20;
/// For a write that takes a part of its bytes: also where each is delayed by half a second.
const SHORT_PATIENCE: Duration = Duration::from_secs(30);

pub(super) const FAULTS: [Fault<Graph>; 13] = [
    Fault {
        name: "the disk is full for 3 s (no file may grow)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| {
            graph.limit_files(Some(FULL_BYTES));
            thread::sleep(LASTS);
            graph.limit_files(None);
        },
    },
    Fault {
        name: "each write to the log fails for 3 s (EIO)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| graph.while_injected("pwrite64", "error=EIO"),
    },
    Fault {
        name: "a write to the log takes a part of its bytes, and its rest finds no room for 3 s (EFBIG)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| write_short(graph, "delay_enter=1", "EFBIG"),
    },
    Fault {
        name: "a write to the log takes a part of its bytes, and its rest fails, for 3 s (EIO)",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| write_short(graph, "error=EIO:when=2+2", "EIO"),
    },
    Fault {
        name: "a write to the log takes a part of its bytes, and then its rest",
        setting: Snapshots::Rare,
        sign: Sign::Success,
        harm: write_in_two,
    },
    Fault {
        name: "each write to the log fails for 3 s and what there is of it cannot be cut off (EIO), and the server is started again",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| {
            graph.while_injected("pwrite64,ftruncate", "error=EIO");
            graph.restart(Signal::TERM);
        },
    },
    Fault {
        name: "a sync fails once (EIO), and the server is started again after 3 s",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| {
            graph.while_injected("fdatasync", "error=EIO:when=1");
            graph.restart(Signal::TERM);
        },
    },
    Fault {
        name: "a sync fails once (EIO), and the server is killed after 3 s (SIGKILL) and started again",
        setting: Snapshots::Rare,
        sign: Sign::Failures,
        harm: |graph| {
            graph.while_injected("fdatasync", "error=EIO:when=1");
            graph.restart(Signal::KILL);
        },
    },
    Fault {
        name: "a sync takes 3 s",
        setting: Snapshots::Rare,
        sign: Sign::Interruption(FELT),
        harm: |graph| graph.while_injected("fdatasync", "delay_enter=3000000:when=1"),
    },
    Fault {
        name: "each sync takes 50 ms longer for 3 s",
        setting: Snapshots::Rare,
        sign: Sign::None,
        harm: |graph| graph.while_injected("fdatasync", "delay_enter=50000"),
    },
    Fault {
        name: "the log cannot be cut when it goes on in another file (EIO), and the server is killed after 3 s (SIGKILL) and started again",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| fail_to_go_on(graph, "ftruncate"),
    },
    Fault {
        name: "the log cannot be synced when it goes on in another file (EIO), and the server is killed after 3 s (SIGKILL) and started again",
        setting: Snapshots::Frequent,
        sign: Sign::Failures,
        harm: |graph| fail_to_go_on(graph, "fsync"),
    },
    Fault {
        name: "how far the log is sure cannot be written down when it goes on in another file (EIO)",
        setting: Snapshots::Frequent,
        sign: Sign::Success,
        harm: |graph| {
            let state = graph.files().join("log-state");
            let injection =
                Injection::attach(&graph.threads(LOG_THREAD), "pwrite64", "error=EIO", Some(&state));
            let begun = injection.wait_for(SNAPSHOT_PATIENCE, is_injected);
            graph.begins(begun);
            thread::sleep(LASTS);
            injection.end();
        },
    },
];

/// Files may be as long as the log is within the next writes, so that the first to come there takes a part of its bytes. Its rest goes as
/// strace is told, which says so.
fn write_short(graph: &mut Graph, how: &str, said: &str) {
    let log = graph.newest("log-");
    graph.limit_files(Some(length_ahead(&log)));
    let injection = Injection::attach(&graph.threads(LOG_THREAD), "pwrite64", how, Some(&log));
    injection.wait_for(SHORT_PATIENCE, |text| rests(text).iter().any(|rest| rest.contains(said)));
    thread::sleep(LASTS);
    injection.end();
    graph.limit_files(None);
}

/// As [`write_short`]; the limit goes before the rest is written, for which there is time as each write is delayed.
fn write_in_two(graph: &mut Graph) {
    let log = graph.newest("log-");
    let threads = graph.threads(LOG_THREAD);
    let injection = Injection::attach(&threads, "pwrite64", "delay_enter=500000", Some(&log));
    graph.limit_files(Some(length_ahead(&log)));
    injection.wait_for(SHORT_PATIENCE, has_short_write);
    graph.limit_files(None);
    let is_written = |rest: &&str| !rest.starts_with('-');
    injection.wait_for(SHORT_PATIENCE, |text| rests(text).iter().any(is_written));
    injection.end();
}

/// Of the log, behind all that is written while this is found out, and within the zeros ahead of its frames: so that what comes there is a frame
/// and no more zeros.
fn length_ahead(log: &Path) -> u64 {
    let end_of = |frames: &[Range<usize>]| frames.last().map_or(0, |frame| frame.end);
    let read = || fs::read(log).expect("the log can be read");
    let begin = Instant::now();
    loop {
        let before = end_of(&files::frames(&read()));
        thread::sleep(LOOK);
        let bytes = read();
        let frames = files::frames(&bytes);
        let end = end_of(&frames);
        let longest = frames.iter().rev().take(LAST_FRAMES).map(ExactSizeIterator::len).max().unwrap_or(0);
        let length = end + 2 * longest.max(end.saturating_sub(before));
        if length <= bytes.len() {
            return length as u64;
        }
        assert!(begin.elapsed() < SHORT_PATIENCE, "a log that is written has zeros ahead");
    }
}

/// A call of the log's thread fails that it makes when it goes on in another file, as it does for a snapshot.
fn fail_to_go_on(graph: &mut Graph, calls: &str) {
    let injection = Injection::attach(&graph.threads(LOG_THREAD), calls, "error=EIO", None);
    let begun = injection.wait_for(SNAPSHOT_PATIENCE, is_injected);
    graph.begins(begun);
    thread::sleep(LASTS);
    injection.end();
    graph.restart(Signal::KILL);
}
