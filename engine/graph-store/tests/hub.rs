//! One node with very many relationships: `PRONY_GRAPH_HUB=10000000` for as many as are promised.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Around, Direction, Durability, Options, Ref, Side, Store};
use std::path::Path;

const RELATIONSHIPS: u32 = 60_000;
const OTHERS: u32 = 1000;
const TYPES: [&str; 3] = ["IN", "OUT", "LOOP"];
/// Of these one is deleted.
const DELETED_OF: u32 = 7;

fn open(directory: &Path) -> Store {
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Off) };
    Store::open(directory, options).unwrap()
}

fn write<T>(
    store: &Store,
    operate: impl FnOnce(&mut prony_graph_store::Write<'_>) -> Result<T, prony_graph_store::Refusal>,
) -> T {
    store.write(operate, drop).unwrap()
}

/// Of three one comes, one goes and one does both; as many as there are left of each.
fn relate(store: &Store, hub: Ref, others: &[Ref], count: u32) -> [u64; 3] {
    let mut left = [0; 3];
    for number in 0..count {
        let (of, other) = (number as usize % 3, others[(number % OTHERS) as usize]);
        let (from, to) = [(other, hub), (hub, other), (hub, hub)][of];
        let made = write(store, |write| write.create_relationship(TYPES[of], from, to, &[]));
        if number.is_multiple_of(DELETED_OF) {
            write(store, |write| write.delete_relationship(made));
        } else {
            left[of] += 1;
        }
    }
    left
}

fn check(store: &Store, hub: Ref, others: &[Ref], [come, go, loops]: [u64; 3]) {
    let read = store.read();
    let degree = |direction, types: Option<&[&str]>| read.degree(hub, Around { direction, types });
    assert_eq!(degree(None, None), come + go + 2 * loops);
    assert_eq!(degree(Some(Direction::Incoming), None), come + loops);
    assert_eq!(degree(Some(Direction::Outgoing), Some(&["OUT"])), go);
    assert_eq!(degree(None, Some(&["LOOP"])), 2 * loops);
    let all = read.around(hub, Around::default());
    assert_eq!(all.len() as u64, come + go + 2 * loops);
    let place = |(direction, one): &(Direction, prony_graph_store::Relationship<'_>)| {
        (one.at.shard(), *direction, one.at.type_number(), one.other(*direction).id(), one.at.id())
    };
    assert!(all.is_sorted_by(|a, b| place(a) < place(b)), "each once and in order");
    let between: usize = others.iter().map(|other| read.between(hub, *other, Around::default()).len()).sum();
    assert_eq!(between as u64, come + go);
    assert_eq!(read.count(Side::Relationships, None), come + go + loops);
    drop(read);
    assert_eq!(store.check().problems, Vec::<String>::new());
}

#[test]
fn a_node_may_have_very_many_relationships() {
    let count = std::env::var("PRONY_GRAPH_HUB").map_or(RELATIONSHIPS, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let make = |key: u32| write(&store, |write| write.create_node("N", &key.to_string(), &[]));
    let (hub, others): (Ref, Vec<Ref>) = (make(OTHERS), (0..OTHERS).map(make).collect());
    let left = relate(&store, hub, &others, count);
    check(&store, hub, &others, left);
    drop(store);
    let store = open(directory.path());
    check(&store, hub, &others, left);
    store.snapshot().unwrap();
    drop(store);
    let store = open(directory.path());
    check(&store, hub, &others, left);
    // All of them at one stroke.
    write(&store, |write| write.delete_node(hub));
    assert_eq!(store.read().count(Side::Relationships, None), 0);
    assert_eq!(store.check().problems, Vec::<String>::new());
}
