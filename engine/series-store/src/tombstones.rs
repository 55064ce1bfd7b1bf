//! Deletions whose rows may still be in segments or in memory: rows that were made by earlier writes are hidden.

use crate::ids::{SeriesId, TableId, TimeMs, TimeRange};
use crate::op::{Deleted, OpNumber};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) number: OpNumber,
    pub(crate) range: TimeRange,
}

/// All deletions that may hide something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tombstones {
    tables: HashMap<TableId, Vec<Tombstone>, RandomState>,
    series: HashMap<SeriesId, Vec<Tombstone>, RandomState>,
}

/// The deletions of one series.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hidden(Vec<Tombstone>);

fn add(to: &mut Vec<Tombstone>, new: Tombstone) {
    // A later deletion of more makes an earlier one needless.
    to.retain(|old| old.number > new.number || !new.range.covers(old.range.from_ms, old.range.to_ms));
    to.push(new);
}

impl Tombstones {
    pub(crate) fn add(&mut self, of: Deleted, tombstone: Tombstone) {
        match of {
            Deleted::Table(table) => add(self.tables.entry(table).or_default(), tombstone),
            Deleted::Series(series) => add(self.series.entry(series).or_default(), tombstone),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (Deleted, Tombstone)> {
        let tables = self.tables.iter().map(|(of, all)| (Deleted::Table(*of), all));
        let series = self.series.iter().map(|(of, all)| (Deleted::Series(*of), all));
        tables.chain(series).flat_map(|(of, all)| all.iter().map(move |one| (of, *one)))
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.series.is_empty()
    }

    pub(crate) fn of(&self, table: TableId, series: SeriesId) -> Hidden {
        if self.is_empty() {
            return Hidden::default();
        }
        let of_table = self.tables.get(&table).into_iter().flatten();
        Hidden(of_table.chain(self.series.get(&series).into_iter().flatten()).copied().collect())
    }

    /// Forgets those before which no row was made that is still there.
    pub(crate) fn forget_before(&mut self, first: OpNumber) {
        self.tables.retain(|_, all| {
            all.retain(|one| one.number > first);
            !all.is_empty()
        });
        self.series.retain(|_, all| {
            all.retain(|one| one.number > first);
            !all.is_empty()
        });
    }
}

impl Hidden {
    pub(crate) fn hides(&self, number: OpNumber, time_ms: TimeMs) -> bool {
        self.0.iter().any(|one| number < one.number && one.range.contains(time_ms))
    }

    /// Whether any row could be hidden of those in this time that were made by this write and later ones.
    pub(crate) fn may_hide(&self, first_number: OpNumber, first_ms: TimeMs, last_ms: TimeMs) -> bool {
        self.0.iter().any(|one| first_number < one.number && one.range.meets(first_ms, last_ms))
    }

    /// Whether all rows are hidden that were made by writes up to this one, in this time.
    pub(crate) fn hides_all(&self, last_number: OpNumber, first_ms: TimeMs, last_ms: TimeMs) -> bool {
        self.0.iter().any(|one| last_number < one.number && one.range.covers(first_ms, last_ms))
    }
}
