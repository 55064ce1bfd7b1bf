//! What mutations of this server return of the rows that they change: the row, and where in the database's log that was.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::{
    error::Failure,
    run::rows::{Form, column_text},
    statement::{dialect::Postgres, text::Statement},
};
use prony_sql::{
    builder::{Dialect as _, SelectList, SqlBuilder, column_name, push_identifier},
    changes::{Operation, RowChange, RowValues},
    model::{ColumnId, Model, Table, TableId},
    plan::UpdatePlan,
};

/// A mutation that returns the row that it has changed, or deleted.
#[derive(Debug)]
pub(crate) struct ReturningClause {
    pub(crate) statement: Arc<Statement>,
    pub(crate) operation: Operation,
    /// By the table's columns: where each is in the returned row.
    pub(crate) columns: Vec<(usize, Form)>,
    /// Where the log's position is in the returned row.
    pub(crate) position: usize,
    /// Of an update.
    pub(crate) previous: Option<PreviousRow>,
}

/// Where the row that an update starts from is in the returned row, and whether its key was another.
#[derive(Debug)]
pub(crate) struct PreviousRow {
    is_moved: usize,
    /// By the table's columns.
    columns: Vec<(usize, Form)>,
    key: Vec<ColumnId>,
}

/// A change that waits for its commit.
#[derive(Debug)]
pub(crate) struct CapturedChange {
    pub(crate) change: RowChange,
    pub(crate) position: u64,
}

/// Read after the row is locked and before the commit; see `changes::order`.
const POSITION: &str = "(pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8";

impl ReturningClause {
    /// Adds all columns and the log's position to what is returned.
    pub(crate) fn columns(table: &Table, select: &mut SelectList) -> (Vec<(usize, Form)>, usize) {
        let columns = table.columns.iter().map(|column| {
            let (form, sql) = Form::of(column, &column_name(column));
            (select.position(sql), form)
        });
        let columns = columns.collect();
        (columns, select.position(POSITION.to_owned()))
    }

    pub(crate) fn read(&self, table: TableId, row: &Row) -> Result<CapturedChange, Failure> {
        let values = |columns: &[(usize, Form)]| {
            let texts = columns.iter().map(|&(column, form)| column_text(row, column, form));
            texts.collect::<Result<_, _>>().map(RowValues)
        };
        let position: i64 = row.try_get(self.position)?;
        let (mut previous, mut previous_key) = (None, None);
        if let Some(before) = &self.previous {
            let known = values(&before.columns)?;
            if row.try_get(before.is_moved)? {
                let key = before.key.iter().map(|column| known.0[usize::from(column.0)].clone());
                previous_key = Some(RowValues(key.collect()));
            }
            previous = Some(known);
        }
        let row = Some(values(&self.columns)?);
        let change = RowChange { table, operation: self.operation, row, previous_key, previous };
        Ok(CapturedChange { change, position: position as u64 })
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        let previous = self.previous.as_ref().map_or(0, |previous| previous.columns.len());
        self.statement.weight_bytes() + (self.columns.len() + previous) * size_of::<(usize, Form)>()
    }
}

/// What the row before is called in statements.
const PREVIOUS: &str = "prony_previous";

impl PreviousRow {
    /// Writes the update that has the row before beside the one that it changes.
    pub(crate) fn update(builder: &mut SqlBuilder<'_, Postgres>, model: &Model, plan: &UpdatePlan) {
        let prefix = Self::prefix(model.table(plan.table));
        builder.update_beside_previous(model, plan, PREVIOUS, |column| format!("{prefix}{}", column.0));
    }

    /// Of the names of its columns: no column of the table begins so, which the statement names without their table.
    fn prefix(table: &Table) -> String {
        let mut prefix = "p".to_owned();
        while table.columns.iter().any(|column| column.name.starts_with(&prefix)) {
            prefix.push('_');
        }
        prefix
    }

    /// Adds the row before, written as rows write it, with its key compared as the database compares.
    pub(crate) fn new(table: &Table, select: &mut SelectList) -> Self {
        let prefix = Self::prefix(table);
        let operand = |id: ColumnId| {
            let mut operand = format!("{PREVIOUS}.");
            push_identifier(&mut operand, &format!("{prefix}{}", id.0));
            operand
        };
        let mut columns = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let (form, sql) = Form::of(column, &operand(ColumnId(index as u16)));
            columns.push((select.position(sql), form));
        }
        let is_moved = table.primary_key.iter().map(|&id| {
            let column = table.column(id);
            let [now, before] =
                [column_name(column), operand(id)].map(|operand| Postgres.comparable(operand, column));
            // Columns of a key are not null.
            match &column.operators {
                Some(_) => format!("NOT ({now}{}{before})", Postgres.operator("=", column)),
                None => format!("{now} IS DISTINCT FROM {before}"),
            }
        });
        let is_moved: Vec<String> = is_moved.chain(["false".to_owned()]).collect();
        let is_moved = select.position(format!("({})", is_moved.join(" OR ")));
        Self { is_moved, columns, key: table.primary_key.clone() }
    }
}
