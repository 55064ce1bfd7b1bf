//! Snapshots that are taken without being asked for.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Durability, Options, Side, SnapshotState, Store};
use std::fs;
use std::path::Path;

const OPTIONS: Options = Options {
    snapshot_at_log_bytes: Some(20_000),
    ..Options::new(Durability::Interval(std::time::Duration::MAX))
};

/// Writes until the snapshots are as wanted.
fn write_until(store: &Store, made: &mut u64, is_wanted: impl Fn(&SnapshotState) -> bool) {
    while !is_wanted(&store.snapshots()) {
        store.write_and_wait(|write| write.create_node("N", &made.to_string(), &[])).unwrap();
        *made += 1;
    }
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_long_log_is_replaced_by_a_snapshot_and_a_failure_is_seen_and_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    let mut made = 0;
    write_until(&store, &mut made, |state| state.last.is_some());
    let (first, ..) = store.snapshots().last.unwrap();
    assert!(first.nodes > 300 && store.snapshots().failure.is_none(), "{first:?}");
    // What stands in its way is no file.
    let in_the_way = directory.path().join("snapshot.part");
    while fs::create_dir(&in_the_way).is_err() {}
    write_until(&store, &mut made, |state| state.failure.is_some());
    assert_eq!(store.read().count(Side::Nodes, None), made, "the graph goes on");
    let failure = store.health().snapshots.failure.unwrap();
    assert!(failure.in_a_row >= 1 && failure.error.to_string().contains("snapshot.part"), "{failure:?}");
    assert!(failure.retry_at_log_bytes.unwrap() > 60_000, "it is tried again after 64 KiB more: {failure:?}");
    write_until(&store, &mut made, |state| {
        state.failure.as_ref().is_some_and(|next| next.in_a_row > failure.in_a_row)
    });
    // Asked for, it fails in the same way and is told of in the same way.
    assert!(store.snapshot().is_err());
    assert!(store.health().snapshots.failure.unwrap().in_a_row > failure.in_a_row + 1);
    fs::remove_dir(&in_the_way).unwrap();
    write_until(&store, &mut made, |state| {
        state.last.as_ref().is_some_and(|(report, ..)| report.number > first.number)
    });
    assert!(store.snapshots().failure.is_none());
    drop(store);
    // Beside a snapshot and two files of the log: `lock`, `log-state` and `reserve`.
    assert!(files(directory.path()) <= 6, "old files stay");
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    assert_eq!(store.read().count(Side::Nodes, None), made);
    assert!(store.recovery().frames < made, "the log was read from its beginning");
}

/// The start was refused, although nobody reads the file, and a snapshot that was in its place counted as failed.
#[test]
fn a_needless_file_that_cannot_be_removed_keeps_neither_a_start_nor_a_snapshot_from_counting() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    store.write_and_wait(|write| write.create_node("N", "a", &[])).unwrap();
    let first = store.snapshot().unwrap();
    // It is called as a snapshot, and is none.
    let stuck = directory.path().join("snapshot-000000000001");
    fs::create_dir(&stuck).unwrap();
    store.write_and_wait(|write| write.create_node("N", "b", &[])).unwrap();
    let second = store.snapshot().unwrap();
    assert!(second.number > first.number, "{second:?}");
    let is_told = |store: &Store| {
        let SnapshotState { failure, unremoved, .. } = store.snapshots();
        assert!(failure.is_none(), "{failure:?}");
        unremoved.is_some_and(|(error, _)| error.to_string().contains("cannot remove"))
    };
    assert!(is_told(&store) && store.log_bytes() == 0);
    let is_there = |number: u64| directory.path().join(format!("snapshot-{number:012}")).exists();
    assert!(is_there(second.number) && !is_there(first.number), "what can be removed is");
    drop(store);
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    assert_eq!(store.read().count(Side::Nodes, None), 2);
    assert!(is_told(&store));
    fs::remove_dir(&stuck).unwrap();
    store.snapshot().unwrap();
    assert!(!is_told(&store));
}

#[test]
fn asked_for_twice_it_is_the_same_and_files_do_not_pile_up() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    store.write_and_wait(|write| write.create_node("N", "a", &[])).unwrap();
    let first = store.snapshot().unwrap();
    let count = files(directory.path());
    for _ in 0..5 {
        assert_eq!(store.snapshot().unwrap(), first);
    }
    assert!(files(directory.path()) <= count + 1);
    assert_eq!(store.log_bytes(), 0);
    drop(store);
    assert_eq!(Store::open(directory.path(), OPTIONS).unwrap().read().count(Side::Nodes, None), 1);
}
