//! Readers, writers and snapshots at the same time.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Around, Direction, Durability, Options, Ref, Side, Store};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

fn open(directory: &Path, durability: Durability) -> Store {
    Store::open(directory, Options::new(durability)).unwrap()
}

#[test]
fn readers_see_whole_relationships_while_slots_are_used_again_and_snapshots_are_taken() {
    const NODES: u32 = 40;
    const ROUNDS: u32 = 4_000;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Durability::Off);
    let nodes: Vec<Ref> = (0..NODES)
        .map(|key| store.write_and_wait(|write| write.create_node("N", &key.to_string(), &[])).unwrap())
        .collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in 0..2 {
            let (store, nodes, is_over) = (&store, &nodes, &is_over);
            scope.spawn(move || {
                let mut turn = reader;
                while !is_over.load(Ordering::Relaxed) {
                    turn += 1;
                    let read = store.read();
                    let node = nodes[turn % nodes.len()];
                    for (direction, one) in read.around(node, Around::default()) {
                        let own = if direction == Direction::Outgoing { one.from } else { one.to };
                        assert_eq!(own, node);
                        // Every relationship leads from an even node to an odd one.
                        let place = |at| nodes.iter().position(|known| *known == at).unwrap();
                        assert!(place(one.from) % 2 == 0 && place(one.to) % 2 == 1, "{one:?}");
                    }
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.snapshot().unwrap();
            }
        });
        let mut alive = Vec::new();
        for round in 0..ROUNDS {
            let (from, to) =
                (nodes[(round * 2 % NODES) as usize], nodes[((round * 14 + 1) % NODES) as usize]);
            alive.push(store.write_and_wait(|write| write.create_relationship("R", from, to, &[])).unwrap());
            if alive.len() > 200 {
                let gone = alive.swap_remove(round as usize % 200);
                store.write_and_wait(|write| write.delete_relationship(gone)).unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let count = store.read().count(Side::Relationships, None);
    drop(store);
    assert_eq!(open(directory.path(), Durability::Off).read().count(Side::Relationships, None), count);
}

#[test]
fn every_node_is_found_while_the_tables_of_keys_grow() {
    const NODES: u32 = 60_000;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Durability::Off);
    let made = AtomicU32::new(0);
    thread::scope(|scope| {
        let (store, made) = (&store, &made);
        scope.spawn(move || {
            let mut turn = 0_u32;
            loop {
                let end = made.load(Ordering::Acquire);
                turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if end == NODES {
                    break;
                }
                if let Some(key) = turn.checked_rem(end).filter(|key| key % 10 != 9) {
                    assert!(
                        store.read().find("N", &key.to_string()).is_some(),
                        "node {key} of {end} is lost"
                    );
                }
            }
        });
        for key in 0..NODES {
            let node = store.write_and_wait(|write| write.create_node("N", &key.to_string(), &[])).unwrap();
            if key % 10 == 9 {
                store.write_and_wait(|write| write.delete_node(node)).unwrap();
            }
            made.store(key + 1, Ordering::Release);
        }
    });
    let read = store.read();
    let found = (0..NODES).filter(|key| read.find("N", &key.to_string()).is_some()).count();
    assert_eq!(found as u32, NODES / 10 * 9);
}

#[test]
fn writers_on_all_threads_share_syncs_and_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Durability::Sync);
    thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..50 {
                    let key = format!("{writer}-{number}");
                    store.write_and_wait(|write| write.create_node("N", &key, &[])).unwrap();
                }
            });
        }
    });
    drop(store);
    let store = open(directory.path(), Durability::Sync);
    assert_eq!(store.read().count(Side::Nodes, None), 400);
    assert!(store.recovery().frames < 400, "each write was a frame of its own");
}
