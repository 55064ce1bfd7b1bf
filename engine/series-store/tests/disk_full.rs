//! A disk without room, as a limit on the length of files. The limit is the whole process's, so nothing else is here.

#![expect(unsafe_code, reason = "the signal of a file that grew too long is turned off")]
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::{Durability, Kind, Options, Store, TimeRange, Value, WriteError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

fn open(directory: &Path) -> Store {
    let options = Options { seal_at_log_bytes: None, ..Options::new(Durability::Sync) };
    Store::open(directory, options).unwrap()
}

/// How long files of this process may become.
fn limit_files(bytes: Option<u64>) {
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(before.maximum), ..before }).unwrap();
}

/// A row with a long text, of an attribute that is named after the type.
fn put(store: &Store, type_name: &str, time: i64) -> Result<(), WriteError> {
    let long = format!("{time}{}", "x".repeat(30_000));
    store.write_and_wait(|write| {
        let table = write.table("", type_name)?;
        let (text, _) = write.attribute(table, type_name, "Text", || Kind::Text)?;
        let series = write.series(table, "entity", "/")?;
        write.row(series, time, &[(text, Value::Text(&long))])
    })
}

fn count(store: &Store, type_name: &str) -> Option<u64> {
    let read = store.read();
    let series =
        read.with_catalog(|catalog| catalog.find_series(catalog.find_table("", type_name)?, "entity", "/"));
    Some(read.series(series?, TimeRange::ALL, &[]).count().unwrap())
}

fn is_full(error: &WriteError) -> bool {
    matches!(error, WriteError::Log(error) if error.is_disk_full())
}

#[test]
fn a_full_disk_refuses_writes_and_segments_takes_them_back_and_heals() {
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&store, "Before", 0).unwrap();
    // In mid-write: the log cannot become longer.
    limit_files(Some(150_000));
    let mut made = 1;
    let error = loop {
        match put(&store, "Before", made) {
            Ok(()) => made += 1,
            Err(error) => break error,
        }
    };
    assert!(is_full(&error), "{error}");
    assert!(store.health().log_failure.is_some());
    // A name that is taken back is not known afterwards, and can come again as something else.
    assert!(is_full(&put(&store, "New", 0).unwrap_err()));
    assert_eq!((count(&store, "Before"), count(&store, "New")), (Some(made.cast_unsigned()), None));
    limit_files(None);
    put(&store, "New", 0).unwrap();
    put(&store, "Before", made).unwrap();
    assert!(store.health().log_failure.is_none());
    // In mid-segment: it is larger than a file may be, and the log goes on in another file.
    limit_files(Some(100_000));
    let error = store.seal().unwrap_err();
    assert!(store.health().seals.failure.is_some(), "{error}");
    assert!(!directory.path().join("segment-000000000001").exists(), "it leaves the room to the log");
    put(&store, "Meanwhile", 0).unwrap();
    limit_files(None);
    store.seal().unwrap();
    assert!(store.health().seals.failure.is_none());
    let expected = (Some(made.cast_unsigned() + 1), Some(1), Some(1));
    let counts = |store: &Store| (count(store, "Before"), count(store, "New"), count(store, "Meanwhile"));
    assert_eq!(counts(&store), expected);
    store.compact().unwrap();
    drop(store);
    assert_eq!(counts(&open(directory.path())), expected);
}
