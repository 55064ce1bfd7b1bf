//! Columns of values, and rows of the database that are read.

use crate::moment::Moment;
use prony_series_store::{AttributeId, Kind, ReadError, Rows, Value};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// Where an attribute's values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Quoted.
    pub name: String,
    pub kind: Kind,
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// As a part of the name of a table or a schema: small letters, digits and `_`; none where there is nothing else.
pub fn plain(name: &str, bytes_max: usize) -> String {
    let lower = name.chars().flat_map(char::to_lowercase);
    let kept = lower.map(|char| if char.is_ascii_alphanumeric() { char } else { '_' });
    kept.take(bytes_max).collect()
}

/// `, a, b` of them.
pub fn list_of(columns: &[(AttributeId, &Column)], prefix: &str) -> String {
    columns.iter().flat_map(|(_, column)| [", ", prefix, &column.name]).collect()
}

/// Adds a row of the database, in which the values begin at a place.
pub fn push_row(
    rows: &mut Rows,
    row: &Row,
    time: usize,
    first: usize,
    columns: &[(AttributeId, &Column)],
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
        // A database whose booleans cannot be null has texts in their place.
        Kind::Boolean if *row.columns()[at].type_() == Type::BOOL => {
            row.try_get::<_, Option<bool>>(at)?.map(Value::Boolean)
        }
        Kind::Boolean => row.try_get::<_, Option<&str>>(at)?.map(|text| Value::Boolean(text == "true")),
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
fn unreadable(column: &Column, error: &tokio_postgres::Error) -> ReadError {
    let why = format!("the column {} cannot be read as values of its attribute: {error}", column.name);
    ReadError::Database { database: "the database".into(), why: why.into(), is_gone: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
