//! Values as JSON.

use prony_graphql::json::write_string;
use prony_series_store::{Kind, Summary, Value};

use super::parameters::Method;
use crate::ngsi::{json::write_double, time};

/// A value of an attribute of this kind.
pub(crate) fn write_value(out: &mut Vec<u8>, kind: Kind, value: Value<'_>) {
    match (kind, value) {
        (_, Value::Null) => out.extend_from_slice(b"null"),
        (_, Value::Boolean(value)) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        (_, Value::Double(value)) => write_double(out, value),
        (Kind::Time, Value::Integer(value)) => write_time(out, value),
        (_, Value::Integer(value)) => write_integer(out, value),
        // It was JSON when it was written.
        (Kind::Structured | Kind::Geometry, Value::Text(text)) => out.extend_from_slice(text.as_bytes()),
        (_, Value::Text(text)) => write_string(out, text),
    }
}

pub(crate) fn write_time(out: &mut Vec<u8>, time_ms: i64) {
    out.push(b'"');
    time::write(out, time_ms);
    out.push(b'"');
}

fn write_integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Whether the values of an attribute can be put together so.
pub(crate) const fn can_aggregate(kind: Kind, method: Method) -> bool {
    match kind {
        Kind::Double | Kind::Integer => true,
        Kind::Time => {
            matches!(method, Method::Min | Method::Max | Method::Count | Method::First | Method::Last)
        }
        Kind::Boolean | Kind::Text | Kind::Structured | Kind::Geometry => false,
    }
}

/// What is made of values of this kind; null where a summary does not say it.
pub(crate) fn summary_value(kind: Kind, method: Method, summary: &Summary) -> Value<'static> {
    if method == Method::Count {
        return Value::Integer(summary.count.cast_signed());
    }
    let number = match method {
        _ if summary.count == 0 => return Value::Null,
        Method::Sum => summary.sum,
        Method::Avg => summary.sum / summary.count as f64,
        Method::Min => summary.min,
        Method::Max => summary.max,
        _ => return Value::Null,
    };
    let is_whole = matches!(summary_kind(kind, method), Kind::Time | Kind::Integer);
    if is_whole { Value::Integer(number as i64) } else { Value::Double(number) }
}

/// The kind of what is made of values of a kind.
pub(crate) const fn summary_kind(kind: Kind, method: Method) -> Kind {
    match (kind, method) {
        (_, Method::Count)
        | (Kind::Integer, Method::Sum | Method::Min | Method::Max | Method::First | Method::Last) => {
            Kind::Integer
        }
        (Kind::Time, _) => Kind::Time,
        _ => Kind::Double,
    }
}
