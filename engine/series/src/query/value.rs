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
    if summary.count == 0 {
        return Value::Null;
    }
    let exact = summary.exact.filter(|_| matches!(kind, Kind::Integer | Kind::Time));
    let (number, whole) = match method {
        Method::Sum => (summary.sum, exact.map(|exact| exact.sum)),
        Method::Avg => {
            let sum = exact.map_or(summary.sum, |exact| exact.sum as f64);
            (sum / summary.count as f64, None)
        }
        Method::Min => (summary.min, exact.map(|exact| exact.min.into())),
        Method::Max => (summary.max, exact.map(|exact| exact.max.into())),
        _ => return Value::Null,
    };
    if !matches!(summary_kind(kind, method), Kind::Time | Kind::Integer) {
        return Value::Double(number);
    }
    // A sum that 64 bits do not hold is the nearest double.
    let whole = whole.unwrap_or(number as i128);
    i64::try_from(whole).map_or(Value::Double(number), Value::Integer)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_digits() {
        const LARGE: i64 = 9_007_199_254_740_993;
        let made = |method, values: &[i64]| {
            let mut summary = Summary::default();
            for value in values {
                summary.add_all(&Summary::of_value(Value::Integer(*value)));
            }
            let mut out = Vec::new();
            write_value(
                &mut out,
                summary_kind(Kind::Integer, method),
                summary_value(Kind::Integer, method, &summary),
            );
            String::from_utf8(out).unwrap()
        };
        assert_eq!(made(Method::Max, &[LARGE, 1]), "9007199254740993");
        assert_eq!(made(Method::Min, &[-LARGE, 1]), "-9007199254740993");
        assert_eq!(made(Method::Sum, &[LARGE, LARGE, -1]), "18014398509481985");
        assert_eq!(made(Method::Sum, &[i64::MAX, i64::MIN, i64::MAX]), "9223372036854775806");
        assert_eq!(made(Method::Avg, &[LARGE, -LARGE, 3]), "1.0");
        assert_eq!(made(Method::Sum, &[]), "null");
        // Beyond 64 bits the nearest double, as every other number that is no integer.
        assert_eq!(made(Method::Sum, &[i64::MAX, i64::MAX]).parse(), Ok(18_446_744_073_709_551_614.0));
        let doubles = Summary { count: 2, sum: 3.0, min: 1.0, max: 2.0, exact: None };
        assert_eq!(summary_value(Kind::Double, Method::Max, &doubles), Value::Double(2.0));
        assert_eq!(summary_value(Kind::Time, Method::Max, &doubles), Value::Integer(2));
    }
}
