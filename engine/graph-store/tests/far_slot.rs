//! Files that name the last slot that there can be, and few others: a start does as much as the file holds, not as much
//! as it names.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Around, Durability, Options, Ref, Side, Store, check, shard_of};
use std::fs;
use std::path::Path;

const OPTIONS: Options = Options::new(Durability::Sync);
const FILE_HEAD: usize = 24;
const FRAME_HEAD: usize = 16;
const LAST_INDEX: u32 = u32::MAX - 1;

/// A name as files have it.
fn name(at: Ref) -> [u8; 7] {
    let bits = u64::from(at.type_number()) << 34 | u64::from(at.index()) << 2 | u64::from(at.shard());
    bits.to_le_bytes()[..7].try_into().unwrap()
}

/// Another name in its place, wherever it stands in the only frame of a log.
fn rename(log: &Path, from: Ref, to: Ref) {
    let mut bytes = fs::read(log).unwrap();
    let places: Vec<usize> =
        (FILE_HEAD + FRAME_HEAD..bytes.len() - 6).filter(|at| bytes[*at..*at + 7] == name(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + 7].copy_from_slice(&name(to));
    }
    // The mark at the log's end is a frame's head alone.
    let checksum = crc32c::crc32c(&bytes[FILE_HEAD + 8..bytes.len() - FRAME_HEAD]);
    bytes[FILE_HEAD + 4..FILE_HEAD + 8].copy_from_slice(&checksum.to_le_bytes());
    fs::write(log, bytes).unwrap();
}

#[test]
fn what_is_far_away_costs_no_more_than_what_is_near() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    let made = store.write_and_wait(|write| {
        // Numbers that differ, so that their names do.
        write.make_type(Side::Relationships, "UNUSED")?;
        write.make_type(Side::Relationships, "UNUSED TOO")?;
        let node = write.create_node("N", "far", &[])?;
        Ok((node, write.create_relationship("R", node, node, &[])?))
    });
    let (node, relationship) = made.unwrap();
    drop(store);
    let log = directory.path().join("log-000000000001");
    let far = |near: Ref| Ref::new(near.type_number(), near.shard(), LAST_INDEX);
    rename(&log, node, far(node));
    rename(&log, relationship, far(relationship));
    assert_eq!(check(directory.path()).unwrap().problems, Vec::<String>::new());
    for round in 0..2_u32 {
        let store = Store::open(directory.path(), OPTIONS).unwrap();
        let read = store.read();
        assert_eq!(read.find("N", "far").unwrap().at, far(node));
        let around: Vec<_> =
            read.around(far(node), Around::default()).iter().map(|(_, one)| one.at).collect();
        assert_eq!(around[0], far(relationship));
        assert_eq!(read.nodes(None).count(), 1 + round as usize);
        drop(read);
        // The lowest slot is the first to be filled, also the one beside what was filled before.
        let key = (0..1000)
            .map(|number| format!("{round}-{number}"))
            .find(|key| shard_of("N", key) == node.shard());
        let made = store.write_and_wait(|write| {
            let near = write.create_node("N", &key.unwrap(), &[])?;
            Ok((near, write.create_relationship("R", near, far(node), &[])?))
        });
        let (near, link) = made.unwrap();
        assert_eq!((near.index(), link.index()), (round, round));
        assert_eq!(store.check().problems, Vec::<String>::new());
        store.snapshot().unwrap();
    }
}
