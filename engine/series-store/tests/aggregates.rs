//! A directory has the format of earlier versions until it has aggregates, which are told from then on, and outlive the setting.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::calendar::{Period, Periods};
use prony_series_store::{Aggregates, Durability, Kind, Options, Retention, Store, TimeRange, Value, check};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

const ROWS: i64 = 100;

fn open(directory: &Path, with_aggregates: bool) -> Store {
    let aggregates = Aggregates { type_name: None, period: Period::Minute, keep: None };
    open_with(directory, if with_aggregates { vec![aggregates] } else { Vec::new() })
}

fn open_with(directory: &Path, aggregates: Vec<Aggregates>) -> Store {
    let retention = vec![Retention { type_name: None, keep: Duration::from_secs(600) }];
    let options = Options { retention, aggregates, ..Options::new(Durability::Off) };
    Store::open(directory, options).unwrap()
}

fn put(store: &Store, type_name: &str, time_ms: i64, value: i64) {
    store
        .write_and_wait(|write| {
            let table = write.table("größe", type_name)?;
            let (attribute, _) = write.attribute(table, "n", "Integer", || Kind::Integer)?;
            let series = write.series(table, "e", "/")?;
            write.row(series, time_ms, &[(attribute, Value::Integer(value))])
        })
        .unwrap();
}

/// How many rows there are, how many values are summed up, and their sum.
fn found(store: &Store, type_name: &str) -> (u64, u64, f64) {
    let read = store.read();
    let (series, attribute) = read.with_catalog(|catalog| {
        let table = catalog.find_table("größe", type_name).unwrap();
        let attribute = catalog.table(table).attribute("n").unwrap().0;
        (catalog.find_series(table, "e", "/").unwrap(), attribute)
    });
    let mut rows = read.series(series, TimeRange::ALL, &[attribute]);
    let mut summed = (0, 0.0);
    rows.summarize(attribute, Periods::Whole, |_, of| {
        summed = (of.count, of.sum);
        true
    })
    .unwrap();
    (rows.count().unwrap(), summed.0, summed.1)
}

/// The versions of the files, by the beginnings of their names.
fn versions(directory: &Path) -> BTreeMap<String, u32> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let version = |path: std::path::PathBuf| {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().split('-').next()?.to_owned();
        Some((name, u32::from_le_bytes(bytes.get(8..12)?.try_into().unwrap())))
    };
    files.filter_map(version).collect()
}

#[test]
fn only_a_manifest_with_aggregates_is_of_a_later_version() {
    let directory = tempfile::tempdir().unwrap();
    let of = |manifest| -> BTreeMap<String, u32> {
        [("log", 1), ("manifest", manifest), ("segment", 1)].map(|(name, of)| (name.to_owned(), of)).into()
    };
    let store = open(directory.path(), true);
    for number in 0..ROWS {
        put(&store, "T", number * 10_000, number);
    }
    let all = (ROWS * (ROWS - 1) / 2) as f64;
    store.seal().unwrap();
    assert_eq!(versions(directory.path()), of(1));
    store.remove_old(600_000 + ROWS * 5000).unwrap();
    // 500 s are the end of the first 8 minutes and a part of the ninth.
    assert_eq!(found(&store, "T"), (52, ROWS as u64, all));
    assert_eq!(versions(directory.path()), of(2));
    drop(store);
    let report = check(directory.path()).unwrap();
    assert_eq!((report.aggregates, report.problems.len()), (8, 0));
    assert_eq!(found(&open(directory.path(), true), "T"), (52, ROWS as u64, all));
}

#[test]
fn without_the_setting_no_more_are_made_and_what_there_is_stays() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), true);
    for (type_name, time_ms) in [("T", 0), ("T", 60_000), ("T", 120_000), ("Other", 300_000)] {
        put(&store, type_name, time_ms, 7);
    }
    store.remove_old(660_000).unwrap();
    assert_eq!((found(&store, "T"), found(&store, "Other")), ((2, 3, 21.0), (1, 1, 7.0)));
    drop(store);
    let store = open(directory.path(), false);
    store.remove_old(1_000_000).unwrap();
    // What was not removed beside aggregates is deleted by a write.
    put(&store, "Other", 900_000, 1);
    assert_eq!((found(&store, "T"), found(&store, "Other")), ((0, 1, 7.0), (1, 1, 1.0)));
    store.compact().unwrap();
    drop(store);
    let store = open(directory.path(), false);
    assert_eq!((found(&store, "T"), found(&store, "Other")), ((0, 1, 7.0), (1, 1, 1.0)));
}

#[test]
fn aggregates_go_where_no_rows_are_left() {
    let directory = tempfile::tempdir().unwrap();
    let keep = Some(Duration::from_secs(6000));
    let store =
        open_with(directory.path(), vec![Aggregates { type_name: None, period: Period::Minute, keep }]);
    put(&store, "T", 0, 7);
    store.remove_old(1_000_000).unwrap();
    store.compact().unwrap();
    assert_eq!(found(&store, "T"), (0, 1, 7.0));
    store.remove_old(9_000_000).unwrap();
    assert_eq!(found(&store, "T"), (0, 0, 0.0));
    put(&store, "T", 9_000_000, 8);
    assert_eq!(found(&store, "T"), (1, 1, 8.0));
}

#[test]
fn damage_of_aggregates_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), true);
    put(&store, "T", 0, 7);
    store.remove_old(1_000_000).unwrap();
    drop(store);
    let is_segment =
        |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().contains("segment");
    let mut paths = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let segment = paths.find(is_segment).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[26] ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(check(directory.path()).unwrap().problems.len(), 1);
}
