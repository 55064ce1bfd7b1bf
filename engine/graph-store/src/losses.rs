//! A store whose power is lost at any moment: what was acknowledged as durable is there, nothing is half-made, and it
//! goes on. `PRONY_GRAPH_LOSSES` for more of them.

use crate::types::value::{Kind, Value};
use crate::write::{Keep, Write};
use crate::{Around, Durability, Options, Refusal, Side, Store};
use prony_log::frames::HEAD_BYTES;
use prony_log::power_loss::{Disk, DiskChange, DiskEvent, Done, Journal, Lie, Sectors, is_called};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const LIVES: u32 = 3;
/// Of each life.
const LOSSES: u64 = 25;
const WRITES: u64 = 40;

/// What a process did with a disk.
struct Life {
    before: Disk,
    known: Bounds,
    events: Vec<DiskEvent>,
}

/// How many writes were sure to be on the disk, whatever was promised, how many were acknowledged, and how many begun.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    sure: u64,
    acknowledged: u64,
    begun: u64,
}

/// In memory where that can be: what the true disk does is not the question.
pub(crate) fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(crate) fn options(durability: Durability) -> Options {
    Options { snapshot_at_log_bytes: None, ..Options::new(durability) }
}

/// Node `number`, its relationship from the one before, and the count of all in node 0; each fifth also takes back the
/// node two before it.
pub(crate) fn make(write: &mut Write<'_>, store: &Store, number: u64) -> Result<(), Refusal> {
    let at = |number: u64| store.read().find("N", &number.to_string()).map(|node| node.at);
    if number == 0 {
        write.make_type(Side::Nodes, "N")?;
        write.declare(Side::Nodes, "N", "count", Kind::Integer)?;
        write.declare(Side::Nodes, "N", "text", Kind::String)?;
    }
    let text = Value::String(text(number).into());
    let node = write.create_node("N", &number.to_string(), &[("text", text)])?;
    if let Some(before) = number.checked_sub(1).and_then(at) {
        write.create_relationship("NEXT", before, node, &[])?;
    }
    if let Some(gone) = gone_with(number).and_then(at) {
        write.delete_node(gone)?;
    }
    let count = Value::Integer(number.cast_signed() + 1);
    write.set_node(at(0).unwrap_or(node), &[("count", count)], Keep::Others)
}

fn gone_with(number: u64) -> Option<u64> {
    (number % 5 == 4).then(|| number - 2)
}

/// Many sectors, or a part of one.
fn text(number: u64) -> String {
    "x".repeat((number * 733 % 3000) as usize)
}

/// How many writes the graph holds; an error where it does not hold exactly what they made.
pub(crate) fn count(store: &Store) -> Result<u64, String> {
    let read = store.read();
    let Some(first) = read.find("N", "0") else {
        let nodes = read.count(Side::Nodes, None);
        return if nodes == 0 { Ok(0) } else { Err(format!("{nodes} nodes without the first")) };
    };
    let Some(Value::Integer(count)) = first.property("count") else { return Err("no count".to_owned()) };
    let count = count.cast_unsigned();
    let is_gone = |number: u64| (0..count).filter_map(gone_with).any(|gone| gone == number);
    let (mut nodes, mut links) = (0, 0);
    for number in (0..count).filter(|number| !is_gone(*number)) {
        let node = read.find("N", &number.to_string()).ok_or(format!("of {count}, {number} is missing"))?;
        if node.property("text") != Some(Value::String(text(number).into())) {
            return Err(format!("{number} has another text"));
        }
        let is_linked = |next: u64| next < count && !is_gone(next);
        let linked = u64::from(number > 0 && !is_gone(number - 1)) + u64::from(is_linked(number + 1));
        if read.degree(node.at, Around::default()) != linked {
            return Err(format!("of {count}, {number} has not {linked} relationships"));
        }
        nodes += 1;
        links += linked;
    }
    if (read.count(Side::Nodes, None), 2 * read.count(Side::Relationships, None)) != (nodes, links) {
        return Err(format!("there is more than {count} writes have made"));
    }
    match &store.check().problems[..] {
        [] => Ok(count),
        problems => Err(problems.join("; ")),
    }
}

/// Opens the graph below `root`, makes writes in groups that chance chooses, with two snapshots meanwhile.
fn live(root: &Path, durability: Durability, chance: &mut ChaCha8Rng) -> Vec<DiskEvent> {
    let journal = Journal::begin(root);
    let store = Store::open(&root.join("a/graph"), options(durability)).unwrap();
    let first = count(&store).unwrap();
    std::thread::scope(|scope| {
        for number in first..first + WRITES {
            journal.note(DiskEvent::Begun(number + 1));
            let acknowledged = Arc::clone(&journal);
            let done = move |outcome: Result<(), _>| {
                assert!(outcome.is_ok());
                acknowledged.note(DiskEvent::Acknowledged(number + 1));
            };
            if chance.random_bool(0.4) {
                let (sender, receiver) = std::sync::mpsc::channel();
                let told = move |outcome| {
                    done(outcome);
                    let _ = sender.send(());
                };
                store.write(|write| make(write, &store, number), told).unwrap();
                receiver.recv().unwrap();
            } else {
                store.write(|write| make(write, &store, number), done).unwrap();
            }
            if number % WRITES == WRITES / 4 || number % WRITES == WRITES / 2 {
                scope.spawn(|| store.snapshot().unwrap());
            }
        }
    });
    drop(store);
    journal.end()
}

