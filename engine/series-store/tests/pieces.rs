//! A write of many rows is applied piece by piece, and readers see all of it or nothing.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::{Durability, Kind, Options, Store, TimeRange, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const ROWS: i64 = 60_000;
const WRITES: i64 = 3;

#[test]
fn readers_see_whole_writes() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::new(Durability::Off)).unwrap();
    let names = |store: &Store| {
        let made = store.write_and_wait(|write| {
            let table = write.table("", "T")?;
            let (attribute, _) = write.attribute(table, "n", "Integer", || Kind::Integer)?;
            Ok((attribute, [write.series(table, "left", "/")?, write.series(table, "right", "/")?]))
        });
        made.unwrap()
    };
    let (attribute, series) = names(&store);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !is_over.load(Ordering::Relaxed) {
                let read = store.read();
                let count = |of| read.series(of, TimeRange::ALL, &[attribute]).count().unwrap();
                let (left, right) = (count(series[0]), count(series[1]));
                assert_eq!(left, right);
                assert_eq!(left % ROWS as u64, 0, "part of a write is seen");
                seen += 1;
            }
            seen
        });
        for write_number in 0..WRITES {
            let written = store.write_and_wait(|write| {
                for row in 0..ROWS {
                    for of in series {
                        write.row(of, write_number * ROWS + row, &[(attribute, Value::Integer(row))])?;
                    }
                }
                Ok(())
            });
            written.unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    let count = store.read().series(series[0], TimeRange::ALL, &[attribute]).count().unwrap();
    assert_eq!(count, (WRITES * ROWS) as u64);
}
