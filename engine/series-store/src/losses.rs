//! A store whose power is lost at any moment: what was acknowledged as durable is there, as rows or in aggregates of those that were
//! removed, nothing is half-made or counted twice, and it goes on. `PRONY_SERIES_LOSSES` for more of them.

use crate::calendar::{Period, Periods};
use crate::{
    Aggregates, Durability, Kind, Options, Refusal, Retention, Store, Summary, TimeMs, TimeRange, Value,
    Write,
};
use prony_log::losses::{Life, PowerLossStore, lose_power_in_two_lives};
use prony_log::power_loss::{DiskEvent, Journal, Lie, Sectors};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// For which rows are kept; what is older is in aggregates.
const KEEP: Duration = Duration::from_secs(60);
const LIVES: u32 = 3;
/// Of each life.
const LOSSES: u64 = 25;
const WRITES: u64 = 40;
/// Between the rows of one write and the next.
const STEP_MS: TimeMs = 20_000;

fn options(durability: Durability) -> Options {
    let retention = vec![Retention { type_name: None, keep: KEEP }];
    let aggregates = vec![Aggregates { type_name: None, period: Period::Minute, keep: None }];
    Options { seal_at_log_bytes: None, retention, aggregates, ..Options::new(durability) }
}

const fn time_of(number: u64) -> TimeMs {
    number.cast_signed() * STEP_MS
}

/// When rows before a write are too old.
fn moment_of(number: u64) -> TimeMs {
    time_of(number) + KEEP.as_millis() as TimeMs
}

/// Write `number` gives each of three entities a row, one of which is of a type of its own; each fifth also deletes the rows of
/// entity `b` before it.
fn make(write: &mut Write<'_>, number: u64) -> Result<(), Refusal> {
    let time = time_of(number);
    for (type_name, entity) in [("T", "a"), ("T", "b"), ("U", "c")] {
        let table = write.table("", type_name)?;
        let series = write.series(table, entity, "/")?;
        let (count, _) = write.attribute(table, "count", "Integer", || Kind::Integer)?;
        let (text, _) = write.attribute(table, "text", "Text", || Kind::Text)?;
        if entity == "b" && number % 5 == 4 {
            write.delete(series, TimeRange { from_ms: i64::MIN, to_ms: time });
            // Rows of the same write are not deleted.
        }
        let long = body(number);
        write.row(series, time, &[(count, Value::Integer(time)), (text, Value::Text(&long))])?;
    }
    Ok(())
}

/// Many sectors, or a part of one.
fn body(number: u64) -> String {
    "x".repeat((number * 733 % 3000) as usize)
}

