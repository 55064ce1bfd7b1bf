//! What mutations of this server return of the rows that they change: the row, and where in the database's log that was.

use std::{fmt::Write as _, sync::Arc};

use tokio_postgres::Row;

use crate::{
    error::Failure,
    run::rows::{Form, column_text},
    statement::{dialect::Postgres, text::Statement},
};
use prony_sql::{
    builder::{Dialect as _, SelectList, column_name, push_identifier},
    changes::{Operation, RowChange, RowValues},
    model::{Table, TableId},
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
    /// Of an update that writes a column of the key.
    pub(crate) moved_key: Option<MovedKey>,
}

/// Where the key that an update starts from is in the returned row, and whether it was another.
#[derive(Debug)]
pub(crate) struct MovedKey {
    is_moved: usize,
    columns: Vec<(usize, Form)>,
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

    /// Adds the key before, which the statement's parameters from this number on hold: written as rows write it, and compared
    /// as the database compares.
    pub(crate) fn moved_key(table: &Table, first_parameter: usize, select: &mut SelectList) -> MovedKey {
        let (mut moved, mut columns) = (String::new(), Vec::new());
        for (place, id) in table.primary_key.iter().enumerate() {
            let column = table.column(*id);
            let mut before = String::new();
            Postgres.placeholder(&mut before, first_parameter + place, column);
            moved.push_str(if place == 0 { "(" } else { " OR " });
            push_identifier(&mut moved, &column.name);
            let _ = write!(moved, " IS DISTINCT FROM {before}");
            let (form, sql) = Form::of(column, &format!("({before})"));
            // Parameters have no smaller integers.
            let form = if form == Form::Int2 { Form::Int4 } else { form };
            columns.push((select.position(sql), form));
        }
        MovedKey { is_moved: select.position(moved + ")"), columns }
    }

    pub(crate) fn read(&self, table: TableId, row: &Row) -> Result<CapturedChange, Failure> {
        let values = |columns: &[(usize, Form)]| {
            let texts = columns.iter().map(|&(column, form)| column_text(row, column, form));
            texts.collect::<Result<_, _>>().map(RowValues)
        };
        let position: i64 = row.try_get(self.position)?;
        let previous_key = match &self.moved_key {
            Some(key) if row.try_get(key.is_moved)? => Some(values(&key.columns)?),
            _ => None,
        };
        let row = Some(values(&self.columns)?);
        let change = RowChange { table, operation: self.operation, row, previous_key, previous: None };
        Ok(CapturedChange { change, position: position as u64 })
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        self.statement.weight_bytes() + self.columns.len() * size_of::<(usize, Form)>()
    }
}
