//! Backups of a store while it is written, sealed and put together: each is the store at one moment, or there is none.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::{BackupError, Durability, Kind, Options, Store, TimeRange, Value, backup, check};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    thread,
    time::Duration,
};

fn open(directory: &Path, durability: Durability) -> Store {
    // So that segments are made and put together all the time.
    let options = Options { seal_at_log_bytes: Some(20_000), ..Options::new(durability) };
    Store::open(directory, options).unwrap()
}

/// A row of each of two entities.
fn put(store: &Store, number: i64) {
    let text = "x".repeat((number * 733 % 500) as usize);
    let written = store.write_and_wait(|write| {
        let table = write.table("", "Pair")?;
        let (count, _) = write.attribute(table, "count", "Integer", || Kind::Integer)?;
        let (long, _) = write.attribute(table, "text", "Text", || Kind::Text)?;
        for entity in ["left", "right"] {
            let series = write.series(table, entity, "/")?;
            write.row(series, number, &[(count, Value::Integer(number)), (long, Value::Text(&text))])?;
        }
        Ok(())
    });
    written.unwrap();
}

/// The numbers of an entity's rows.
fn numbers(store: &Store, entity: &str) -> Vec<i64> {
    let read = store.read();
    let names = read.with_catalog(|catalog| {
        let table = catalog.find_table("", "Pair")?;
        Some((catalog.find_series(table, entity, "/")?, catalog.table(table).attribute("count")?.0))
    });
    let Some((series, count)) = names else { return Vec::new() };
    let mut found = Vec::new();
    let mut rows = read.series(series, TimeRange::ALL, &[count]);
    rows.visit(0..u64::MAX, &[count], |part, range| {
        found.extend(range.map(|row| match part.get(row, count) {
            Value::Integer(number) => number,
            other => panic!("{other:?}"),
        }));
        true
    })
    .unwrap();
    found
}

/// Tells threads to end, also where an assertion fails.
struct OverOnDrop<'a>(&'a AtomicBool);

impl Drop for OverOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn part_of(target: &Path) -> PathBuf {
    target.with_extension("part")
}

#[test]
fn a_backup_under_load_is_the_store_at_one_moment() {
    for durability in [Durability::Sync, Durability::Off] {
        let directory = tempfile::tempdir().unwrap();
        let targets = tempfile::tempdir().unwrap();
        let store = open(directory.path(), durability);
        let (acknowledged, is_over) = (AtomicI64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    put(&store, number);
                    acknowledged.store(number + 1, Ordering::Release);
                }
            });
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    store.compact().unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let _over = OverOnDrop(&is_over);
            for place in 0..12 {
                let target = targets.path().join(place.to_string());
                let least = acknowledged.load(Ordering::Acquire);
                let made = backup(directory.path(), &target);
                let most = acknowledged.load(Ordering::Acquire) + 1;
                let made = made.unwrap();
                assert!(!part_of(&target).exists());
                assert_eq!(made.report, check(&target).unwrap());
                let copy = open(&target, durability);
                let found = numbers(&copy, "left");
                assert_eq!(found, numbers(&copy, "right"), "there is no half write");
                let count = i64::try_from(found.len()).unwrap();
                assert_eq!(found, (0..count).collect::<Vec<_>>());
                assert!((least..=most).contains(&count), "{count} of {least} to {most}");
                // It goes on as a store of its own.
                put(&copy, count);
                assert_eq!(numbers(&copy, "left").last(), Some(&count));
            }
        });
    }
}

#[test]
fn what_is_there_stays_and_what_a_killed_backup_has_left_goes() {
    let directory = tempfile::tempdir().unwrap();
    let targets = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Durability::Sync);
    for number in 0..50 {
        put(&store, number);
    }
    store.seal().unwrap();
    for number in 50..60 {
        put(&store, number);
    }

    let occupied = targets.path().join("occupied");
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("mine"), "x").unwrap();
    assert!(matches!(backup(directory.path(), &occupied), Err(BackupError::Occupied { .. })));
    assert_eq!(fs::read(occupied.join("mine")).unwrap(), b"x");

    let target = targets.path().join("copy");
    let part = part_of(&target);
    fs::create_dir(&part).unwrap();
    for left in ["lock", "segment-000000000099", "log-000000000007"] {
        fs::write(part.join(left), "half").unwrap();
    }
    backup(directory.path(), &target).unwrap();
    assert!(!part.exists());
    assert_eq!(numbers(&open(&target, Durability::Sync), "left").len(), 60);

    let other = targets.path().join("other");
    fs::create_dir(part_of(&other)).unwrap();
    fs::write(part_of(&other).join("mine"), "x").unwrap();
    assert!(matches!(backup(directory.path(), &other), Err(BackupError::Occupied { .. })));
    assert!(!other.exists() && part_of(&other).join("mine").exists());
}

#[test]
fn a_closed_store_and_an_empty_one_are_backed_up() {
    for count in [0_i64, 3] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path(), Durability::Off);
        for number in 0..count {
            put(&store, number);
        }
        drop(store);
        let target = directory.path().join("copy");
        let made = backup(directory.path(), &target).unwrap();
        assert_eq!(made.report.rows, 2 * count.unsigned_abs());
        assert_eq!(numbers(&open(&target, Durability::Off), "right"), (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn damage_is_told_and_makes_no_backup() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("copy");
    let store = open(directory.path(), Durability::Sync);
    for number in 0..50 {
        put(&store, number);
    }
    store.seal().unwrap();
    for number in 50..60 {
        put(&store, number);
    }
    drop(store);
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| fs::metadata(path).unwrap().len() > 100 && !path.ends_with("log-state"));
    assert!(files.len() >= 3, "{files:?}");
    for path in files {
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[60] ^= 1;
        fs::write(&path, damaged).unwrap();
        let refused = backup(directory.path(), &target).unwrap_err().to_string();
        assert!(refused.contains("damaged"), "{}: {refused}", path.display());
        assert!(!target.exists() && !part_of(&target).exists());
        fs::write(&path, whole).unwrap();
    }
    backup(directory.path(), &target).unwrap();
}
