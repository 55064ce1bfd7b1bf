//! SQL functions of our own on every connection: LIKE and ILIKE as PostgreSQL has them, and a sum that does
//! not overflow.

use rusqlite::{
    Connection, Error,
    functions::{Aggregate, Context, FunctionFlags},
    types::{Value, ValueRef},
};

use prony_source::dialect::LikePattern;

/// Adds the functions to a connection.
pub(crate) fn register(connection: &Connection) -> Result<(), Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("prony_like", 2, flags, |context| like(context, false))?;
    connection.create_scalar_function("prony_ilike", 2, flags, |context| like(context, true))?;
    connection.create_aggregate_function("prony_sum", 1, flags, Sum)
}

fn like(context: &Context<'_>, insensitive: bool) -> Result<Option<bool>, Error> {
    let pattern = context.get_or_create_aux(1, |value| {
        let text = value.as_str_or_null()?.unwrap_or_default();
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(LikePattern::new(text, insensitive))
    })?;
    if matches!(context.get_raw(1), ValueRef::Null) {
        return Ok(None);
    }
    Ok(match context.get_raw(0) {
        ValueRef::Null => None,
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(pattern.matches(&String::from_utf8_lossy(text))),
        ValueRef::Integer(number) => Some(pattern.matches(&number.to_string())),
        ValueRef::Real(number) => Some(pattern.matches(&number.to_string())),
    })
}

/// `sum` which is exact for integers: SQLite's own fails where 64 bits overflow. A sum beyond them is its
/// decimal digits as text. Null over nothing.
struct Sum;

#[derive(Default)]
struct Total {
    integers: i128,
    reals: f64,
    /// What rounding took from `reals` (Neumaier's compensated sum, which SQLite's own `sum` uses too).
    compensation: f64,
    any: bool,
    any_real: bool,
}

impl Aggregate<Total, Value> for Sum {
    fn init(&self, _context: &mut Context<'_>) -> Result<Total, Error> {
        Ok(Total::default())
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Total) -> Result<(), Error> {
        match context.get_raw(0) {
            ValueRef::Null => return Ok(()),
            // 2^63 rows of the largest integer fit 128 bits.
            ValueRef::Integer(number) => total.integers += i128::from(number),
            ValueRef::Real(number) => total.add_real(number),
            // As SQLite's own: text that is no number counts as 0.
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
                total.add_real(number.unwrap_or(0.0));
            }
        }
        total.any = true;
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, total: Option<Total>) -> Result<Value, Error> {
        let Some(total) = total.filter(|total| total.any) else { return Ok(Value::Null) };
        if total.any_real {
            return Ok(Value::Real(total.real()));
        }
        Ok(match i64::try_from(total.integers) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Text(total.integers.to_string()),
        })
    }
}

impl Total {
    fn add_real(&mut self, number: f64) {
        let sum = self.reals + number;
        self.compensation += if self.reals.abs() >= number.abs() {
            (self.reals - sum) + number
        } else {
            (number - sum) + self.reals
        };
        self.reals = sum;
        self.any_real = true;
    }

    fn real(&self) -> f64 {
        let sum = self.reals + self.integers as f64;
        // An infinite sum has no compensation: it would make NaN of it.
        if self.compensation.is_finite() { sum + self.compensation } else { sum }
    }
}
