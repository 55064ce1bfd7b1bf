//! Long texts: a block of them has few rows, so that who reads one row needs no memory for thousands of others.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::{Durability, Kind, Options, Store, TimeRange, Value};

const ROWS: i64 = 40;

/// One of a mebibyte.
fn text(row: i64) -> String {
    format!("{row:04}").repeat(1 << 18)
}

/// Blocks had up to 2,048 rows however long these were, and were lost where that made more than 4 GiB.
#[test]
fn blocks_of_long_texts_have_few_rows() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { seal_at_log_bytes: None, ..Options::new(Durability::Off) };
    let store = Store::open(directory.path(), options).unwrap();
    for row in 0..ROWS {
        let written = store.write_and_wait(|write| {
            let table = write.table("", "T")?;
            let (state, _) = write.attribute(table, "state", "Text", || Kind::Text)?;
            let (number, _) = write.attribute(table, "number", "Integer", || Kind::Integer)?;
            let series = write.series(table, "a", "/")?;
            let values = [(state, Value::Text(&text(row))), (number, Value::Integer(row))];
            write.row(series, row * 1000, &values)
        });
        written.unwrap();
    }
    store.seal().unwrap();
    for _ in 0..2 {
        let read = store.read();
        let (series, state) = read.with_catalog(|catalog| {
            let table = catalog.find_table("", "T").unwrap();
            let state = catalog.table(table).attribute("state").unwrap().0;
            (catalog.find_series(table, "a", "/").unwrap(), state)
        });
        let mut rows = read.series(series, TimeRange::ALL, &[state]);
        assert_eq!(rows.block_count(), 3, "of 16 MiB at most");
        let mut found = 0;
        let visited = rows.visit(0..u64::MAX, &[state], |part, range| {
            for row in range {
                assert!(part.get(row, state) == Value::Text(&text(found)), "row {found}");
                found += 1;
            }
            true
        });
        visited.unwrap();
        assert_eq!(found, ROWS);
        store.compact().unwrap();
    }
}
