//! Binds a statement's parameters: shared checking makes scalars of JSON, this gives them SQLite's types.

use std::{fmt::Write as _, sync::LazyLock};

use prony_graphql::{budget::ResponseMeter, error::GraphqlError, selection::Value, variables::Variables};
use prony_source::dialect::{self, write_integer};
use serde_json::Value as Json;

use crate::{
    error::Stop,
    file::raw::{SqliteError, Statement, Stored},
    rows::value::boolean_words,
    statement::{
        dialect::{holds_numbers_as_texts, is_untyped_text},
        program::StatementText,
    },
};
use prony_sql::{
    builder::{
        Parameter,
        bind::{self, Scalar},
    },
    catalog::ColumnKind,
    levels::{Key, KeyPart},
    model::{Column, Model},
    settings::RelationalSettings,
};

/// Where values come from.
#[derive(Clone, Copy)]
pub(crate) struct Values<'v> {
    pub(crate) model: &'v Model,
    pub(crate) variables: &'v Variables,
    pub(crate) settings: &'v RelationalSettings,
}

impl Values<'_> {
    /// For the response of one root field, or for one level of it.
    pub(crate) fn meter(&self) -> ResponseMeter {
        ResponseMeter::new(self.settings.common.max_response_bytes, self.variables.budget())
    }
}

/// Binds all parameters but those of parents and keys.
pub(crate) fn bind(statement: &mut Statement, text: &StatementText, values: Values<'_>) -> Result<(), Stop> {
    for (index, parameter) in text.parameters.iter().enumerate() {
        bind_one(statement, index + 1, parameter, values)?;
    }
    Ok(())
}

fn bind_one(
    statement: &mut Statement,
    number: usize,
    parameter: &Parameter,
    values: Values<'_>,
) -> Result<(), Stop> {
    match parameter {
        Parameter::Column { table, column, value, list } => {
            let column = values.model.table(*table).column(*column);
            let json = dialect::json(value, values.variables);
            if *list {
                let items = list_text(column, value, &json)?;
                statement.bind(number, Stored::Text(items.as_bytes()))?;
            } else {
                bind_scalar(statement, number, &bind::parameter(column, value, &json)?)?;
            }
        }
        Parameter::Limit(count) => {
            let limit = dialect::limit(count.as_ref(), values.variables, &values.settings.common)?;
            statement.bind(number, Stored::Integer(limit))?;
        }
        Parameter::Offset(count) => {
            let offset = dialect::offset(count.as_ref(), values.variables)?;
            statement.bind(number, Stored::Integer(offset))?;
        }
        Parameter::Parent(_) => {}
    }
    Ok(())
}

fn bind_scalar(statement: &mut Statement, number: usize, scalar: &Scalar<'_>) -> Result<(), SqliteError> {
    match scalar {
        Scalar::Null => statement.bind(number, Stored::Null),
        Scalar::Boolean(truth) => statement.bind(number, Stored::Integer(i64::from(*truth))),
        Scalar::Integer(integer) => statement.bind(number, Stored::Integer(*integer)),
        Scalar::Float(float) => statement.bind(number, Stored::Real(*float)),
        Scalar::Text(text) => statement.bind(number, Stored::Text(text.as_bytes())),
        Scalar::Bytes(bytes) => statement.bind(number, Stored::Blob(bytes)),
        Scalar::Array(_) => {
            let text = scalar_json(scalar).to_string();
            statement.bind(number, Stored::Text(text.as_bytes()))
        }
    }
}

/// All that is served as false, and as true.
static BOOLEAN_FORMS: LazyLock<[Vec<Json>; 2]> = LazyLock::new(|| {
    [false, true].map(|truth| {
        let words = boolean_words(truth).iter().flat_map(|word| in_any_case(word));
        [Json::from(i64::from(truth))].into_iter().chain(words.map(Json::from)).collect()
    })
});

