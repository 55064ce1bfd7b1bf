//! What a transaction of this server changes, as far as others want to hear of it.

use std::sync::Arc;

use crate::statement::returning::CapturedChange;
use prony_sql::{
    changes::order::{Order, Turn},
    model::{Model, TableId},
};

/// One attempt at a transaction.
pub(crate) struct TransactionCapture {
    order: Arc<Order>,
    /// Whose columns the values are of.
    model: Arc<Model>,
    /// By step.
    tables: Vec<TableId>,
    /// By step: whether its table is wanted, so that it returns what it changes. Empty where nobody listens.
    captures: Vec<bool>,
    turn: Option<Turn>,
}

impl TransactionCapture {
    pub(crate) fn begin(order: &Arc<Order>, model: &Arc<Model>, tables: Vec<TableId>) -> Self {
        let feed = order.feed();
        let captures: Vec<bool> = if feed.is_read() {
            tables.iter().map(|table| feed.wants_from_writers(*table)).collect()
        } else {
            Vec::new()
        };
        let turn = captures.contains(&true).then(|| order.begin());
        Self { order: Arc::clone(order), model: Arc::clone(model), tables, captures, turn }
    }

    pub(crate) fn captures(&self, step: usize) -> bool {
        self.captures.get(step).copied().unwrap_or(false)
    }

    /// Publishes what has been committed, before the client is answered.
    pub(crate) fn committed(mut self, captured: impl Iterator<Item = CapturedChange>) {
        let mut changes = Vec::new();
        let mut last = 0;
        for CapturedChange { change, position } in captured {
            last = last.max(position);
            changes.push(change);
        }
        let feed = self.order.feed();
        // Its turn may come after its client has the response.
        feed.count(&self.tables);
        // Triggers that have come meanwhile may capture it too.
        let (changes, by_triggers): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| feed.wants_from_writers(change.table));
        feed.lose(&by_triggers.iter().map(|change| change.table).collect::<Vec<_>>());
        if let Some(turn) = self.turn.take() {
            turn.committed(last, &self.model, changes);
        }
        if self.order.feed().is_read() {
            // Somebody has begun to listen meanwhile.
            self.lose(|step| !self.captures(step));
        }
    }

    /// Nobody knows what has been committed.
    pub(crate) fn unknown(self) {
        self.order.feed().count(&self.tables);
        self.lose(|_| true);
    }

    fn lose(&self, which: impl Fn(usize) -> bool) {
        let feed = self.order.feed();
        let tables = self
            .tables
            .iter()
            .enumerate()
            .filter(|(step, table)| which(*step) && feed.wants_from_writers(**table));
        feed.lose(&tables.map(|(_, table)| *table).collect::<Vec<_>>());
    }
}
