//! Values as they travel to the database: the common types in binary, all others as text that the statement
//! casts. A value never becomes part of a statement's text.

use std::fmt::Write as _;

use bytes::BytesMut;
use prony_graphql::{error::GraphqlError, selection::Value, variables::Variables};
use prony_source::dialect;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::statement::dialect::Wire;
use prony_sql::{
    builder::{
        Parameter,
        bind::{self, Scalar},
    },
    model::{ColumnId, Model, TableId},
    settings::RelationalSettings,
};

type EncodeError = Box<dyn std::error::Error + Sync + Send>;

/// One parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    Null,
    Boolean(bool),
    Int4(i32),
    Int8(i64),
    Float8(f64),
    Text(Box<str>),
    Bytes(Vec<u8>),
    Booleans(Vec<Option<bool>>),
    Int4s(Vec<Option<i32>>),
    Int8s(Vec<Option<i64>>),
    Float8s(Vec<Option<f64>>),
    Texts(Vec<Option<Box<str>>>),
    ByteStrings(Vec<Option<Vec<u8>>>),
}

impl ToSql for Bound {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, EncodeError> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Boolean(value) => value.to_sql_checked(ty, out),
            Self::Int4(value) => value.to_sql_checked(ty, out),
            Self::Int8(value) => value.to_sql_checked(ty, out),
            Self::Float8(value) => value.to_sql_checked(ty, out),
            Self::Text(value) => value.to_sql_checked(ty, out),
            Self::Bytes(value) => value.to_sql_checked(ty, out),
            Self::Booleans(values) => values.to_sql_checked(ty, out),
            Self::Int4s(values) => values.to_sql_checked(ty, out),
            Self::Int8s(values) => values.to_sql_checked(ty, out),
            Self::Float8s(values) => values.to_sql_checked(ty, out),
            Self::Texts(values) => values.to_sql_checked(ty, out),
            Self::ByteStrings(values) => values.to_sql_checked(ty, out),
        }
    }

    /// Each variant checks the type itself, as it alone knows which fits.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The values of a statement's parameters.
pub(crate) fn bind_all(
    model: &Model,
    settings: &RelationalSettings,
    parameters: &[Parameter],
    variables: &Variables,
) -> Result<Vec<Bound>, GraphqlError> {
    parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Column { table, column, value, list } => {
                bind_column(model, (*table, *column), value, *list, variables)
            }
            Parameter::Limit(count) => {
                dialect::limit(count.as_ref(), variables, &settings.common).map(Bound::Int8)
            }
            Parameter::Offset(count) => dialect::offset(count.as_ref(), variables).map(Bound::Int8),
            // Filled in by whoever fetches the level.
            Parameter::Parent(_) => Ok(Bound::Null),
        })
        .collect()
}

fn bind_column(
    model: &Model,
    (table, column): (TableId, ColumnId),
    value: &Value,
    list: bool,
    variables: &Variables,
) -> Result<Bound, GraphqlError> {
    let column = model.table(table).column(column);
    let json = dialect::json(value, variables);
    if list {
        let scalars = bind::parameters(column, value, &json)?;
        return Ok(bound_list(Wire::of(&column.kind), scalars));
    }
    // An array with a null in its place would be compared with, as any other.
    if value.lacks_session(variables) {
        return Ok(Bound::Null);
    }
    let scalar = bind::parameter(column, value, &json)?;
    Ok(bound_scalar(scalar, Wire::of(&column.kind)))
}

fn bound_scalar(scalar: Scalar<'_>, wire: Wire) -> Bound {
    match scalar {
        Scalar::Null => Bound::Null,
        Scalar::Boolean(value) => Bound::Boolean(value),
        Scalar::Integer(value) => match (wire, i32::try_from(value)) {
            (Wire::Int4, Ok(value)) => Bound::Int4(value),
            _ => Bound::Int8(value),
        },
        Scalar::Float(value) => Bound::Float8(value),
        Scalar::Text(value) => Bound::Text(value.into()),
        Scalar::Bytes(value) => Bound::Bytes(value),
        Scalar::Array(items) => {
            let mut text = String::new();
            write_array(&mut text, &items);
            Bound::Text(text.into())
        }
    }
}

fn bound_list(wire: Wire, scalars: Vec<Scalar<'_>>) -> Bound {
    let items = scalars.into_iter().map(|scalar| bound_scalar(scalar, wire));
    macro_rules! list {
        ($list:ident, $one:ident) => {
            Bound::$list(
                items.map(|item| if let Bound::$one(value) = item { Some(value) } else { None }).collect(),
            )
        };
    }
    match wire {
        Wire::Boolean => list!(Booleans, Boolean),
        Wire::Int4 => list!(Int4s, Int4),
        Wire::Int8 => list!(Int8s, Int8),
        Wire::Float8 => list!(Float8s, Float8),
        Wire::Bytes => list!(ByteStrings, Bytes),
        Wire::Text => list!(Texts, Text),
    }
}

/// An array's text form (PostgreSQL manual, section 8.15.6): every element quoted, NULL bare.
fn write_array(text: &mut String, items: &[Scalar<'_>]) {
    text.push('{');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match item {
            Scalar::Null => text.push_str("NULL"),
            Scalar::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
            Scalar::Integer(value) => text.push_str(&value.to_string()),
            Scalar::Float(value) => text.push_str(&value.to_string()),
            Scalar::Text(value) => write_element(text, value),
            Scalar::Bytes(value) => {
                text.push_str("\"\\\\x");
                for byte in value {
                    let _ = write!(text, "{byte:02x}");
                }
                text.push('"');
            }
            Scalar::Array(inner) => write_array(text, inner),
        }
    }
    text.push('}');
}

fn write_element(text: &mut String, element: &str) {
    text.push('"');
    for character in element.chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_elements_are_quoted() {
        let mut text = String::new();
        let items = [
            Scalar::Text("a\"b\\c,{}".into()),
            Scalar::Null,
            Scalar::Integer(-1),
            Scalar::Bytes(vec![0, 255]),
        ];
        write_array(&mut text, &items);
        assert_eq!(text, r#"{"a\"b\\c,{}",NULL,-1,"\\x00ff"}"#);
    }
}
