//! What is asked of one table, and how its rows are read.

use super::transaction::Transaction;
use crate::columns::{Moment, column_type};
use crate::mapping::{ColumnMap, TableMap};
use prony_series_store::{AttributeId, Kind, ReadError, Rows, TimeRange, Value};
use std::sync::Arc;
use tokio_postgres::Row;

/// Series of one type, and what is asked for of them.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) transaction: Arc<Transaction>,
    /// None where nothing was ever written.
    pub(super) table: Option<Arc<TableMap>>,
    pub(super) series: Vec<i32>,
    pub(super) range: TimeRange,
}

impl Asked {
    pub(super) fn moments(&self) -> (Moment, Moment) {
        (Moment::nearest(self.range.from_ms), Moment::nearest(self.range.to_ms))
    }
}

/// The columns of attributes that the table has.
pub(super) fn columns_of<'t>(
    table: &'t TableMap,
    attributes: &[AttributeId],
) -> Vec<(AttributeId, &'t ColumnMap)> {
    let mut known: Vec<AttributeId> = attributes.to_vec();
    known.sort_unstable();
    known.dedup();
    known.into_iter().filter_map(|id| Some((id, table.column(id)?))).collect()
}

/// `, a, b` of them.
pub(super) fn list_of(columns: &[(AttributeId, &ColumnMap)], prefix: &str) -> String {
    columns.iter().flat_map(|(_, column)| [", ", prefix, &column.name]).collect()
}

/// Adds a row of the database, in which the values begin at a place.
pub(super) fn push_row(
    rows: &mut Rows,
    row: &Row,
    time: usize,
    first: usize,
    columns: &[(AttributeId, &ColumnMap)],
) -> Result<(), ReadError> {
    let place = rows.len();
    rows.times.push(row.get::<_, Moment>(time).0);
    for (at, (attribute, column)) in columns.iter().enumerate() {
        put_value(rows, place, *attribute, column.kind, row, first + at)
            .map_err(|error| unreadable(column, &error))?;
    }
    Ok(())
}

fn put_value(
    rows: &mut Rows,
    place: usize,
    attribute: AttributeId,
    kind: Kind,
    row: &Row,
    at: usize,
) -> Result<(), tokio_postgres::Error> {
    let text: Option<&str>;
    let value = match kind {
        Kind::Double => row.try_get::<_, Option<f64>>(at)?.map(Value::Double),
        Kind::Integer => row.try_get::<_, Option<i64>>(at)?.map(Value::Integer),
        Kind::Boolean => row.try_get::<_, Option<bool>>(at)?.map(Value::Boolean),
        Kind::Time => row.try_get::<_, Option<Moment>>(at)?.map(|time| Value::Integer(time.0)),
        Kind::Text | Kind::Structured | Kind::Geometry => {
            text = row.try_get(at)?;
            text.map(Value::Text)
        }
    };
    if let Some(value) = value {
        rows.put(place, attribute, value);
    }
    Ok(())
}

/// Somebody has changed the column.
fn unreadable(column: &ColumnMap, error: &tokio_postgres::Error) -> ReadError {
    let why = format!("the column {} is no {}: {error}", column.name, column_type(column.kind));
    ReadError::Database { database: "the database".into(), why: why.into(), is_gone: false }
}
