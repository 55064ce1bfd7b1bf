//! One node with very many relationships: `PRONY_GRAPH_HUB=10000000` for as many as are promised.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Around, Direction, Durability, Options, Ref, Side, Store};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

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
    assert_is_gone(&store, hub, &others);
    wait_until_detached(&store, hub);
    assert_eq!(store.read().count(Side::Relationships, None), 0);
    assert_eq!(store.check().problems, Vec::<String>::new());
}

/// Nobody who reads sees any of it.
fn assert_is_gone(store: &Store, hub: Ref, others: &[Ref]) {
    let read = store.read();
    assert!(read.node(hub).is_none() && read.around(hub, Around::default()).is_empty());
    assert_eq!(read.degree(hub, Around::default()), 0);
    for other in others {
        assert_eq!(read.degree(*other, Around::default()), 0);
        assert!(read.around(*other, Around::default()).is_empty());
    }
    assert_eq!(read.relationships(None).count(), 0);
}

fn wait_until_detached(store: &Store, hub: Ref) {
    let until = Instant::now() + Duration::from_secs(120);
    while !store.detached(hub).is_over() {
        assert!(Instant::now() < until, "the relationships of the deleted node are never dropped");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A hub with so many relationships to others in turn, and one relationship beside it.
fn with_hub(store: &Store, count: usize) -> (Ref, Vec<Ref>, Ref) {
    let (hub, others, beside) = write(store, |write| {
        let hub = write.create_node("N", "hub", &[])?;
        let others = (0..10).map(|key| write.create_node("N", &format!("ö{key}"), &[]));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let beside = write.create_relationship("BESIDE", others[0], others[1], &[])?;
        Ok((hub, others, beside))
    });
    for chunk in 0..count.div_ceil(1000) {
        write(store, |write| {
            for number in chunk * 1000..count.min((chunk + 1) * 1000) {
                let other = others[number % others.len()];
                let (from, to) = if number % 2 == 0 { (hub, other) } else { (other, hub) };
                write.create_relationship("R", from, to, &[])?;
            }
            Ok(())
        });
    }
    (hub, others, beside)
}

/// The files of a store, as they are at this moment.
fn copy_of(directory: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "lock" {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

/// Those who only want to know whether there are many need not look at each, also while others are counted that are being detached.
#[test]
fn there_are_at_most_so_many_while_a_hub_is_detached() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (hub, others, _) = with_hub(&store, 20_000);
    let (all, outgoing) = (Around::default(), Around { direction: Some(Direction::Outgoing), types: None });
    let read = store.read();
    assert!(read.knows_degrees());
    for around in [all, outgoing] {
        assert_eq!(read.degree_at_most(hub, around), read.degree(hub, around));
    }
    drop(read);
    write(&store, |write| write.delete_node(hub));
    let read = store.read();
    let (is_known, most, degree) =
        (read.knows_degrees(), read.degree_at_most(others[0], all), read.degree(others[0], all));
    assert!(!is_known && most > 1 && degree == 1, "{is_known}, {most}, {degree}");
    assert_eq!(read.between(others[0], others[1], all).len(), 1);
    drop(read);
    wait_until_detached(&store, hub);
    let read = store.read();
    assert!(read.knows_degrees());
    assert_eq!(read.degree_at_most(others[0], all), 1);
}

/// However far its relationships are dropped when the process ends, none is there afterwards.
#[test]
fn a_hub_is_deleted_whole_or_not_at_all_wherever_its_deletion_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Sync) };
    let store = Store::open(directory.path(), options).unwrap();
    let (hub, others, beside) = with_hub(&store, 20_000);
    let log = directory.path().join("log-000000000001");
    // A change that does not end with a zero.
    store.write_and_wait(|write| write.make_type(Side::Nodes, "Last")).unwrap();
    let before = copy_of(directory.path());
    // Without the zeros ahead of the frames.
    let kept = fs::read(&log).unwrap().iter().rposition(|byte| *byte != 0).unwrap() + 1;
    store.write_and_wait(|write| write.delete_node(hub)).unwrap();
    wait_until_detached(&store, hub);
    drop(store);
    let bytes = fs::read(&log).unwrap();
    let (mut whole, mut gone, mut cut_in_the_middle) = (0, 0, 0);
    // From what had been before to all of it, a few bytes and many more each time.
    for part in 0..12_usize {
        let end = bytes.len() - (bytes.len() - kept) * part / 11;
        let copy = tempfile::tempdir().unwrap();
        fs::copy(before.path().join("log-state"), copy.path().join("log-state")).unwrap();
        fs::write(copy.path().join("log-000000000001"), &bytes[..end]).unwrap();
        let report = prony_graph_store::check(copy.path()).unwrap();
        assert_eq!(report.problems, Vec::<String>::new(), "cut to {end} bytes");
        let left = report.relationships;
        let store = Store::open(copy.path(), options).unwrap();
        let is_there = store.read().node(hub).is_some();
        if is_there {
            whole += 1;
            assert_eq!(store.read().relationships(None).count(), 20_001, "cut to {end} bytes");
            continue;
        }
        gone += 1;
        cut_in_the_middle += u32::from(left > 1 && left < 20_001);
        assert_eq!(store.read().relationships(None).count(), 1, "cut to {end} bytes");
        assert_eq!(store.read().degree(others[0], Around::default()), 1);
        wait_until_detached(&store, hub);
        assert_eq!(store.read().count(Side::Relationships, None), 1);
        assert!(store.read().relationship(beside).is_some());
        assert_eq!(store.check().problems, Vec::<String>::new());
        // What is written there is not touched by a later start.
        let new = write(&store, |write| write.create_node("N", "hub", &[]));
        write(&store, |write| write.create_relationship("R", new, others[1], &[]));
        drop(store);
        let store = Store::open(copy.path(), options).unwrap();
        assert_eq!(store.read().degree(new, Around::default()), 1);
        assert_eq!(store.check().problems, Vec::<String>::new());
    }
    assert!(whole > 0 && gone > 0 && cut_in_the_middle > 0, "{whole}, {gone}, {cut_in_the_middle}");
}

