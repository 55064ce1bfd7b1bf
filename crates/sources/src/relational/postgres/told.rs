//! What mutations of this server tell of the rows that they change: the row, and where in the database's log that was.

use std::{rc::Rc, sync::Arc};

use prony_graphql::{selection::Value, variables::Variables};
use tokio_postgres::Row;

use super::{
    super::{
        changes::{
            Operation, RowChange, RowValues,
            order::{Order, Turn},
        },
        model::{ColumnId, Table, TableId},
        sql::{bind, push_identifier},
    },
    error::{Failure, FailureKind},
    mutation::{Step, StepFailure, StepOutcome},
    rows::{Form, column_text},
    select::SelectList,
    statement::Statement,
};

/// A mutation that returns the row that it has changed, or deleted.
#[derive(Debug)]
pub(super) struct Telling {
    pub(super) statement: Arc<Statement>,
    pub(super) operation: Operation,
    /// By the table's columns: where each is in the returned row.
    pub(super) columns: Vec<(usize, Form)>,
    /// Where the log's position is in the returned row.
    pub(super) position: usize,
    pub(super) key_columns: Box<[ColumnId]>,
    /// Of an update that writes a column of the key: the key that was asked for.
    pub(super) moved_key: Option<Box<[Value]>>,
}

/// A change that waits for its commit.
#[derive(Debug)]
pub(super) struct Told {
    change: RowChange,
    position: u64,
}

/// Read after the row is locked and before the commit; see `changes::order`.
const POSITION: &str = "(pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8";

impl Telling {
    /// Adds all columns and the log's position to what is returned.
    pub(super) fn columns(table: &Table, select: &mut SelectList) -> (Vec<(usize, Form)>, usize) {
        let columns = table.columns.iter().map(|column| {
            let mut operand = String::new();
            push_identifier(&mut operand, &column.name);
            let (form, sql) = Form::of(column, &operand);
            (select.position(sql), form)
        });
        let columns = columns.collect();
        (columns, select.position(POSITION.to_owned()))
    }

    pub(super) fn read(&self, table: TableId, row: &Row) -> Result<Told, Failure> {
        let texts = self.columns.iter().map(|&(column, form)| column_text(row, column, form));
        let values = RowValues(texts.collect::<Result<_, _>>()?);
        let position: i64 = row.try_get(self.position)?;
        let change = RowChange { table, operation: self.operation, row: Some(values), previous_key: None };
        Ok(Told { change, position: position as u64 })
    }

    /// The key that an update starts from, where it may write another.
    pub(super) fn moved_key(&self, variables: &Variables) -> Option<RowValues> {
        let text = |value: &Value| bind::json(value, variables).to_string().into();
        self.moved_key.as_ref().map(|key| RowValues(key.iter().map(text).collect()))
    }

    pub(super) fn weight_bytes(&self) -> usize {
        self.statement.weight_bytes() + self.columns.len() * size_of::<(usize, Form)>()
    }
}

/// One attempt at a transaction, as far as others want to hear of it.
pub(super) struct Telltale {
    order: Arc<Order>,
    steps: Rc<[Step]>,
    /// By step: whether its table is wanted, so that it tells. Empty where nobody listens.
    tells: Vec<bool>,
    turn: Option<Turn>,
}

impl Telltale {
    pub(super) fn begin(order: &Arc<Order>, steps: &Rc<[Step]>) -> Self {
        let feed = order.feed();
        let tells: Vec<bool> = if feed.is_read() {
            steps.iter().map(|step| feed.is_told_of(step.mutation.table)).collect()
        } else {
            Vec::new()
        };
        let turn = tells.contains(&true).then(|| order.begin());
        Self { order: Arc::clone(order), steps: Rc::clone(steps), tells, turn }
    }

    pub(super) fn tells(&self, step: usize) -> bool {
        self.tells.get(step).copied().unwrap_or(false)
    }

    /// Publishes what has been committed, before the client is answered.
    pub(super) fn end(
        self,
        outcome: Result<Vec<StepOutcome>, StepFailure>,
    ) -> Result<Vec<Vec<u8>>, StepFailure> {
        match outcome {
            Ok(outcomes) => Ok(self.committed(outcomes)),
            Err(failed) => {
                if failed.failure.kind == FailureKind::OutcomeUnknown {
                    self.lose(|_| true);
                }
                Err(failed)
            }
        }
    }

    fn committed(mut self, outcomes: Vec<StepOutcome>) -> Vec<Vec<u8>> {
        let mut changes = Vec::new();
        let mut last = 0;
        let mut data = Vec::with_capacity(outcomes.len());
        for (outcome, step) in outcomes.into_iter().zip(self.steps.iter()) {
            data.push(outcome.data);
            if let Some(Told { change, position }) = outcome.told {
                last = last.max(position);
                changes.push(moved(change, step));
            }
        }
        if let Some(turn) = self.turn.take() {
            turn.committed(last, changes);
        }
        if self.order.feed().is_read() {
            // Somebody has begun to listen meanwhile.
            self.lose(|step| !self.tells(step));
        }
        data
    }

    fn lose(&self, which: impl Fn(usize) -> bool) {
        let feed = self.order.feed();
        let steps = self.steps.iter().enumerate().filter(|(index, _)| which(*index));
        let tables: Vec<TableId> =
            steps.map(|(_, step)| step.mutation.table).filter(|table| feed.is_told_of(*table)).collect();
        feed.lose(&tables);
    }
}

/// Gives an update the key before, where it was another.
fn moved(mut change: RowChange, step: &Step) -> RowChange {
    let Some(before) = &step.moved_key else { return change };
    let key = &step.mutation.telling.key_columns;
    let is_same = change.row.as_ref().is_some_and(|row| {
        key.iter().zip(&before.0).all(|(column, before)| row.0[usize::from(column.0)] == *before)
    });
    if !is_same {
        change.previous_key = Some(before.clone());
    }
    change
}
