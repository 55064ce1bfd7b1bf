//! A store that is opened for its next snapshot: all that was written is there with it, and nothing without.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Durability, Options, Side, Store};
use std::path::Path;

fn open(directory: &Path) -> Store {
    Store::open(directory, Options::new(Durability::Sync)).unwrap()
}

fn nodes(store: &Store) -> u64 {
    store.read().count(Side::Nodes, None)
}

fn add(store: &Store, keys: std::ops::Range<u32>) {
    for key in keys {
        store.write_and_wait(|write| write.create_node("N", &key.to_string(), &[])).unwrap();
    }
}

#[test]
fn all_of_it_is_kept_with_the_snapshot_and_nothing_without() {
    let directory = tempfile::tempdir().unwrap();
    add(&open(directory.path()), 0..3);
    for round in 0..3 {
        let store = Store::open_for_snapshot(directory.path(), false).unwrap();
        add(&store, 3..100);
        assert_eq!(nodes(&store), 100, "it is seen at once, in round {round}");
    }
    assert_eq!(nodes(&open(directory.path())), 3, "nothing was kept without a snapshot");
    let store = Store::open_for_snapshot(directory.path(), false).unwrap();
    add(&store, 3..100);
    store.snapshot().unwrap();
    add(&store, 100..200);
    drop(store);
    let store = open(directory.path());
    assert_eq!(nodes(&store), 100, "what followed the snapshot was not kept");
    add(&store, 100..101);
    drop(store);
    assert_eq!(nodes(&open(directory.path())), 101);
}
