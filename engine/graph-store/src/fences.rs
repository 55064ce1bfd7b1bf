//! Reads that are told only once what they have seen is durable, on a disk that is slow and fails, and beside writes that are refused.

use crate::faults::{LOG, PATIENCE};
use crate::losses::options;
use crate::types::id::Ref;
use crate::types::value::{Kind, Value};
use crate::write::{Keep, Write};
use crate::{Around, Durability, LogError, Read, ReadFence, Refusal, Side, Store};
use prony_log::losses::directory;
use prony_log::power_loss::{Held, Journal};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// A store on a disk that does as the test likes.
struct OnSlowDisk {
    store: Store,
    journal: Arc<Journal>,
    _root: TempDir,
}

impl OnSlowDisk {
    fn new(durability: Durability) -> Self {
        let root = directory();
        let store = Store::open(&root.path().join("graph"), options(durability)).unwrap();
        store.write_and_wait(|write| write.create_node("Stadt", "Köln", &[])).unwrap();
        Self { store, journal: Journal::begin(root.path()), _root: root }
    }

    /// Makes a node, of which the log is held up.
    fn write_held(&self, key: &str) -> Held {
        let held = self.journal.hold(LOG);
        self.store.write(|write| write.create_node("Stadt", key, &[]), drop).unwrap();
        assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
        held
    }

    fn is_told(&self, fence: ReadFence) -> bool {
        self.store.outcome(fence).is_some_and(|outcome| outcome.is_ok())
    }

    fn is_there(&self, key: &str) -> (bool, ReadFence) {
        self.store.read_fenced(|read| has(read, key))
    }

    /// What has become of it in the end.
    fn settled(&self, fence: ReadFence) -> Result<(), LogError> {
        let (sender, receiver) = sync_channel(16);
        let _watching = self.store.watch(move |_| {
            // Who waits is told already where there is no room.
            let _ = sender.try_send(());
        });
        loop {
            if let Some(outcome) = self.store.outcome(fence) {
                return outcome;
            }
            receiver.recv_timeout(PATIENCE).expect("the log's thread goes on");
        }
    }
}

impl Drop for OnSlowDisk {
    fn drop(&mut self) {
        self.journal.end();
    }
}

fn has(read: &Read, key: &str) -> bool {
    read.find("Stadt", key).is_some()
}

#[test]
fn what_is_not_durable_is_seen_and_told_when_it_is() {
    for durability in [Durability::Sync, Durability::Interval(Duration::from_millis(7))] {
        let disk = OnSlowDisk::new(durability);
        let (_, before) = disk.is_there("Köln");
        let held = disk.write_held("Zürich");
        let (is_there, fence) = disk.is_there("Zürich");
        assert!(is_there && disk.store.outcome(fence).is_none());
        // Others have seen nothing of it.
        assert!(matches!(disk.store.outcome(before), Some(Ok(()))));
        drop(held);
        disk.settled(fence).unwrap();
        let (is_there, fence) = disk.is_there("Zürich");
        assert!(is_there && matches!(disk.store.outcome(fence), Some(Ok(()))));
    }
}

#[test]
fn what_is_acknowledged_at_once_is_told_at_once() {
    let disk = OnSlowDisk::new(Durability::Off);
    let held = disk.write_held("Zürich");
    let (is_there, fence) = disk.is_there("Zürich");
    assert!(is_there && matches!(disk.store.outcome(fence), Some(Ok(()))));
    drop(held);
}

#[test]
fn what_could_not_be_synced_is_told_as_an_error() {
    let disk = OnSlowDisk::new(Durability::Sync);
    disk.journal.fail_next_sync(LOG);
    let held = disk.write_held("Zürich");
    let (is_there, fence) = disk.is_there("Zürich");
    assert!(is_there && disk.store.outcome(fence).is_none());
    let both = disk.is_there("Köln").1.and(fence);
    drop(held);
    for fence in [fence, both] {
        let outcome = disk.settled(fence);
        assert!(matches!(outcome, Err(LogError::Unknown { .. })), "{outcome:?}");
    }
    let (is_there, fence) = disk.is_there("Zürich");
    assert!(!is_there && matches!(disk.store.outcome(fence), Some(Ok(()))), "{:?}", disk.journal.failed());
}

