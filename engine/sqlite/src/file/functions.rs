//! SQL functions of our own on every connection: LIKE and ILIKE as PostgreSQL has them, and a sum that does
//! not overflow.

use std::sync::Arc;

use rusqlite::{
    Connection, Error, ffi,
    functions::{Aggregate, Context, FunctionFlags},
    types::{Value, ValueRef},
};

use prony_source::dialect::{LikePattern, PatternTooLong};

use crate::{error::PATTERN_TOO_LONG, read::watch::Watch};

/// Adds the functions to a connection. One call is one instruction to SQLite, however long the text is: a search asks the
/// connection's watch itself, again and again.
pub(crate) fn register(connection: &Connection, watch: &Arc<Watch>) -> Result<(), Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for (name, insensitive) in [("prony_like", false), ("prony_ilike", true)] {
        let watch = Arc::clone(watch);
        connection
            .create_scalar_function(name, 2, flags, move |context| like(context, insensitive, &watch))?;
    }
    connection.create_aggregate_function("prony_sum", 1, flags, Sum)
}

fn like(context: &Context<'_>, insensitive: bool, watch: &Watch) -> Result<Option<bool>, Error> {
    let pattern = context.get_or_create_aux(1, |value| {
        let text = value.as_str_or_null()?.unwrap_or_default();
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(LikePattern::new(text, insensitive))
    })?;
    let pattern = (*pattern).as_ref().map_err(|PatternTooLong| too_long())?;
    if matches!(context.get_raw(1), ValueRef::Null) {
        return Ok(None);
    }
    Ok(match context.get_raw(0) {
        ValueRef::Null => None,
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            let text = String::from_utf8_lossy(text);
            let found = pattern.matches_while(&text, &mut |bytes| !watch.expired_by(bytes));
            let interrupted = || Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None);
            Some(found.ok_or_else(interrupted)?)
        }
        ValueRef::Integer(number) => Some(pattern.matches(&number.to_string())),
        ValueRef::Real(number) => Some(pattern.matches(&number.to_string())),
    })
}

/// Without a text of its own, which would take the code's place.
fn too_long() -> Error {
    Error::SqliteFailure(ffi::Error::new(PATTERN_TOO_LONG), None)
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The result code of a search that begins when there is so much time left.
    fn search(text: &str, pattern: &str, left: Duration) -> Result<bool, i32> {
        let connection = Connection::open_in_memory().unwrap();
        let watch = Arc::new(Watch::new());
        register(&connection, &watch).unwrap();
        watch.start_blocking(Instant::now() + left, None);
        let found = connection.query_row("SELECT prony_like(?1, ?2)", [text, pattern], |row| row.get(0));
        found.map_err(|error| match error {
            Error::SqliteFailure(failure, _) => failure.extended_code,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn searches_of_long_texts_end_with_their_statement() {
        const ENOUGH: Duration = Duration::from_secs(600);
        let text = "a".repeat(100_000);
        assert_eq!(search(&text, "%aa%", ENOUGH), Ok(true));
        assert_eq!(search(&text, "%ab%", ENOUGH), Ok(false));
        assert_eq!(search(&text, "%ab%", Duration::ZERO), Err(ffi::SQLITE_INTERRUPT));
        let long = format!("%_{}b%", "a".repeat(4_000));
        assert_eq!(search(&text[..5_000], &long, Duration::ZERO), Err(ffi::SQLITE_INTERRUPT));
        assert_eq!(search(&text, &long, ENOUGH), Ok(false));
        // It begins in time and would take a thousand million steps.
        let underscores = format!("%{}b%", "_".repeat(16_383));
        let soon = Duration::from_millis(5);
        assert_eq!(search(&"a".repeat(4_000_000), &underscores, soon), Err(ffi::SQLITE_INTERRUPT));
        let longest = format!("%_{text}b%");
        assert_eq!(search(&text, &longest, ENOUGH), Err(PATTERN_TOO_LONG));
    }
}
