//! A store whose power is lost at any moment: what was acknowledged as durable is there, nothing is half-made, and it
//! goes on. `PRONY_GRAPH_LOSSES` for more of them.

use crate::types::value::{Kind, Value};
use crate::write::{Keep, Write};
use crate::{Around, Durability, Options, Refusal, Side, Store};
use prony_log::losses::{Life, PowerLossStore, lose_power_in_two_lives};
use prony_log::power_loss::{DiskEvent, Journal, Lie, Sectors};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LIVES: u32 = 3;
/// Of each life.
const LOSSES: u64 = 25;
const WRITES: u64 = 40;

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

impl PowerLossStore for Store {
    fn open_below(root: &Path, durability: Durability) -> Result<Self, String> {
        Self::open(&root.join("a/graph"), options(durability)).map_err(|error| error.to_string())
    }

    /// Two snapshots are made meanwhile.
    fn live(&self, first: u64, journal: &Arc<Journal>, chance: &mut ChaCha8Rng) {
        std::thread::scope(|scope| {
            for number in first..first + WRITES {
                journal.note(DiskEvent::Begun(number + 1));
                let acknowledged = Arc::clone(journal);
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
                    self.write(|write| make(write, self, number), told).unwrap();
                    receiver.recv().unwrap();
                } else {
                    self.write(|write| make(write, self, number), done).unwrap();
                }
                if number % WRITES == WRITES / 4 || number % WRITES == WRITES / 2 {
                    scope.spawn(|| self.snapshot().unwrap());
                }
            }
        });
    }

    fn count_writes(&self) -> Result<u64, String> {
        count(self)
    }

    fn go_on(&self, number: u64) -> Result<(), String> {
        self.write_and_wait(|write| make(write, self, number)).map_err(|error| error.to_string())
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
        let lost = lose_power_in_two_lives::<Store>(Durability::Sync, losses(), &mut chance);
        prop_assert_eq!(lost, Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 0, ..ProptestConfig::default() })]
    #[test]
    fn without_sync_a_loss_of_power_leaves_the_first_of_the_writes_and_all_that_was_synced(seed in any::<u64>()) {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        for durability in [Durability::Interval(Duration::from_micros(300)), Durability::Off] {
            let lost = lose_power_in_two_lives::<Store>(durability, losses(), &mut chance);
            prop_assert_eq!(lost, Ok(()));
        }
    }
}

/// A disk that does not do what it says is the store without that sync: the test above would see each.
#[test]
fn a_sync_that_is_left_out_is_seen() {
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let life = Life::<Store>::first(Durability::Sync, &mut chance);
    for lie in [Lie::Sync("log-"), Lie::Sync("snapshot"), Lie::DirectorySync] {
        let lost = (0..LOSSES)
            .filter(|_| life.lose_power(Durability::Sync, (lie, Sectors::of(0)), &mut chance).is_err());
        assert!(lost.count() > 0, "{lie:?}");
    }
}