#[test]
fn a_read_during_which_the_log_fails_is_made_again() {
    let disk = OnSlowDisk::new(Durability::Sync);
    disk.journal.fail_next_sync(LOG);
    let mut held = Some(disk.write_held("Zürich"));
    let (_, pending) = disk.is_there("Zürich");
    let mut found = Vec::new();
    let ((), fence) = disk.store.read_fenced(|read| {
        found.push(has(read, "Zürich"));
        if let Some(held) = held.take() {
            drop(held);
            disk.settled(pending).unwrap_err();
        }
    });
    assert_eq!(found, [true, false]);
    assert!(matches!(disk.store.outcome(fence), Some(Ok(()))));
}

#[test]
fn what_a_refused_write_has_changed_is_told_to_nobody() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    let ((changed, is_changed), (seen, is_seen)) = (sync_channel(0), sync_channel(0));
    thread::scope(|scope| {
        scope.spawn(move || {
            let refused = store.write(
                |write| {
                    write.create_node("Stadt", "Atlantis", &[])?;
                    changed.send(()).unwrap();
                    is_seen.recv().unwrap();
                    Err::<(), _>(Refusal::NoNode)
                },
                drop,
            );
            assert!(refused.is_err());
        });
        is_changed.recv_timeout(PATIENCE).expect("the write begins");
        let mut found = Vec::new();
        let ((), fence) = store.read_fenced(|read| {
            found.push(has(read, "Atlantis"));
            if found.len() == 1 {
                seen.send(()).unwrap();
            }
        });
        assert_eq!(found, [true, false]);
        assert!(matches!(store.outcome(fence), Some(Ok(()))));
    });
}

/// A part that is taken back inside of a write that is made.
#[test]
fn what_a_write_has_attempted_in_vain_is_told_to_nobody() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    let ((changed, is_changed), (seen, is_seen)) = (sync_channel(0), sync_channel(0));
    thread::scope(|scope| {
        scope.spawn(move || {
            let written = store.write_and_wait(|write| {
                write.create_node("Stadt", "Zürich", &[])?;
                let attempted = write.attempt(|write| {
                    write.create_node("Stadt", "Atlantis", &[])?;
                    changed.send(()).unwrap();
                    is_seen.recv().unwrap();
                    Err::<(), _>(Refusal::NoNode)
                });
                assert!(attempted.is_err());
                Ok(())
            });
            written.unwrap();
        });
        is_changed.recv_timeout(PATIENCE).expect("the write begins");
        let mut found = Vec::new();
        let ((), fence) = store.read_fenced(|read| {
            found.push((has(read, "Zürich"), has(read, "Atlantis")));
            if found.len() == 1 {
                seen.send(()).unwrap();
            }
        });
        assert_eq!(found, [(true, true), (true, false)]);
        disk.settled(fence).unwrap();
    });
}

/// Many are refused while others read: a read comes to its end all the same, and tells of none.
#[test]
fn a_read_comes_to_its_end_beside_writes_that_are_refused() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            for _ in 0..2_000 {
                let refused = store.write(
                    |write| {
                        write.create_node("Stadt", "Atlantis", &[])?;
                        Err::<(), _>(Refusal::NoNode)
                    },
                    drop,
                );
                assert!(refused.is_err());
            }
        });
        while !writing.is_finished() {
            let (is_there, _) = disk.is_there("Atlantis");
            assert!(!is_there);
        }
    });
}

#[test]
fn a_refusal_waits_for_what_it_is_because_of() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let refuse = |key: &str| {
        let begun = disk.store.begin_read();
        let refused = disk.store.write(|write| write.create_node("Stadt", key, &[]), drop);
        assert!(matches!(refused, Err(Refusal::KeyExists { .. })));
        disk.store.end_refused(begun)
    };
    assert!(matches!(disk.store.outcome(refuse("Köln")), Some(Ok(()))));
    disk.journal.fail_next_sync(LOG);
    let held = disk.write_held("Zürich");
    let fence = refuse("Zürich");
    assert!(disk.store.outcome(fence).is_none());
    drop(held);
    assert!(matches!(disk.settled(fence), Err(LogError::Unknown { .. })));
}

