//! Deletions whose rows or aggregates may still be in segments or in memory: what was made by earlier writes is hidden.

use crate::ids::{SeriesId, TableId, TimeMs, TimeRange};
use crate::op::{Deleted, OpNumber};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) number: OpNumber,
    pub(crate) range: TimeRange,
    pub(crate) reach: Reach,
}

/// What a deletion hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Rows, and the aggregates of all rows that were removed before and may have been in its range.
    All,
    /// Rows alone: their aggregates stay.
    Rows,
    /// Aggregates alone, of periods all of whose rows were in its range.
    Aggregates,
}

/// All deletions that may hide something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tombstones {
    tables: HashMap<TableId, Vec<Tombstone>, RandomState>,
    series: HashMap<SeriesId, Vec<Tombstone>, RandomState>,
}

/// The deletions of one series that hide rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hidden(Vec<Tombstone>);

/// The deletions of one series that hide aggregates.
#[derive(Debug, Clone, Default)]
pub(crate) struct HiddenAggregates(Vec<Tombstone>);

fn add(to: &mut Vec<Tombstone>, new: Tombstone) {
    // A later deletion of more makes an earlier one needless.
    let has_reach = |old: &Tombstone| new.reach == Reach::All || new.reach == old.reach;
    to.retain(|old| {
        old.number > new.number || !has_reach(old) || !new.range.covers(old.range.from_ms, old.range.to_ms)
    });
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

    /// Those by writes behind one.
    pub(crate) fn count_after(&self, number: OpNumber) -> usize {
        self.all().filter(|(_, one)| one.number > number).count()
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.series.is_empty()
    }

    /// Of rows.
    pub(crate) fn of(&self, table: TableId, series: SeriesId) -> Hidden {
        self.with_reach(table, series, |reach| reach != Reach::Aggregates)
    }

    pub(crate) fn of_aggregates(&self, table: TableId, series: SeriesId) -> HiddenAggregates {
        HiddenAggregates(self.with_reach(table, series, |reach| reach != Reach::Rows).0)
    }

    fn with_reach(&self, table: TableId, series: SeriesId, has: impl Fn(Reach) -> bool) -> Hidden {
        if self.is_empty() {
            return Hidden::default();
        }
        let of_table = self.tables.get(&table).into_iter().flatten();
        let all = of_table.chain(self.series.get(&series).into_iter().flatten());
        Hidden(all.filter(|one| has(one.reach)).copied().collect())
    }

    /// Forgets those before which nothing was made that is still there: rows of the first segment were made by writes up to one, the
    /// aggregates that are there by writes up to the other. Without segments nothing is known of rows.
    pub(crate) fn forget_before(&mut self, rows: Option<OpNumber>, aggregates: Option<OpNumber>) {
        let hides_rows = |number| rows.is_none_or(|first| number > first);
        let hides_aggregates = |number| aggregates.is_some_and(|first| number > first);
        let is_needed = |one: &Tombstone| match one.reach {
            Reach::All => hides_rows(one.number) || hides_aggregates(one.number),
            Reach::Rows => hides_rows(one.number),
            Reach::Aggregates => hides_aggregates(one.number),
        };
        self.tables.retain(|_, all| {
            all.retain(is_needed);
            !all.is_empty()
        });
        self.series.retain(|_, all| {
            all.retain(is_needed);
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

impl HiddenAggregates {
    pub(crate) const NONE: Self = Self(Vec::new());

    /// Whether an aggregate is hidden of rows from the one moment to the other. What may have deleted one of its rows hides it as a
    /// whole: what it says without that row is not known.
    pub(crate) fn hides(&self, number: OpNumber, first_ms: TimeMs, last_ms: TimeMs) -> bool {
        self.0.iter().any(|one| {
            let is_meant = match one.reach {
                Reach::All => one.range.meets(first_ms, last_ms),
                Reach::Rows => false,
                Reach::Aggregates => one.range.covers(first_ms, last_ms),
            };
            number < one.number && is_meant
        })
    }

    /// Whether all aggregates of rows are hidden that were between the one moment and the other.
    pub(crate) fn hides_all(&self, number: OpNumber, first_ms: TimeMs, last_ms: TimeMs) -> bool {
        self.0.iter().any(|one| number < one.number && one.range.covers(first_ms, last_ms))
    }
}
