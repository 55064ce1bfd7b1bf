//! Files that are not as they were written: a clear error, or the rows that were there; never others, never a panic.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::{Durability, Kind, OpenError, Options, Store, TimeRange, Value, check};
use std::{fs, path::Path};

const ROWS: u64 = 30;

fn options(recover: bool) -> Options {
    Options { recover, seal_at_log_bytes: None, ..Options::new(Durability::Sync) }
}

/// Half of the rows in a segment, half in the log.
fn fill(directory: &Path) {
    let store = Store::open(directory, options(false)).unwrap();
    for number in 0..ROWS {
        let written = store.write_and_wait(|write| {
            let table = write.table("tenant", "Room")?;
            let (temperature, _) = write.attribute(table, "temperature", "Number", || Kind::Double)?;
            let (state, _) = write.attribute(table, "state", "Text", || Kind::Text)?;
            let series = write.series(table, "Room:1", "/")?;
            let values = [(temperature, Value::Double(number as f64 / 10.0)), (state, Value::Text("on"))];
            write.row(series, number.cast_signed() * 1000, &values)
        });
        written.unwrap();
        if number == ROWS / 2 {
            store.seal().unwrap();
        }
    }
}

/// Rows from the first on, of which each is the right one; none where one cannot be read.
fn rows(store: &Store) -> Option<u64> {
    let read = store.read();
    let (series, temperature) = read.with_catalog(|catalog| {
        let table = catalog.find_table("tenant", "Room")?;
        let temperature = catalog.table(table).attribute("temperature")?.0;
        Some((catalog.find_series(table, "Room:1", "/")?, temperature))
    })?;
    let (mut found, mut is_right) = (0, true);
    let visited = read.series(series, TimeRange::ALL, &[temperature]).visit(
        0..u64::MAX,
        &[temperature],
        |rows, range| {
            for row in range {
                let number = rows.times[row] as f64 / 10_000.0;
                is_right &= rows.get(row, temperature) == Value::Double(number);
                found += 1;
            }
            true
        },
    );
    assert!(is_right);
    visited.ok().map(|()| found)
}

#[test]
fn each_byte_of_each_file_may_be_another() {
    let whole = tempfile::tempdir().unwrap();
    fill(whole.path());
    assert_eq!(check(whole.path()).unwrap().rows, ROWS);
    for file in fs::read_dir(whole.path()).unwrap().map(|entry| entry.unwrap().file_name()) {
        let length = fs::metadata(whole.path().join(&file)).unwrap().len() as usize;
        for at in (0..length).step_by(3) {
            let directory = tempfile::tempdir().unwrap();
            for other in fs::read_dir(whole.path()).unwrap() {
                let other = other.unwrap();
                fs::copy(other.path(), directory.path().join(other.file_name())).unwrap();
            }
            let mut bytes = fs::read(directory.path().join(&file)).unwrap();
            bytes[at] ^= 0x41;
            fs::write(directory.path().join(&file), bytes).unwrap();
            let checked = check(directory.path());
            match Store::open(directory.path(), options(false)) {
                Ok(store) => {
                    let found = rows(&store);
                    // Only the end of the log may be missing, as if it had not been written, and a block that is damaged is told.
                    let is_told = checked.is_ok_and(|report| {
                        report.recovery.torn_bytes > 0 || !report.problems.is_empty() || found == Some(ROWS)
                    });
                    assert!(
                        is_told && found.is_none_or(|found| found >= ROWS - 1),
                        "{} {at}: {found:?}",
                        file.display()
                    );
                }
                Err(error) => {
                    assert!(matches!(error, OpenError::File { .. } | OpenError::Missing { .. }), "{error}");
                    assert!(checked.is_err());
                    // What is not damaged can be had.
                    let _ = Store::open(directory.path(), options(true)).map(|store| rows(&store));
                }
            }
        }
    }
}

/// A start was refused for it with `recover` too.
#[test]
fn what_is_not_in_a_missing_segment_can_be_had() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    fs::remove_file(directory.path().join("segment-000000000001")).unwrap();
    let error = Store::open(directory.path(), options(false)).unwrap_err();
    assert!(error.to_string().contains("segment-000000000001"), "{error}");
    let store = Store::open(directory.path(), options(true)).unwrap();
    assert_eq!(store.recovery().lost.len(), 1);
    assert!(store.recovery().lost[0].why.contains("missing"), "{:?}", store.recovery());
    assert_eq!(rows(&store), Some(ROWS - ROWS / 2 - 1));
    store.seal().unwrap();
    drop(store);
    let store = Store::open(directory.path(), options(false)).unwrap();
    assert_eq!(rows(&store), Some(ROWS - ROWS / 2 - 1));
}

/// A manifest whose needless files could not all be removed was on the disk, and did not count for the open
/// store. That went on with segments of which some were gone, and named them in the next manifest.
#[test]
fn a_manifest_counts_also_where_a_needless_file_cannot_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let store = Store::open(directory.path(), options(false)).unwrap();
    // It is called as a segment, and is none.
    let stuck = directory.path().join("segment-000000000099");
    fs::create_dir(&stuck).unwrap();
    store.compact().unwrap();
    let failure = store.health().seals.failure;
    assert!(failure.is_some_and(|(error, _)| error.to_string().contains("cannot write")), "it is told");
    let files = || {
        let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap());
        let segments = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("segment-"));
        segments.filter(|entry| entry.path().is_file()).count()
    };
    assert_eq!((store.segments().0, files()), (1, 1), "the others are gone");
    // It is tried again with the next.
    fs::remove_dir(&stuck).unwrap();
    store.compact().unwrap();
    assert!(store.health().seals.failure.is_none());
    drop(store);
    assert_eq!(check(directory.path()).unwrap().problems, Vec::<String>::new());
    assert_eq!(rows(&Store::open(directory.path(), options(false)).unwrap()), Some(ROWS));
}

/// The start was refused, although nobody reads the file.
#[test]
fn a_store_can_be_opened_where_a_needless_file_cannot_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    // It is called as a segment, and is none.
    let stuck = directory.path().join("segment-000000000099");
    fs::create_dir(&stuck).unwrap();
    let store = Store::open(directory.path(), options(false)).unwrap();
    assert_eq!(rows(&store), Some(ROWS));
    let failure = store.health().seals.failure;
    assert!(failure.is_some_and(|(error, _)| error.to_string().contains("cannot write")), "it is told");
    fs::remove_dir(&stuck).unwrap();
    store.seal().unwrap();
    assert!(store.health().seals.failure.is_none());
}