/// The others wait for nothing, and who looks at everything waits for all.
#[test]
fn who_reads_what_nobody_changes_is_told_at_once() {
    let disk = OnSlowDisk::new(Durability::Sync);
    disk.store.write_and_wait(|write| write.create_node("Stadt", "Bern", &[])).unwrap();
    let held = disk.write_held("Zürich");
    for (key, is_told) in [("Köln", true), ("Bern", true), ("Atlantis", true), ("Zürich", false)] {
        assert_eq!(disk.is_told(disk.is_there(key).1), is_told, "{key}");
    }
    let all = disk.store.read_fenced(|read| read.nodes(None).count());
    assert_eq!((all.0, disk.is_told(all.1)), (3, false));
    let count = disk.store.read_fenced(|read| read.count(Side::Nodes, None));
    assert!(!disk.is_told(count.1));
    drop(held);
    for fence in [all.1, count.1] {
        disk.settled(fence).unwrap();
    }
}

#[test]
fn the_schema_and_that_a_graph_is_empty_are_told_when_they_are_durable() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let held = disk.journal.hold(LOG);
    disk.store.write(|write| write.make_type(Side::Nodes, "Land"), drop).unwrap();
    assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
    let (is_there, of_schema) =
        disk.store.read_fenced(|read| read.schema().side(Side::Nodes).find("Land").is_some());
    assert!(is_there && !disk.is_told(of_schema));
    drop(held);
    disk.settled(of_schema).unwrap();
    let held = disk.journal.hold(LOG);
    let clear = |write: &mut Write<'_>| {
        write.clear();
        Ok(())
    };
    disk.store.write(clear, drop).unwrap();
    assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
    let (is_there, of_node) = disk.is_there("Köln");
    assert!(!is_there && !disk.is_told(of_node));
    drop(held);
    disk.settled(of_node).unwrap();
}

/// Its stamp was waited for, which no write would ever have settled.
#[test]
fn what_only_a_refused_write_has_touched_is_told() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let held = disk.write_held("Zürich");
    let refused = disk.store.write(
        |write| {
            let at = write.find("Stadt", "Köln").unwrap();
            write.delete_node(at)?;
            Err::<(), _>(Refusal::NoNode)
        },
        drop,
    );
    assert!(refused.is_err());
    let (is_there, fence) = disk.is_there("Köln");
    assert!(is_there);
    drop(held);
    disk.settled(fence).unwrap();
}

/// Those at its other ends lose a relationship though nothing of theirs was written.
#[test]
fn neighbours_of_a_deleted_hub_are_told_when_that_is_durable() {
    const MANY: usize = 1_500;
    let disk = OnSlowDisk::new(Durability::Sync);
    let fill = |write: &mut Write<'_>| {
        let hub = write.create_node("Stadt", "Rom", &[])?;
        for number in 0..MANY {
            let leaf = write.create_node("Stadt", &number.to_string(), &[])?;
            write.create_relationship("STRASSE", leaf, hub, &[])?;
        }
        Ok(hub)
    };
    let hub = disk.store.write_and_wait(fill).unwrap();
    let roads = |read: &Read| {
        let leaf = read.find("Stadt", "7").unwrap().at;
        (read.around(leaf, Around::default()).len(), read.degree(leaf, Around::default()))
    };
    let (before, fence) = disk.store.read_fenced(roads);
    assert!(before == (1, 1) && disk.is_told(fence));
    let held = disk.journal.hold(LOG);
    disk.store.write(|write| write.delete_node(hub), drop).unwrap();
    assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
    let (after, fence) = disk.store.read_fenced(roads);
    assert!(after == (0, 0) && !disk.is_told(fence));
    drop(held);
    disk.settled(fence).unwrap();
}

/// The keys that the test uses, and further down how many slots of each shard it looks at.
const NAMES: [&str; 5] = ["Köln", "a", "b", "", "Zürich"];
const TYPES: [&str; 2] = ["Stadt", "Land"];
const SLOTS: u32 = 4;

fn refs() -> impl Iterator<Item = Ref> {
    let all = (1..=2).flat_map(|of| (0..4).map(move |shard| (of, shard)));
    all.flat_map(|(of, shard)| (0..SLOTS).map(move |index| Ref::new(of, shard, index)))
}

