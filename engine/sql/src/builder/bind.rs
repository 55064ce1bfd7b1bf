//! Values for parameters: from JSON to the scalar that a column takes, checked before the database sees it.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    selection::Value,
};
use prony_source::{dialect::abbreviated, permissions::misfit};
use serde_json::Value as Json;

use crate::{catalog::ColumnKind, model::Column};

/// A checked value on its way to a driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'v> {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// Text of any column that takes text or is cast from it: strings, numerics, times, UUIDs, enums, JSON.
    Text(Cow<'v, str>),
    Bytes(Vec<u8>),
    Array(Vec<Scalar<'v>>),
}

/// The scalar that a column takes for a JSON value.
///
/// # Errors
/// `BadUserInput` naming the column, the value and what the column takes.
pub fn scalar<'v>(column: &Column, value: &'v Json) -> Result<Scalar<'v>, GraphqlError> {
    of_kind(&column.kind, value).ok_or_else(|| {
        let given = abbreviated(value);
        let takes = takes(&column.kind);
        GraphqlError::new(ErrorCode::BadUserInput, format!("`{}` takes {takes}, not {given}", column.field))
    })
}

/// The scalars of a list parameter; a single value counts as a list of one (GraphQL specification, section
/// 3.12).
///
/// # Errors
/// As [`scalar`], for the first value that does not fit.
pub fn list<'v>(column: &Column, value: &'v Json) -> Result<Vec<Scalar<'v>>, GraphqlError> {
    match value {
        Json::Array(items) => items.iter().map(|item| scalar(column, item)).collect(),
        single => Ok(vec![scalar(column, single)?]),
    }
}

/// As [`scalar`], for a parameter that has this value.
///
/// # Errors
/// `Forbidden` where the value is of the session: whoever asks may not see the column that it is compared with.
pub fn parameter<'v>(column: &Column, value: &Value, json: &'v Json) -> Result<Scalar<'v>, GraphqlError> {
    scalar(column, json).map_err(|error| misfit(error, value))
}

/// As [`list`], for a parameter that has this value.
///
/// # Errors
/// As [`parameter`].
pub fn parameters<'v>(
    column: &Column,
    value: &Value,
    json: &'v Json,
) -> Result<Vec<Scalar<'v>>, GraphqlError> {
    list(column, json).map_err(|error| misfit(error, value))
}

fn of_kind<'v>(kind: &ColumnKind, value: &'v Json) -> Option<Scalar<'v>> {
    if value.is_null() {
        return Some(Scalar::Null);
    }
    match kind {
        ColumnKind::Int => {
            integer(value).filter(|number| i32::try_from(*number).is_ok()).map(Scalar::Integer)
        }
        ColumnKind::BigInt => integer(value).map(Scalar::Integer),
        ColumnKind::Float => value.as_f64().map(Scalar::Float),
        ColumnKind::Numeric | ColumnKind::Decimal => decimal(value).map(Scalar::Text),
        ColumnKind::Boolean => value.as_bool().map(Scalar::Boolean),
        ColumnKind::Json => Some(Scalar::Text(Cow::Owned(value.to_string()))),
        ColumnKind::Bytes => STANDARD.decode(value.as_str()?).ok().map(Scalar::Bytes),
        ColumnKind::Array(element) => match value {
            Json::Array(items) => {
                items.iter().map(|item| of_kind(element, item)).collect::<Option<_>>().map(Scalar::Array)
            }
            single => Some(Scalar::Array(vec![of_kind(element, single)?])),
        },
        ColumnKind::Text
        | ColumnKind::Timestamp
        | ColumnKind::Uuid
        | ColumnKind::Enum(_)
        | ColumnKind::OtherText
        | ColumnKind::OrderedText
        | ColumnKind::UnorderedText => {
            // PostgreSQL's text cannot hold U+0000, and C strings end there.
            value.as_str().filter(|text| !text.contains('\0')).map(|text| Scalar::Text(Cow::Borrowed(text)))
        }
    }
}

/// Integers also as strings of digits, as clients send those beyond 2^53.
fn integer(value: &Json) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// A number, or a string that holds one: an optional sign, digits with at most one point, an exponent.
fn decimal(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::Number(number) => Some(Cow::Owned(number.to_string())),
        Json::String(text) => {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            (plain && text.parse::<f64>().is_ok()).then_some(Cow::Borrowed(text))
        }
        _ => None,
    }
}

fn takes(kind: &ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Int => "an integer of 32 bits",
        ColumnKind::BigInt => "an integer of 64 bits",
        ColumnKind::Float => "a number",
        ColumnKind::Numeric | ColumnKind::Decimal => "a decimal number",
        ColumnKind::Boolean => "true or false",
        ColumnKind::Bytes => "base64 text",
        ColumnKind::Json => "JSON",
        ColumnKind::Array(_) => "a list",
        ColumnKind::Timestamp => "a time as text",
        ColumnKind::Uuid => "a UUID as text",
        ColumnKind::Text
        | ColumnKind::Enum(_)
        | ColumnKind::OtherText
        | ColumnKind::OrderedText
        | ColumnKind::UnorderedText => "text without NUL",
    }
}
