//! How kinds of values and names are written for PostgreSQL.

use prony_series_database::{Moment, TIMES};
use prony_series_store::{Kind, Value};
use tokio_postgres::types::ToSql;

/// Columns of a table, beside those of every row: PostgreSQL has room for 1,600, some of which those that were dropped take.
pub(crate) const ATTRIBUTES_MAX: usize = 1000;
/// Of a row, of which no page has more than 8,160 bytes, for its values; what else it needs is about 200.
pub(crate) const ROW_BYTES_MAX: usize = 7800;
/// Of a row's text that stands elsewhere.
pub(crate) const TEXT_BYTES: usize = 24;
/// A name of PostgreSQL has 63 bytes at most.
const COLUMN_BYTES_MAX: usize = 60;
/// Columns of every row, and those of every table of PostgreSQL.
const RESERVED: [&str; 9] = ["series", "time", "seq", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

pub(crate) const fn column_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Double => "double precision",
        Kind::Integer => "bigint",
        Kind::Boolean => "boolean",
        Kind::Time => "timestamptz",
        Kind::Text | Kind::Structured | Kind::Geometry => "text",
    }
}

/// What an attribute's column is called, beside those that other attributes have: as the attribute where that can be.
pub(crate) fn column_name(attribute: &str, place: usize, taken: &[&str]) -> String {
    let mut name = wanted_name(attribute, place);
    let mut number = place;
    // An attribute may be called as the column that was made for another one.
    while taken.contains(&&*name) {
        name = format!("attribute {number}");
        number += 1;
    }
    name
}

/// Control characters are blanks, and then its place tells it from others.
fn wanted_name(attribute: &str, place: usize) -> String {
    if attribute.contains(char::is_control) {
        let plain = attribute.replace(char::is_control, " ");
        let name = format!("{} {place}", plain.trim());
        return if name.len() <= COLUMN_BYTES_MAX { name } else { format!("attribute {place}") };
    }
    if attribute.is_empty() || attribute.len() > COLUMN_BYTES_MAX || RESERVED.contains(&attribute) {
        format!("attribute {place}")
    } else {
        attribute.to_owned()
    }
}

/// Values of one attribute in rows one after the other, as one parameter.
#[derive(Debug)]
pub(crate) enum ColumnValues<'a> {
    Doubles(Vec<Option<f64>>),
    Integers(Vec<Option<i64>>),
    Booleans(Vec<Option<bool>>),
    Times(Vec<Option<Moment>>),
    Texts(Vec<Option<&'a str>>),
}

/// Puts a value behind those there are, with null for rows between.
fn put<T>(values: &mut Vec<Option<T>>, row: usize, value: Option<T>) {
    values.resize_with(row.max(values.len()), || None);
    if values.len() > row {
        values[row] = value;
    } else {
        values.push(value);
    }
}

impl<'a> ColumnValues<'a> {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Double => Self::Doubles(Vec::new()),
            Kind::Integer => Self::Integers(Vec::new()),
            Kind::Boolean => Self::Booleans(Vec::new()),
            Kind::Time => Self::Times(Vec::new()),
            Kind::Text | Kind::Structured | Kind::Geometry => Self::Texts(Vec::new()),
        }
    }

    /// Another server may have given the attribute another kind at the same time: then a number becomes one of that kind where it can, and
    /// anything else is null.
    pub(crate) fn put(&mut self, row: usize, value: Value<'a>) {
        match self {
            Self::Doubles(values) => put(values, row, value.number()),
            Self::Integers(values) => put(values, row, whole(value)),
            Self::Booleans(values) => {
                put(values, row, if let Value::Boolean(value) = value { Some(value) } else { None });
            }
            Self::Times(values) => {
                put(values, row, whole(value).filter(|time| TIMES.contains(*time)).map(Moment));
            }
            Self::Texts(values) => {
                let text = if let Value::Text(text) = value { Some(text) } else { None };
                put(values, row, text.filter(|text| !text.contains('\0')));
            }
        }
    }

    /// The value of a row.
    pub(crate) fn has(&self, row: usize) -> bool {
        match self {
            Self::Doubles(values) => values.get(row).is_some_and(Option::is_some),
            Self::Integers(values) => values.get(row).is_some_and(Option::is_some),
            Self::Booleans(values) => values.get(row).is_some_and(Option::is_some),
            Self::Times(values) => values.get(row).is_some_and(Option::is_some),
            Self::Texts(values) => values.get(row).is_some_and(Option::is_some),
        }
    }

    /// Fills up with null.
    pub(crate) fn fill(&mut self, rows: usize) {
        match self {
            Self::Doubles(values) => values.resize(rows, None),
            Self::Integers(values) => values.resize(rows, None),
            Self::Booleans(values) => values.resize(rows, None),
            Self::Times(values) => values.resize(rows, None),
            Self::Texts(values) => values.resize(rows, None),
        }
    }

    pub(crate) fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Doubles(values) => values,
            Self::Integers(values) => values,
            Self::Booleans(values) => values,
            Self::Times(values) => values,
            Self::Texts(values) => values,
        }
    }
}

fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(value),
        Value::Double(value) if value.fract() == 0.0 && value.abs() < 9.0e18 => Some(value as i64),
        _ => None,
    }
}

/// The element's type, for `unnest`.
pub(crate) fn array_type(kind: Kind) -> String {
    format!("{}[]", column_type(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_another_kind_become_ones_of_the_columns_or_null() {
        let mut doubles = ColumnValues::new(Kind::Double);
        let mut integers = ColumnValues::new(Kind::Integer);
        let mut texts = ColumnValues::new(Kind::Text);
        let given = [Value::Integer(3), Value::Double(2.5), Value::Text("a\0b"), Value::Text("c")];
        for (row, value) in given.into_iter().enumerate() {
            doubles.put(row, value);
            integers.put(row, value);
            texts.put(row + 1, value);
        }
        let ColumnValues::Doubles(doubles) = doubles else { panic!("doubles") };
        assert_eq!(doubles, [Some(3.0), Some(2.5), None, None]);
        let ColumnValues::Integers(integers) = integers else { panic!("integers") };
        assert_eq!(integers, [Some(3), None, None, None]);
        let ColumnValues::Texts(texts) = texts else { panic!("texts") };
        assert_eq!(texts, [None, None, None, None, Some("c")]);
    }

    #[test]
    fn columns_are_called_as_their_attributes_where_that_can_be() {
        let name = |attribute: &str, place| column_name(attribute, place, &[]);
        assert_eq!(name("température", 3), "température");
        assert_eq!(name("time", 3), "attribute 3");
        assert_eq!(name("xmin", 3), "attribute 3");
        assert_eq!(name("temperature\u{1f}metadata", 4), "temperature metadata 4");
        assert_eq!(name(&format!("{}\u{1f}", "x".repeat(59)), 4), "attribute 4");
        assert_eq!(name(&"x".repeat(61), 7), "attribute 7");
    }

    #[test]
    fn attributes_have_columns_of_their_own() {
        assert_eq!(column_name("attribute 3", 4, &["attribute 3"]), "attribute 4");
        assert_eq!(column_name("time", 3, &["attribute 3"]), "attribute 4");
        assert_eq!(column_name("time", 3, &["attribute 3", "attribute 4"]), "attribute 5");
        let metadata = "temperature\u{1f}metadata";
        assert_eq!(column_name(metadata, 4, &["temperature metadata 4"]), "attribute 4");
    }
}