/// What can be asked of little: each as text, with its fence.
fn looks(store: &Store) -> Vec<(String, ReadFence)> {
    let mut looks = Vec::new();
    let mut add = |look: &dyn Fn(&Read) -> String| looks.push(store.read_fenced(look));
    for (of, key) in TYPES.iter().flat_map(|of| NAMES.map(|key| (of, key))) {
        add(&|read| {
            let found = read.find(of, key).map(|node| (node.at, node.properties().collect::<Vec<_>>()));
            format!("{of} {key}: {found:?}")
        });
    }
    for at in refs() {
        add(&|read| {
            let node = read.node(at).map(|node| (node.key, node.properties().collect::<Vec<_>>()));
            format!("{at:?}: {node:?}")
        });
        add(&|read| {
            let one = read.relationship(at);
            let one = one.map(|one| (one.from, one.to, one.properties().collect::<Vec<_>>()));
            format!("{at:?}: {one:?}")
        });
        add(&|read| {
            let mut text = format!("around {at:?}:");
            for (direction, one) in read.around(at, Around::default()) {
                let properties: Vec<_> = one.properties().collect();
                write!(text, " {direction:?} {:?} {:?}", one.at, properties).unwrap();
            }
            text
        });
        let types = ["NACH", "VON"];
        let around = Around { types: Some(&types), ..Around::default() };
        add(&|read| {
            format!("degree {at:?}: {} {}", read.degree(at, around), read.degree_at_most(at, around))
        });
        let other = Ref::new(1, 0, 0);
        add(&|read| format!("between {at:?}: {:?}", read.between(at, other, around).len()));
    }
    looks
}

/// Something that may be refused, as most of it names nothing that is there.
fn change(write: &mut Write<'_>, rng: &mut ChaCha8Rng) -> Result<(), Refusal> {
    let (of, key) = (TYPES[rng.random_range(0..2)], NAMES[rng.random_range(0..NAMES.len())]);
    let all: Vec<Ref> = refs().collect();
    let mut any = || all[rng.random_range(0..all.len())];
    let (a, b) = (any(), any());
    let found = write.find(of, key);
    let other = write.find(TYPES[rng.random_range(0..2)], NAMES[rng.random_range(0..NAMES.len())]);
    let value = Value::Integer(rng.random_range(0..1_000_000));
    let link = ["NACH", "VON"][rng.random_range(0..2)];
    match (rng.random_range(0..12), found, other) {
        (0..3, _, _) => write.create_node(of, key, &[("n", value)]).map(drop),
        (3, Some(at), _) => write.delete_node(at),
        (4, Some(at), _) => write.set_node(at, &[("n", value)], Keep::Others),
        (5, Some(at), _) => write.remove_node_property(at, "n"),
        (6..9, Some(from), Some(to)) => write.create_relationship(link, from, to, &[("n", value)]).map(drop),
        (9, ..) => write.delete_relationship(a),
        (10, ..) => write.set_relationship(b, &[("n", value)], Keep::Others),
        (11, ..) if rng.random_range(0..40) == 0 => {
            write.clear();
            prepare(write)
        }
        _ => Err(Refusal::NoNode),
    }
}

fn prepare(write: &mut Write<'_>) -> Result<(), Refusal> {
    for (side, names) in [(Side::Nodes, TYPES), (Side::Relationships, ["NACH", "VON"])] {
        for name in names {
            write.make_type(side, name)?;
            write.declare(side, name, "n", Kind::Integer)?;
        }
    }
    Ok(())
}

/// Whatever is changed: what is told at once is what was durable before.
#[test]
fn whoever_is_told_at_once_has_seen_nothing_of_what_is_pending() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    store
        .write_and_wait(|write| {
            write.clear();
            prepare(write)
        })
        .unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut told, mut untold) = (0_u32, 0_u32);
    for round in 0..600 {
        let before = looks(store);
        assert!(before.iter().all(|(_, fence)| disk.is_told(*fence)), "round {round}");
        let held = disk.journal.hold(LOG);
        let mut is_changed = false;
        for _ in 0..rng.random_range(1..4) {
            let fails = rng.random_range(0..8) == 0;
            let made = store.write(
                |write| {
                    change(write, &mut rng)?;
                    if fails { Err(Refusal::NoNode) } else { Ok(()) }
                },
                drop,
            );
            is_changed |= made.is_ok();
        }
        if is_changed {
            assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
        }
        let after = looks(store);
        for ((durable, _), (seen, fence)) in before.iter().zip(&after) {
            let is_told = disk.is_told(*fence);
            assert!(!is_told || seen == durable, "round {round}: {seen} is told, and {durable} is durable");
            if is_changed && is_told {
                told += 1;
            } else if is_changed {
                untold += 1;
            }
        }
        drop(held);
        let everything = store.read_fenced(|read| read.count(Side::Nodes, None)).1;
        disk.settled(everything).unwrap();
    }
    assert!(untold > 0 && told > 9 * untold, "{told} were told at once, {untold} were not");
}
