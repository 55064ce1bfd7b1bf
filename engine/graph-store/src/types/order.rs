//! The order of values, as conditions and indexes compare them.

use crate::types::value::Value;
use std::cmp::Ordering;

impl Value<'_> {
    /// As conditions compare them; none where neither comes before the other and they are not the same.
    pub fn order(&self, other: &Value<'_>) -> Option<Ordering> {
        order(self, other)
    }
}

pub(crate) fn is_equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    order(a, b) == Some(Ordering::Equal)
}

/// None where neither comes before the other and they are not the same.
pub(crate) fn order(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Integer(a), Value::Double(b)) => order_numbers(*a, *b),
        (Value::Double(a), Value::Integer(b)) => order_numbers(*b, *a).map(Ordering::reverse),
        (Value::String(a), Value::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (a, b) => order_lists(a, b),
    }
}

fn order_lists(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    let (lengths, values) = ((a.len()?, b.len()?), elements(a)?.zip(elements(b)?));
    for (a, b) in values {
        match order(&a, &b)? {
            Ordering::Equal => {}
            other => return Some(other),
        }
    }
    Some(lengths.0.cmp(&lengths.1))
}

/// As the real numbers that they stand for: turning one into the other's kind would round it.
pub(crate) fn order_numbers(integer: i64, double: f64) -> Option<Ordering> {
    /// 2^63, the first double beyond all integers.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND {
        return Some(Ordering::Less);
    }
    if double < -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = double.trunc();
    match integer.cmp(&(whole as i64)) {
        Ordering::Equal => 0.0.partial_cmp(&(double - whole)),
        other => Some(other),
    }
}

/// The values of a list; none for what is no list.
pub(crate) fn elements<'v>(list: &'v Value<'_>) -> Option<impl Iterator<Item = Value<'v>>> {
    Some((0..list.len()?).map_while(|place| list.element(place)))
}
