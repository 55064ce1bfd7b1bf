//! Files that are read while they are written: all of them are good as long as nothing has damaged them, and damage is found.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Durability, Options, Side, Store, scrub};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn problems(directory: &Path) -> Vec<String> {
    scrub(directory, &mut |_| true).unwrap().unwrap().problems
}

fn put(store: &Store, key: &str) {
    store.write_and_wait(|write| write.create_node("Größe", key, &[])).unwrap();
}

#[test]
fn nothing_is_wrong_with_files_that_are_being_written() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: Some(20_000), ..Options::new(Durability::Sync) };
    let store = Store::open(directory.path(), options).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let long = "x".repeat(500);
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                put(&store, &format!("{number}{long}"));
                number += 1;
            }
        });
        for _ in 0..40 {
            let found = problems(directory.path());
            is_over.store(!found.is_empty(), Ordering::Relaxed);
            assert_eq!(found, Vec::<String>::new());
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_flipped_byte_under_an_open_store_is_found_and_a_snapshot_mends_it() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Sync) };
    let store = Store::open(directory.path(), options).unwrap();
    for round in 0..3_u32 {
        put(&store, &format!("before {round}"));
        store.snapshot().unwrap();
        for number in 0..5 {
            put(&store, &format!("behind {round} {number}"));
        }
        let report = scrub(directory.path(), &mut |_| true).unwrap().unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
        assert!(report.snapshot.is_some() && report.frames >= 6 && report.bytes > 0);
        assert_eq!(report.sequence, Some(u64::from(6 * (round + 1))));
        assert_eq!(scrub(directory.path(), &mut |_| false).unwrap(), None, "it was ended");
        let prefix = ["snapshot-", "log-0", "log-0"][round as usize];
        let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let file = entries
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix))
            .max()
            .unwrap();
        let mut bytes = fs::read(&file).unwrap();
        // In the first frame, where a sequence number is, or its content.
        bytes[24 + [20, 9, 30][round as usize]] ^= 1;
        // In its place, so that the store has the same file.
        let open = fs::OpenOptions::new().write(true).open(&file).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&open, &bytes, 0).unwrap();
        let found = problems(directory.path());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&*file.to_string_lossy()) && found[0].contains("at byte 24"), "{found:?}");
        store.snapshot().unwrap();
        assert_eq!(problems(directory.path()), Vec::<String>::new());
    }
    drop(store);
    let store = Store::open(directory.path(), options).unwrap();
    assert_eq!(store.read().count(Side::Nodes, None), 18);
    // A file that is missing is found, too.
    put(&store, "one more");
    store.snapshot().unwrap();
    put(&store, "last");
    let logs = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let log =
        logs.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("log-0")).max().unwrap();
    fs::remove_file(log).unwrap();
    let found = problems(directory.path());
    assert_eq!(found.len(), 1, "{found:?}");
}

/// What a snapshot had made needless was cut off part by part before it was removed, also under those who read
/// it, and was told to be damaged.
#[test]
fn a_snapshot_that_is_taken_meanwhile_damages_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Off) };
    let store = Store::open(directory.path(), options).unwrap();
    let long = "x".repeat(60_000);
    // More than is cut off at a time, in the snapshot and in the log behind it.
    let put_many = |from: u32| (from..from + 200).for_each(|number| put(&store, &format!("{number}{long}")));
    put_many(0);
    store.snapshot().unwrap();
    put_many(200);
    let mut is_begun = false;
    let mut pace = |_: u64| {
        if !std::mem::replace(&mut is_begun, true) {
            store.snapshot().unwrap();
        }
        true
    };
    let report = scrub(directory.path(), &mut pace).unwrap().unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(report.bytes > 20_000_000, "{report:?}");
    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!((count("snapshot-"), count("log-0")), (1, 1), "what is needless is gone: {names:?}");
}
