//! The rows of the meetup data set, the same for the same seed whatever the database: 8 random letters and
//! digits for texts, as the study's own scripts make them, and uniform references between the tables.

use std::{collections::HashSet, fmt::Write};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Counts up with every change of what the same seed gives, so that stored data sets are known to be old.
pub(super) const VERSION: u32 = 1;
const TEXT_LENGTH: usize = 8;
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// From the study's script for meetups.
const START_TIMES: &[&str] = &[
    "2022-04-23 18:00:00",
    "2022-08-01 09:00:00",
    "2022-09-15 13:00:00",
    "2022-10-01 09:00:00",
    "2022-12-01 09:00:00",
];

/// What is generated: every table has `rows` rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct DatasetPlan {
    pub seed: u64,
    pub rows: u32,
}

impl DatasetPlan {
    /// Tells data sets apart: `meetup data set, version 1, seed 42, 100000 rows a table`.
    pub fn fingerprint(&self) -> String {
        format!("meetup data set, version {VERSION}, seed {}, {} rows a table", self.seed, self.rows)
    }
}

/// A table of the data set, in the order in which foreign keys allow them to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatasetTable {
    Venues,
    Members,
    Meetups,
    MeetupsMembers,
}

impl DatasetTable {
    pub(super) const ALL: [Self; 4] = [Self::Venues, Self::Members, Self::Meetups, Self::MeetupsMembers];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Venues => "venues",
            Self::Members => "members",
            Self::Meetups => "meetups",
            Self::MeetupsMembers => "meetups_members",
        }
    }

    pub(super) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Venues => &["id", "name", "postal_code"],
            Self::Members => &["id", "first_name", "last_name", "email"],
            Self::Meetups => &["id", "title", "start_at", "venue_id"],
            Self::MeetupsMembers => &["meetup_id", "member_id"],
        }
    }
}

/// A value, ready for either database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Integer(u32),
    Text(String),
}

/// Calls `take` with each row of a table, values in the columns' order.
pub(super) fn for_each_row<E>(
    plan: DatasetPlan,
    table: DatasetTable,
    mut take: impl FnMut(&[Value]) -> Result<(), E>,
) -> Result<(), E> {
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    // Each table has a stream of its own: a change to one leaves the others as they are.
    random.set_stream(table as u64);
    let mut pairs = HashSet::new();
    for id in 1..=plan.rows {
        take(&row(plan, table, id, &mut random, &mut pairs))?;
    }
    Ok(())
}

fn row(
    plan: DatasetPlan,
    table: DatasetTable,
    id: u32,
    random: &mut ChaCha8Rng,
    pairs: &mut HashSet<(u32, u32)>,
) -> Vec<Value> {
    let id = Value::Integer(id);
    match table {
        DatasetTable::Venues => vec![id, text(random), text(random)],
        DatasetTable::Members => {
            let (first, last) = (text(random), text(random));
            let Value::Text(mut email) = text(random) else { unreachable!("text() gives texts") };
            email.write_str("@example.org").expect("a String takes everything");
            vec![id, first, last, Value::Text(email)]
        }
        DatasetTable::Meetups => {
            let title = text(random);
            let start = START_TIMES[random.random_range(0..START_TIMES.len())].to_owned();
            vec![id, title, Value::Text(start), Value::Integer(random.random_range(1..=plan.rows))]
        }
        DatasetTable::MeetupsMembers => loop {
            let pair = (random.random_range(1..=plan.rows), random.random_range(1..=plan.rows));
            // Small sets have room for all: rows * rows pairs for rows of them.
            if pairs.insert(pair) {
                return vec![Value::Integer(pair.0), Value::Integer(pair.1)];
            }
        },
    }
}

fn text(random: &mut ChaCha8Rng) -> Value {
    let letter = |_| char::from(LETTERS[random.random_range(0..LETTERS.len())]);
    Value::Text((0..TEXT_LENGTH).map(letter).collect())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use expect_test::expect;

    use super::*;

    fn dump(plan: DatasetPlan) -> String {
        let mut out = String::new();
        for table in DatasetTable::ALL {
            let taken: Result<(), Infallible> = for_each_row(plan, table, |row| {
                assert_eq!(row.len(), table.columns().len());
                let values: Vec<String> = row
                    .iter()
                    .map(|value| match value {
                        Value::Integer(number) => number.to_string(),
                        Value::Text(text) => text.clone(),
                    })
                    .collect();
                writeln!(out, "{} {}", table.name(), values.join(" ")).unwrap();
                Ok(())
            });
            taken.unwrap();
        }
        out
    }

    /// FNV-1a, 64 bits.
    fn checksum(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    #[test]
    fn the_same_seed_gives_the_same_rows() {
        expect![[r"
            venues 1 NqJ6vaVm tRnJTTKx
            venues 2 mvzOhfX3 k7vk3tTL
            members 1 isoKEdd0 FEUvwHTD 5NkhSKh9@example.org
            members 2 3qFo2tQ5 GufpPlLm KeglINEv@example.org
            meetups 1 FLTSlfKH 2022-04-23 18:00:00 1
            meetups 2 MdTiJSdI 2022-10-01 09:00:00 1
            meetups_members 2 1
            meetups_members 2 2
        "]]
        .assert_eq(&dump(DatasetPlan { seed: 42, rows: 2 }));
        // A change of this sum is a change of the data set: count VERSION up with it.
        let sum = checksum(&dump(DatasetPlan { seed: 42, rows: 5_000 }));
        expect!["0x71dd115d018c093c"].assert_eq(&format!("{sum:#018x}"));
    }

    #[test]
    fn another_seed_gives_others() {
        assert_ne!(dump(DatasetPlan { seed: 1, rows: 5 }), dump(DatasetPlan { seed: 2, rows: 5 }));
    }
}
