//! What a feed keeps for each table of its source: who wants to hear of it, and how often it has changed.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst},
};

use crate::{
    changes::{Operation, RowChange},
    model::TableId,
};

/// Enough for all numbers.
const BLOCKS: usize = 32;

/// One state for each number of a table, made when it is first asked for. Each block is twice as large as the one before, so that no
/// state ever moves.
#[derive(Debug, Default)]
pub(super) struct TableStates {
    blocks: [OnceLock<Box<[TableState]>>; BLOCKS],
}

#[derive(Debug, Default)]
pub(super) struct TableState {
    /// How many readers want to hear of it.
    pub(super) wanted: AtomicU32,
    /// Whether the database's triggers capture its changes, also those that this server makes.
    pub(super) by_triggers: AtomicBool,
    /// How often it has changed.
    pub(super) version: TableVersion,
}

impl TableStates {
    pub(super) fn of(&self, table: TableId) -> &TableState {
        let place = u64::from(table.0) + 1;
        let block = place.ilog2();
        let states = self.blocks[block as usize]
            .get_or_init(|| std::iter::repeat_with(TableState::default).take(1 << block).collect());
        &states[(place - (1 << block)) as usize]
    }

    /// All that have been asked for, and others that nobody has asked for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TableId, &TableState)> {
        let blocks =
            self.blocks.iter().enumerate().filter_map(|(block, states)| Some((block, states.get()?)));
        blocks.flat_map(|(block, states)| {
            let first = (1_u64 << block) - 1;
            states.iter().zip(first..).map(|(state, number)| (TableId(number as u32), state))
        })
    }
}

/// How often rows of a table have changed, or may have. Who compares adds them up: each only grows.
#[derive(Debug, Default)]
pub(super) struct TableVersion {
    any: AtomicU64,
    /// Deletions, and updates of what foreign keys may lead to: the primary key, or any column.
    keys: AtomicU64,
    columns: AtomicU64,
}

/// Which changes of a table count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    All,
    /// Deletions, and updates of the primary key.
    OfKeys,
    /// Deletions and updates.
    OfColumns,
}

impl TableVersion {
    pub(super) fn counted(&self, counted: Counted) -> u64 {
        let count = match counted {
            Counted::All => &self.any,
            Counted::OfKeys => &self.keys,
            Counted::OfColumns => &self.columns,
        };
        count.load(SeqCst)
    }

    pub(super) fn count(&self, change: &RowChange) {
        self.any.fetch_add(1, SeqCst);
        if change.operation == Operation::Insert {
            return;
        }
        self.columns.fetch_add(1, SeqCst);
        // Of a row that is not known, the key may be another.
        let is_of_key = change.previous_key.is_some() || change.row.is_none();
        if change.operation == Operation::Delete || is_of_key {
            self.keys.fetch_add(1, SeqCst);
        }
    }

    pub(super) fn count_unknown(&self) {
        for count in [&self.any, &self.keys, &self.columns] {
            count.fetch_add(1, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_has_a_state_of_its_own_that_stays() {
        let states = TableStates::default();
        let numbers = [0, 1, 2, 3, 6, 7, 8, 1000, (1 << 16) - 1, 1 << 16];
        for (count, number) in numbers.into_iter().enumerate() {
            states.of(TableId(number)).wanted.store(count as u32 + 1, SeqCst);
        }
        let found: Vec<(u32, u32)> = states
            .iter()
            .map(|(id, state)| (id.0, state.wanted.load(SeqCst)))
            .filter(|(_, wanted)| *wanted > 0)
            .collect();
        let expected: Vec<(u32, u32)> = numbers.into_iter().zip(1..).collect();
        assert_eq!(found, expected);
    }
}