/// Others write while a hub is detached, also to its neighbours; the lowest ids are free when that is over.
#[test]
fn others_write_while_a_hub_is_detached() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (hub, others, beside) = with_hub(&store, 200_000);
    let lowest = store.read().around(hub, Around::default()).iter().map(|(_, one)| one.at).min().unwrap();
    write(&store, |write| write.delete_node(hub));
    let mut made = Vec::new();
    while !store.detached(hub).is_over() {
        let refused = store.write(|write| write.create_relationship("R", hub, others[0], &[]), drop);
        assert!(matches!(refused, Err(prony_graph_store::Refusal::NoNode)));
        let again = store.write(|write| write.delete_node(hub), drop);
        assert!(again.is_err(), "it is deleted once");
        made.push(write(&store, |write| write.create_relationship("R", others[2], others[3], &[])));
        if made.len() == 1 {
            // A neighbour goes with those that are left of its relationships to the hub.
            let neighbour = others[4];
            write(&store, |write| write.delete_node(neighbour));
            let twin = write(&store, |write| write.create_node("N", "hub", &[]));
            assert_ne!(twin, hub, "its slot still has links");
        }
        std::thread::yield_now();
    }
    assert!(!made.is_empty());
    let read = store.read();
    assert_eq!(read.relationships(None).count(), 1 + made.len());
    assert!(read.relationship(beside).is_some() && made.iter().all(|at| read.relationship(*at).is_some()));
    drop(read);
    assert_eq!(store.check().problems, Vec::<String>::new());
    let next = write(&store, |write| write.create_relationship("R", others[0], others[1], &[]));
    let from_shard = others[0].shard();
    if lowest.shard() == from_shard && !made.contains(&lowest) {
        assert_eq!(next, lowest);
    }
    store.snapshot().unwrap();
    let count = store.read().relationships(None).count();
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.read().relationships(None).count(), count);
    assert_eq!(store.check().problems, Vec::<String>::new());
}

/// A snapshot that is taken while a hub is detached knows nothing of it.
#[test]
fn a_snapshot_in_the_middle_has_none_of_a_hub() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (hub, ..) = with_hub(&store, 100_000);
    write(&store, |write| write.delete_node(hub));
    let report = store.snapshot().unwrap();
    assert_eq!(report.relationships, 1);
    let copy = copy_of(directory.path());
    wait_until_detached(&store, hub);
    let left = prony_graph_store::check(copy.path()).unwrap();
    assert_eq!((left.problems.len(), left.relationships), (0, 1));
}

/// One write of many changes that fails behind a hub's deletion leaves the hub as it was.
#[test]
fn a_hub_whose_deletion_is_taken_back_has_all_of_its_relationships() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (hub, ..) = with_hub(&store, 5000);
    let refused = store.write(
        |write| {
            write.delete_node(hub)?;
            write.delete_node(hub)
        },
        drop,
    );
    assert!(refused.is_err() && store.detached(hub).is_over());
    assert_eq!(store.read().degree(hub, Around::default()), 5000);
    assert_eq!(store.read().find("N", "hub").map(|node| node.at), Some(hub));
    assert_eq!(store.check().problems, Vec::<String>::new());
    // A cleared graph has nothing to detach, also where that is on its way.
    write(&store, |write| write.delete_node(hub));
    write(&store, |write| {
        write.clear();
        Ok(())
    });
    wait_until_detached(&store, hub);
    assert_eq!(store.read().count(Side::Relationships, None), 0);
    assert_eq!(store.check().problems, Vec::<String>::new());
}