impl Life {
    fn first(durability: Durability, chance: &mut ChaCha8Rng) -> Self {
        let root = directory();
        Self {
            before: Disk::default(),
            known: Bounds::default(),
            events: live(root.path(), durability, chance),
        }
    }

    /// The process was killed at some moment; another goes on with what it has left, of which not all is on the disk.
    fn second(&self, durability: Durability, chance: &mut ChaCha8Rng) -> Self {
        // Names that no directory was synced with are rare, and the worst to go on with.
        let is_worst = |at: &usize| {
            matches!(self.events[at - 1], DiskEvent::Done(Done::Rename { .. } | Done::Create(_)))
        };
        let worst: Vec<usize> = (1..self.events.len()).filter(is_worst).collect();
        let at = if chance.random() {
            worst[chance.random_range(0..worst.len())]
        } else {
            chance.random_range(0..self.events.len())
        };
        let before = self.before.clone().after(&self.events[..at], Lie::None);
        let root = directory();
        before.write_seen(root.path());
        Self { before, known: self.bounds(at), events: live(root.path(), durability, chance) }
    }

    /// Up to then. Once a write is acknowledged it stands in the log, and a sync of the file that was written last makes it
    /// sure.
    fn bounds(&self, at: usize) -> Bounds {
        let (mut bounds, mut written) = (self.known, None);
        for event in &self.events[..at] {
            match event {
                DiskEvent::Done(Done::Change(path, DiskChange::Write { at: HEAD_BYTES.., .. }))
                    if is_called(path, "log-") =>
                {
                    written = Some(path);
                }
                DiskEvent::Done(Done::Sync(path)) if written == Some(path) => {
                    bounds.sure = bounds.acknowledged;
                }
                DiskEvent::Acknowledged(number) => bounds.acknowledged = bounds.acknowledged.max(*number),
                DiskEvent::Begun(number) => bounds.begun = bounds.begun.max(*number),
                DiskEvent::Done(_) => {}
            }
        }
        bounds
    }

    /// The power goes at some moment: an error where the graph is not what it should be.
    fn lose_power(
        &self,
        durability: Durability,
        (lie, sectors): (Lie, Sectors),
        chance: &mut ChaCha8Rng,
    ) -> Result<(), String> {
        let at = chance.random_range(0..=self.events.len());
        let disk = self.before.clone().after(&self.events[..at], lie);
        let root = directory();
        disk.write_after_loss(root.path(), sectors, chance);
        let open = || {
            let store = Store::open(&root.path().join("a/graph"), options(durability));
            store.map_err(|error| format!("event {at}: {error}"))
        };
        let store = open()?;
        let (found, Bounds { sure, acknowledged, begun }) = (count(&store)?, self.bounds(at));
        let least = match durability {
            Durability::Sync => acknowledged,
            Durability::Interval(_) => sure,
            Durability::Off => 0,
        };
        if !(least..=begun).contains(&found) {
            return Err(format!(
                "event {at}: {found} of {acknowledged} acknowledged and {begun} begun writes"
            ));
        }
        // It goes on as if nothing had been.
        store.write_and_wait(|write| make(write, &store, found)).map_err(|error| error.to_string())?;
        drop(store);
        match count(&open()?)? {
            after if after == found + 1 => Ok(()),
            after => Err(format!("event {at}: {after} writes after {found} and one more")),
        }
    }
}

fn losses() -> u64 {
    std::env::var("PRONY_GRAPH_LOSSES").map_or(LOSSES, |text| text.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: LIVES, max_shrink_iters: 0, ..ProptestConfig::default() })]
    #[test]
    fn what_was_acknowledged_outlives_a_loss_of_power_at_any_moment(seed in any::<u64>()) {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let first = Life::first(Durability::Sync, &mut chance);
        let second = first.second(Durability::Sync, &mut chance);
        for life in [&first, &second] {
            for number in 0..losses() {
                let lost = life.lose_power(Durability::Sync, (Lie::None, Sectors::of(number)), &mut chance);
                prop_assert!(lost.is_ok(), "{:?}: {lost:?}", Sectors::of(number));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 0, ..ProptestConfig::default() })]
    #[test]
    fn without_sync_a_loss_of_power_leaves_the_first_of_the_writes_and_all_that_was_synced(seed in any::<u64>()) {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        for durability in [Durability::Interval(Duration::from_micros(300)), Durability::Off] {
            let first = Life::first(durability, &mut chance);
            let second = first.second(durability, &mut chance);
            for life in [&first, &second] {
                for number in 0..losses() {
                    let lost = life.lose_power(durability, (Lie::None, Sectors::of(number)), &mut chance);
                    prop_assert!(lost.is_ok(), "{durability:?}, {:?}: {lost:?}", Sectors::of(number));
                }
            }
        }
    }
}

/// A disk that does not do what it says is the store without that sync: the test above would see each.
#[test]
fn a_sync_that_is_left_out_is_seen() {
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let life = Life::first(Durability::Sync, &mut chance);
    for lie in [Lie::Sync("log-"), Lie::Sync("snapshot"), Lie::DirectorySync] {
        let lost = (0..LOSSES)
            .filter(|_| life.lose_power(Durability::Sync, (lie, Sectors::of(0)), &mut chance).is_err());
        assert!(lost.count() > 0, "{lie:?}");
    }
}
