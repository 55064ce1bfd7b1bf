//! Values of properties as JSON, and JSON as values of properties.

use std::borrow::Cow;

use prony_graph_store::{Kind, Value};
use prony_graphql::{json, variables::Variables};
use serde_json::Value as Json;

use prony_source::dialect::{self, write_float, write_integer};

pub(crate) fn write(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Boolean(value) => write_boolean(out, *value),
        Value::Integer(value) => write_integer(out, *value),
        Value::Double(value) => write_double(out, *value),
        Value::String(value) => json::write_string(out, value),
        Value::BooleanList(values) => write_list(out, values, |out, value| write_boolean(out, *value)),
        Value::IntegerList(values) => write_list(out, values, |out, value| write_integer(out, *value)),
        Value::DoubleList(values) => write_list(out, values, |out, value| write_double(out, *value)),
        Value::StringList(values) => write_list(out, values, |out, value| json::write_string(out, value)),
    }
}

fn write_list<T>(out: &mut Vec<u8>, values: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}

fn write_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Null where JSON has no number for it.
pub(crate) fn write_double(out: &mut Vec<u8>, value: f64) {
    if write_float(out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}

/// The value that a property of this kind takes; none for a null and for what does not fit.
pub(crate) fn read<'v>(
    kind: Kind,
    value: &'v prony_graphql::selection::Value,
    variables: &'v Variables,
) -> Option<Value<'v>> {
    match dialect::json(value, variables) {
        Cow::Borrowed(json) => of_json(kind, json),
        Cow::Owned(json) => of_json(kind, &json).map(Value::into_owned),
    }
}

/// Whether there is a null among the values of a list.
pub(crate) fn has_null(value: &prony_graphql::selection::Value, variables: &Variables) -> bool {
    dialect::json(value, variables).as_array().is_some_and(|items| items.iter().any(Json::is_null))
}

fn of_json(kind: Kind, json: &Json) -> Option<Value<'_>> {
    Some(match kind {
        Kind::Boolean => Value::Boolean(json.as_bool()?),
        Kind::Integer => Value::Integer(integer(json)?),
        Kind::Double => Value::Double(json.as_f64()?),
        Kind::String => Value::String(Cow::Borrowed(json.as_str()?)),
        Kind::BooleanList => Value::BooleanList(each(json, Json::as_bool)?),
        Kind::IntegerList => Value::IntegerList(each(json, integer)?),
        Kind::DoubleList => Value::DoubleList(each(json, Json::as_f64)?),
        Kind::StringList => Value::StringList(each(json, |item| item.as_str().map(Cow::Borrowed))?),
    })
}

/// Integers also as strings of digits, as clients send those beyond 2^53.
fn integer(json: &Json) -> Option<i64> {
    json.as_i64().or_else(|| json.as_str()?.parse().ok())
}

/// A single value counts as a list of one (GraphQL specification, section 3.12); nulls are left out.
fn each<'j, T>(json: &'j Json, read: impl Fn(&'j Json) -> Option<T>) -> Option<Vec<T>> {
    match json {
        Json::Array(items) => items.iter().filter(|item| !item.is_null()).map(read).collect(),
        single => Some(vec![read(single)?]),
    }
}

/// The list of a scalar kind, as `in` takes it.
pub(crate) const fn list_of(kind: Kind) -> Kind {
    match kind {
        Kind::Boolean => Kind::BooleanList,
        Kind::Integer => Kind::IntegerList,
        Kind::Double => Kind::DoubleList,
        Kind::String => Kind::StringList,
        list => list,
    }
}
