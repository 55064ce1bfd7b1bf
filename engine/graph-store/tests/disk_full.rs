//! A disk without room, as a limit on the length of files. The limit is the whole process's, so nothing else is here.

#![expect(unsafe_code, reason = "the signal of a file that grew too long is turned off")]
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Around, Durability, Options, Ref, Side, Store, WriteError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

fn open(directory: &Path, durability: Durability) -> Store {
    Store::open(directory, Options::new(durability)).unwrap()
}

/// How long files of this process may become.
fn limit_files(bytes: Option<u64>) {
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(before.maximum), ..before }).unwrap();
}

/// Nodes of a type with long keys, each with a relationship from the first node, until one is refused.
fn write_until_full(store: &Store, first: Ref, type_name: &str) -> (u64, WriteError) {
    let long = "x".repeat(60_000);
    let mut made = 0;
    loop {
        let key = format!("{made}{long}");
        match store.write_and_wait(|write| {
            let node = write.create_node(type_name, &key, &[])?;
            write.create_relationship("R", first, node, &[])
        }) {
            Ok(_) => made += 1,
            Err(error) => return (made, error),
        }
    }
}

#[test]
fn a_full_disk_refuses_writes_takes_them_back_and_heals() {
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let count = |store: &Store| {
        let read = store.read();
        let first = read.find("N", "first").unwrap().at;
        (read.count(Side::Nodes, None), read.degree(first, Around::default()))
    };
    // In mid-write.
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Durability::Sync);
    let first = store.write_and_wait(|write| write.create_node("N", "first", &[])).unwrap();
    limit_files(Some(100_000));
    let (made, error) = write_until_full(&store, first, "Full");
    assert!(error.is_disk_full(), "{error}");
    assert_eq!(count(&store), (1 + made, made), "what could not be written was taken back");
    for _ in 0..3 {
        assert!(write_until_full(&store, first, "Still").1.is_disk_full(), "and so is all that follows");
    }
    limit_files(None);
    store.write_and_wait(|write| write.create_node("After", "x", &[])).unwrap();
    assert_eq!(count(&store), (2 + made, made));
    // In mid-snapshot: the graph is larger than a file may be, and the log goes on.
    let (key, long) = ("y".repeat(60_000), "z".repeat(60_000));
    store.write_and_wait(|write| write.create_node("After", &key, &[])).unwrap();
    store.write_and_wait(|write| write.create_node("After", &long, &[])).unwrap();
    limit_files(Some(90_000));
    let error = store.snapshot().unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    store.write_and_wait(|write| write.create_node("After", "during", &[])).unwrap();
    limit_files(None);
    drop(store);
    let store = open(directory.path(), Durability::Sync);
    assert_eq!(count(&store), (5 + made, made));
    assert_eq!((store.recovery().torn_bytes, store.check().problems), (0, vec![]));
    store.snapshot().unwrap();
    drop(store);
    // Where nothing is waited for, the first failure is the last that nobody hears of.
    let store = open(directory.path(), Durability::Off);
    limit_files(Some(50_000));
    let (lost, error) = write_until_full(&store, first, "Off");
    assert!(error.is_disk_full(), "{error}");
    assert_eq!(count(&store), (5 + made, made), "{lost} writes were taken back");
    limit_files(None);
    store.write_and_wait(|write| write.create_node("After", "off", &[])).unwrap();
    drop(store);
    assert_eq!(count(&open(directory.path(), Durability::Off)), (6 + made, made));
}
