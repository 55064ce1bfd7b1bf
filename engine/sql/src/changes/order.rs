//! The order of commits, where several connections commit at once and their answers may overtake each other. Of two
//! transactions that change the same row, the database lets the second go on only after the first has committed, so that
//! a position of its log that each reads within its last statement says which came first (PostgreSQL manual, section
//! 9.28.3, `pg_current_wal_insert_lsn`).

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use crate::changes::{Feed, KEPT_TRANSACTIONS, RowChange};
use crate::model::{Model, TableId};

/// Transactions that are held back at most: as many as a reader may be behind.
const MAX_HELD: usize = KEPT_TRANSACTIONS;

/// Holds back what has committed until nothing that may come before it is under way.
#[derive(Debug)]
pub struct Order {
    feed: Arc<Feed>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// Numbers of transactions.
    under_way: BTreeSet<u64>,
    /// No more than [`MAX_HELD`].
    committed: Vec<Committed>,
    /// Where one under way held up too many: the highest position that was published before its turn, and the number
    /// from which on all began later.
    hurried: Option<(u64, u64)>,
}

#[derive(Debug)]
struct Committed {
    position: u64,
    /// Those with smaller numbers began before it ended.
    until: u64,
    model: Arc<Model>,
    changes: Vec<RowChange>,
}

/// One transaction under way; dropping it says that it was not committed.
#[derive(Debug)]
pub struct Turn {
    order: Arc<Order>,
    number: u64,
    committed: Option<(u64, Arc<Model>, Vec<RowChange>)>,
}

impl Order {
    pub fn new(feed: Arc<Feed>) -> Arc<Self> {
        Arc::new(Self { feed, state: Mutex::default() })
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Before the transaction's first statement is sent.
    pub fn begin(self: &Arc<Self>) -> Turn {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number);
        Turn { order: Arc::clone(self), number, committed: None }
    }
}

impl Turn {
    /// After the answer to the commit; values are those of the model's columns. What has its turn by now is published.
    pub fn committed(mut self, position: u64, model: &Arc<Model>, changes: Vec<RowChange>) {
        self.committed = Some((position, Arc::clone(model), changes));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // It is held while publishing, so that nobody else publishes in between.
        let mut state = self.order.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.under_way.remove(&self.number);
        let until = state.next;
        if let Some((position, model, changes)) = self.committed.take() {
            let is_too_late = |(last, next)| position <= last && self.number < next;
            if state.hurried.is_some_and(is_too_late) {
                // It should have come before what was told of already.
                let tables: Vec<TableId> = changes.iter().map(|change| change.table).collect();
                self.order.feed.lose(&tables);
            } else {
                state.committed.push(Committed { position, until, model, changes });
            }
        }
        let oldest = state.under_way.first().copied().unwrap_or(until);
        let ready = state.committed.iter().filter(|each| each.until <= oldest);
        let mut last = ready.map(|each| each.position).max();
        if state.committed.len() > MAX_HELD {
            last = state.committed.iter().map(|each| each.position).max();
            state.hurried = last.map(|last| (last, until));
        }
        let Some(last) = last else { return };
        state.committed.sort_by_key(|each| each.position);
        let count = state.committed.partition_point(|each| each.position <= last);
        for each in state.committed.drain(..count) {
            self.order.feed.publish(&each.model, each.changes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::{Lost, Operation, Reader, RowValues};

    fn change(name: &str) -> Vec<RowChange> {
        let row = Some(RowValues(vec![name.into()].into()));
        vec![RowChange {
            table: TableId(0),
            operation: Operation::Insert,
            row,
            previous_key: None,
            previous: None,
        }]
    }

    fn heard(reader: &mut Reader) -> String {
        let mut names = Vec::new();
        while let Some(Ok(transaction)) = reader.try_next() {
            names.extend(
                transaction.changes.iter().map(|change| change.row.clone().unwrap().0[0].to_string()),
            );
        }
        names.join(" ")
    }

    #[test]
    fn what_committed_first_is_told_first() {
        let order = Order::new(Feed::new());
        let mut reader = order.feed().subscribe(&[TableId(0)]);
        let (first, second) = (order.begin(), order.begin());
        // The second waited for the first's row, and its answer came sooner all the same.
        second.committed(20, &Arc::default(), change("second"));
        assert_eq!(heard(&mut reader), "");
        first.committed(10, &Arc::default(), change("first"));
        assert_eq!(heard(&mut reader), "first second");
    }

    #[test]
    fn what_began_later_is_not_waited_for() {
        let order = Order::new(Feed::new());
        let mut reader = order.feed().subscribe(&[TableId(0)]);
        let (a, b) = (order.begin(), order.begin());
        a.committed(5, &Arc::default(), change("a"));
        assert_eq!(heard(&mut reader), "");
        let c = order.begin();
        drop(b);
        assert_eq!(heard(&mut reader), "a");
        let d = order.begin();
        d.committed(7, &Arc::default(), change("d"));
        assert_eq!(heard(&mut reader), "");
        c.committed(9, &Arc::default(), change("c"));
        assert_eq!(heard(&mut reader), "d c");
        order.begin().committed(11, &Arc::default(), change("alone"));
        assert_eq!(heard(&mut reader), "alone");
    }

    /// One that waits for a lock keeps nobody from being told for longer than so many.
    #[test]
    fn what_is_held_back_is_bounded() {
        let order = Order::new(Feed::new());
        let mut reader = order.feed().subscribe(&[TableId(0)]);
        let (early, stuck) = (order.begin(), order.begin());
        for position in 10..MAX_HELD as u64 + 10 {
            order.begin().committed(position, &Arc::default(), change("held"));
        }
        assert_eq!(heard(&mut reader), "");
        order.begin().committed(MAX_HELD as u64 + 10, &Arc::default(), change("one more"));
        assert_eq!(reader.try_next(), Some(Err(Lost::Behind(1))), "the feed keeps no more");
        assert!(heard(&mut reader).ends_with("held one more"));
        // It had its row before one that was told of.
        early.committed(5, &Arc::default(), change("early"));
        assert_eq!(reader.try_next(), Some(Err(Lost::Unknown)));
        stuck.committed(MAX_HELD as u64 + 20, &Arc::default(), change("stuck"));
        assert_eq!(heard(&mut reader), "stuck");
    }
}