/// A word with each of its letters small or capital.
fn in_any_case(word: &str) -> Vec<String> {
    word.chars().fold(vec![String::new()], |begun, letter| {
        let mut cases = vec![letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
        cases.dedup();
        cases.iter().flat_map(|case| begun.iter().map(move |text| format!("{text}{case}"))).collect()
    })
}

/// A list as one JSON text for `json_each`.
fn list_text(column: &Column, value: &Value, json: &Json) -> Result<String, GraphqlError> {
    let items = bind::parameters(column, value, json)?;
    if column.kind == ColumnKind::Boolean {
        let forms = items.iter().flat_map(|item| match item {
            Scalar::Boolean(truth) => BOOLEAN_FORMS[usize::from(*truth)].clone(),
            other => vec![scalar_json(other)],
        });
        return Ok(Json::Array(forms.collect()).to_string());
    }
    if is_untyped_text(column) {
        return Ok(Json::Array(items.iter().flat_map(untyped_forms).collect()).to_string());
    }
    let numeric =
        matches!(column.kind, ColumnKind::Numeric | ColumnKind::Decimal) && !holds_numbers_as_texts(column);
    Ok(Json::Array(items.iter().map(|item| item_json(item, numeric)).collect()).to_string())
}

/// A text as it is and, where it is one, as a number: what is stored without a type is either.
fn untyped_forms(item: &Scalar<'_>) -> Vec<Json> {
    let number = match item {
        Scalar::Text(text) => serde_json::from_str::<serde_json::Number>(text).ok(),
        _ => None,
    };
    [scalar_json(item)].into_iter().chain(number.map(Json::Number)).collect()
}

/// Numbers of numeric columns travel as text for their digits' sake. Within JSON they can be numbers, which
/// compare as numbers also where a column has no affinity.
fn item_json(item: &Scalar<'_>, numeric: bool) -> Json {
    match item {
        Scalar::Text(text) if numeric => {
            serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_string()))
        }
        other => scalar_json(other),
    }
}

fn scalar_json(scalar: &Scalar<'_>) -> Json {
    match scalar {
        Scalar::Null => Json::Null,
        Scalar::Boolean(truth) => Json::from(i64::from(*truth)),
        Scalar::Integer(integer) => Json::from(*integer),
        Scalar::Float(float) => Json::from(*float),
        Scalar::Text(text) => Json::from(text.as_ref()),
        Scalar::Bytes(bytes) => Json::from(hexadecimal(bytes)),
        Scalar::Array(items) => Json::Array(items.iter().map(scalar_json).collect()),
    }
}

/// The parameters' values in a form that can be compared, for merging levels of concurrent operations.
pub(crate) fn fingerprint(text: &StatementText, values: Values<'_>) -> Result<String, GraphqlError> {
    let mut fingerprint = String::new();
    for parameter in &text.parameters {
        match parameter {
            Parameter::Column { table, column, value, list } => {
                let column = values.model.table(*table).column(*column);
                let json = dialect::json(value, values.variables);
                if *list {
                    fingerprint.push_str(&list_text(column, value, &json)?);
                } else {
                    let scalar = bind::parameter(column, value, &json)?;
                    write!(fingerprint, "{scalar:?}").expect("writing to memory");
                }
            }
            Parameter::Limit(count) => {
                let limit = dialect::limit(count.as_ref(), values.variables, &values.settings.common)?;
                fingerprint.push_str(&limit.to_string());
            }
            Parameter::Offset(count) => {
                fingerprint.push_str(&dialect::offset(count.as_ref(), values.variables)?.to_string());
            }
            Parameter::Parent(_) => {}
        }
        fingerprint.push('\0');
    }
    Ok(fingerprint)
}

/// The keys of a level as JSON: a list of values, or of lists where a key has several parts. What JSON cannot
/// hold is hexadecimal in a list of its own: one item for a blob, two for text that is not UTF-8.
pub(crate) fn keys_text(keys: &[Key]) -> Vec<u8> {
    let mut out = Vec::with_capacity(keys.len() * 8 + 2);
    out.push(b'[');
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match &**key {
            [only] => write_key_part(&mut out, only),
            parts => {
                for (index, part) in parts.iter().enumerate() {
                    out.push(if index == 0 { b'[' } else { b',' });
                    write_key_part(&mut out, part);
                }
                out.push(b']');
            }
        }
    }
    out.push(b']');
    out
}

fn write_key_part(out: &mut Vec<u8>, part: &KeyPart) {
    match part {
        KeyPart::Integer(number) => write_integer(out, *number),
        KeyPart::Real(bits) => {
            let number = f64::from_bits(*bits);
            let text = match serde_json::Number::from_f64(number) {
                Some(finite) => finite.to_string(),
                // SQLite reads a number beyond its range as infinite.
                None => if number > 0.0 { "9e999" } else { "-9e999" }.to_owned(),
            };
            out.extend_from_slice(text.as_bytes());
        }
        KeyPart::Text(text) => match std::str::from_utf8(text) {
            // SQLite's JSON functions end a text at U+0000.
            Ok(utf8) if !utf8.contains('\0') => prony_graphql::json::write_string(out, utf8),
            _ => out.extend_from_slice(format!("[\"{}\",1]", hexadecimal(text)).as_bytes()),
        },
        KeyPart::Bytes(bytes) => out.extend_from_slice(format!("[\"{}\"]", hexadecimal(bytes)).as_bytes()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to memory");
    }
    text
}