/// How many writes the store holds; an error where it does not hold exactly what they made.
fn count(store: &Store) -> Result<u64, String> {
    let read = store.read();
    let found = |type_name: &str, entity: &str| -> Result<(Vec<u64>, Summary), String> {
        let names = read.with_catalog(|catalog| {
            let table = catalog.find_table("", type_name)?;
            let series = catalog.find_series(table, entity, "/")?;
            let count = catalog.table(table).attribute("count")?.0;
            let text = catalog.table(table).attribute("text")?.0;
            Some((series, count, text))
        });
        let Some((series, count, text)) = names else { return Ok((Vec::new(), Summary::default())) };
        let mut rows = read.series(series, TimeRange::ALL, &[count, text]);
        let (mut found, mut fault) = (Vec::new(), None);
        let visited = rows.visit(0..u64::MAX, &[count, text], |rows, range| {
            for row in range {
                let number = (rows.times[row] / STEP_MS).cast_unsigned();
                let long = body(number);
                if rows.get(row, count) != Value::Integer(rows.times[row])
                    || rows.get(row, text) != Value::Text(&long)
                {
                    fault = Some(format!("row {number} of {entity} is another"));
                }
                found.push(number);
            }
            true
        });
        visited.map_err(|error| error.to_string())?;
        let mut all = Summary::default();
        let summarized = rows.summarize(count, Periods::Whole, |_, of| {
            all.add_all(of);
            true
        });
        summarized.map_err(|error| error.to_string())?;
        fault.map_or(Ok((found, all)), Err)
    };
    let count = found("T", "a")?.1.count;
    let first_of_b = (0..count).rev().find(|number| number % 5 == 4).unwrap_or(0);
    let expected: [(_, _, Vec<u64>); 3] = [
        ("T", "a", (0..count).collect()),
        ("T", "b", (first_of_b..count).collect()),
        ("U", "c", (0..count).collect()),
    ];
    for (type_name, entity, expected) in expected {
        let (rows, all) = found(type_name, entity)?;
        let mut wanted = Summary::default();
        for number in &expected {
            wanted.add_all(&Summary::of_one(time_of(*number) as f64));
        }
        let all = Summary { exact: None, ..all };
        if all != wanted {
            return Err(format!("of {count} writes, {entity} has {all:?} instead of {wanted:?}"));
        }
        // Rows that are not there are in aggregates.
        let has_rows =
            rows.is_sorted_by(|one, other| one < other) && rows.iter().all(|of| expected.contains(of));
        if !has_rows {
            return Err(format!("of {count} writes, {entity} has the rows {rows:?}"));
        }
    }
    Ok(count)
}

impl PowerLossStore for Store {
    fn open_below(root: &Path, durability: Durability) -> Result<Self, String> {
        Self::open(&root.join("a/series"), options(durability)).map_err(|error| error.to_string())
    }

    /// Segments are made and joined, and old rows removed, meanwhile.
    fn live(&self, first: u64, journal: &Arc<Journal>, chance: &mut ChaCha8Rng) {
        std::thread::scope(|scope| {
            for number in first..first + WRITES {
                journal.note(DiskEvent::Begun(number + 1));
                let acknowledged = Arc::clone(journal);
                let done = move || acknowledged.note(DiskEvent::Acknowledged(number + 1));
                if chance.random_bool(0.4) {
                    self.write_and_wait(|write| make(write, number)).unwrap();
                    done();
                } else {
                    self.write_ticket(|write| make(write, number)).unwrap();
                }
                if number % WRITES == WRITES / 4 || number % WRITES == WRITES / 2 {
                    scope.spawn(|| self.seal().unwrap());
                }
                if number % WRITES == WRITES * 3 / 4 {
                    scope.spawn(|| self.compact().unwrap());
                }
                if number % 8 == 5 {
                    scope.spawn(move || self.remove_old(moment_of(number)).unwrap());
                }
            }
        });
    }

    fn count_writes(&self) -> Result<u64, String> {
        count(self)
    }

    fn go_on(&self, number: u64) -> Result<(), String> {
        self.write_and_wait(|write| make(write, number)).map_err(|error| error.to_string())?;
        self.remove_old(moment_of(number)).map_err(|error| error.to_string())?;
        self.compact().map_err(|error| error.to_string())
    }
}

fn losses() -> u64 {
    std::env::var("PRONY_SERIES_LOSSES").map_or(LOSSES, |text| text.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: LIVES, max_shrink_iters: 0, ..ProptestConfig::default() })]
    #[test]
    fn what_was_acknowledged_outlives_a_loss_of_power_at_any_moment(seed in any::<u64>()) {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let lost = lose_power_in_two_lives::<Store>(Durability::Sync, losses(), &mut chance);
        prop_assert_eq!(lost, Ok(()));
    }

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
    for lie in [Lie::Sync("log-"), Lie::Sync("manifest"), Lie::Sync("segment-"), Lie::DirectorySync] {
        let lost = (0..2 * LOSSES)
            .filter(|_| life.lose_power(Durability::Sync, (lie, Sectors::of(0)), &mut chance).is_err());
        assert!(lost.count() > 0, "{lie:?}");
    }
}
