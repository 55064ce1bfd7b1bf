//! Backups of a graph while it is written and snapshots are taken: each is the graph at one moment, or there is none.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Around, BackupError, Durability, Options, Side, Store, backup, check};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

fn open(directory: &Path, durability: Durability) -> Store {
    Store::open(directory, Options { snapshot_at_log_bytes: Some(20_000), ..Options::new(durability) })
        .unwrap()
}

/// A node with a long key, and its relationship from the one before.
fn key(number: u64) -> String {
    format!("{number}{}", "x".repeat((number * 733 % 500) as usize))
}

fn put(store: &Store, number: u64) {
    let written = store.write_and_wait(|write| {
        let node = write.create_node("N", &key(number), &[])?;
        match number.checked_sub(1).and_then(|before| write.find("N", &key(before))) {
            Some(before) => write.create_relationship("NEXT", before, node, &[]).map(drop),
            None => Ok(()),
        }
    });
    written.unwrap();
}

/// How many nodes there are, each of which is linked to its neighbours.
fn count(store: &Store) -> u64 {
    let read = store.read();
    let nodes = read.count(Side::Nodes, None);
    for number in 0..nodes {
        let at = read.find("N", &key(number)).unwrap_or_else(|| panic!("of {nodes}, {number} is missing")).at;
        let linked = u64::from(number > 0) + u64::from(number + 1 < nodes);
        assert_eq!(read.degree(at, Around::default()), linked, "{number} of {nodes}");
    }
    nodes
}

/// Tells threads to end, also where an assertion fails.
struct OverOnDrop<'a>(&'a AtomicBool);

impl Drop for OverOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// It was made within the directory that it was to become, which then had something in it.
#[test]
fn a_target_may_be_named_with_a_slash_at_its_end() {
    let (directory, targets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(&open(directory.path(), Durability::Sync), 0);
    let target = targets.path().join("copy");
    backup(directory.path(), &target.join("")).unwrap();
    assert_eq!(count(&open(&target, Durability::Sync)), 1);
    assert_eq!(fs::read_dir(targets.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_backup_under_load_is_the_graph_at_one_moment() {
    for durability in [Durability::Sync, Durability::Off] {
        let (directory, targets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(directory.path(), durability);
        let (acknowledged, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        // What is acknowledged at once is not promised to be in any file.
        let is_promised = durability == Durability::Sync;
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    put(&store, number);
                    acknowledged.store(number + 1, Ordering::Release);
                    // So that what is checked each time stays small.
                    if number % 4 == 0 {
                        thread::sleep(Duration::from_millis(2));
                    }
                }
            });
            let _over = OverOnDrop(&is_over);
            for place in 0..8 {
                let target = targets.path().join(place.to_string());
                let least = if is_promised { acknowledged.load(Ordering::Acquire) } else { 0 };
                let made = backup(directory.path(), &target).unwrap();
                let most = acknowledged.load(Ordering::Acquire) + 1;
                assert!(!targets.path().join(format!("{place}.part")).exists());
                assert_eq!(made.report, check(&target).unwrap());
                let copy = open(&target, durability);
                let found = count(&copy);
                assert!((least..=most).contains(&found), "{found} of {least} to {most}");
                // It goes on as a graph of its own.
                put(&copy, found);
                assert_eq!(count(&copy), found + 1);
            }
        });
    }
}

#[test]
fn what_is_damaged_or_missing_makes_no_backup_and_what_is_there_stays() {
    let (directory, targets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = targets.path().join("copy");
    let store = Store::open(directory.path(), Options::new(Durability::Sync)).unwrap();
    (0..50).for_each(|number| put(&store, number));
    store.snapshot().unwrap();
    (50..60).for_each(|number| put(&store, number));
    drop(store);
    for name in ["snapshot-000000000002", "log-000000000002"] {
        let path = directory.path().join(name);
        let whole = fs::read(&path).unwrap();
        let mut variants = vec![whole[..whole.len() / 2].to_vec()];
        for at in [60, whole.len() - 30] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            variants.push(damaged);
        }
        for damaged in variants {
            fs::write(&path, damaged).unwrap();
            let error = backup(directory.path(), &target).unwrap_err();
            assert!(matches!(error, BackupError::Files(_) | BackupError::Damaged { .. }), "{error}");
            assert!(!target.exists() && !targets.path().join("copy.part").exists());
        }
        fs::remove_file(&path).unwrap();
        let error = backup(directory.path(), &target).unwrap_err().to_string();
        assert!(error.contains("log-00000000000"), "{name}: {error}");
        fs::write(&path, whole).unwrap();
    }
    backup(directory.path(), &target).unwrap();
    assert!(matches!(backup(directory.path(), &target), Err(BackupError::Occupied { .. })));
    // What is lost of a backup later is noticed.
    fs::remove_file(target.join("log-000000000002")).unwrap();
    assert!(check(&target).is_err());
}

#[test]
fn a_graph_without_writes_has_a_backup_too() {
    let (directory, targets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(directory.path(), Options::new(Durability::Sync)).unwrap();
    for (name, wanted) in [("empty", 0), ("snapshot alone", 1)] {
        let target = targets.path().join(name);
        let made = backup(directory.path(), &target).unwrap();
        assert_eq!((made.report.nodes, count(&open(&target, Durability::Sync))), (wanted, wanted));
        if wanted == 0 {
            put(&store, 0);
            store.snapshot().unwrap();
        }
    }
}
