//! The log of statements that took long: their text, what their values are like without the values, how many rows they gave, and
//! whose request they were for. Each kind of source tells it in this form.

use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};

use crate::{ValueShape, current_request};

/// Plans are asked for at most so often on a core.
const EXPLAIN_EVERY: Duration = Duration::from_secs(10);

thread_local! {
    static LAST_EXPLAINED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What is said of one statement.
#[derive(Debug, Clone, Copy)]
pub struct SlowStatement<'a> {
    /// Where the database is, without its secrets.
    pub database: &'a str,
    /// Of a source without statements what stands for one, such as a field.
    pub statement: &'a str,
    /// None where they are not counted.
    pub rows: Option<u64>,
    pub took: Duration,
}

/// Values in the order in which a statement has them, without themselves: their types and lengths.
#[derive(Debug, Clone, Copy)]
pub struct Shapes<'a>(pub &'a [ValueShape]);

/// From when on statements are slow.
pub fn threshold(slow_statement_ms: u32) -> Duration {
    if slow_statement_ms == 0 { Duration::MAX } else { Duration::from_millis(slow_statement_ms.into()) }
}

impl SlowStatement<'_> {
    /// Writes it into the log.
    pub fn report(&self, values: &[ValueShape]) {
        let Self { database, statement, rows, took } = *self;
        let record = current_request();
        let request_id = record.as_ref().map(|record| &*record.id).filter(|id| !id.is_empty());
        let trace_id =
            record.as_ref().and_then(|record| record.trace.as_ref()).map(|trace| trace.id().to_string());
        let operation = record.as_ref().and_then(|record| record.operation.borrow().clone());
        let (operation, role) = operation.map_or((None, None), |known| (known.name, known.role));
        let duration_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        tracing::warn!(
            database,
            duration_ms,
            rows,
            request_id,
            trace_id,
            operation = operation.as_deref(),
            role = role.as_deref(),
            values = %Shapes(values),
            statement,
            "slow statement"
        );
    }
}

/// Whether the plan of a slow statement may be asked for on this core now; the next ones have to wait for a while.
pub fn begin_plan() -> bool {
    let is_due = LAST_EXPLAINED.get().is_none_or(|last| last.elapsed() >= EXPLAIN_EVERY);
    if is_due {
        LAST_EXPLAINED.set(Some(Instant::now()));
    }
    is_due
}

/// Writes a plan into the log.
pub fn report_plan(database: &str, lines: &[String]) {
    tracing::warn!(database, plan = lines.join("\n"), "plan of a slow statement");
}

impl fmt::Display for Shapes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, shape) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let ValueShape { of, value_type, length, items, is_null } = shape;
            let named = if value_type.is_empty() { of } else { value_type };
            write!(formatter, "{separator}${} ", index + 1)?;
            match (*is_null, *length, *items) {
                (true, _, _) => write!(formatter, "null"),
                (_, _, Some(items)) => write!(formatter, "{named}[{items}]"),
                (_, Some(length), _) => write!(formatter, "{named}({length})"),
                _ => write!(formatter, "{named}"),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_without_themselves() {
        let shape = |value_type: &str| ValueShape { value_type: value_type.into(), ..ValueShape::default() };
        let values = [
            ValueShape { is_null: true, ..shape("int4") },
            shape("int4"),
            ValueShape { length: Some(6), ..shape("text") },
            ValueShape { items: Some(2), ..shape("text") },
            ValueShape { of: "limit".into(), ..shape("") },
        ];
        assert_eq!(Shapes(&values).to_string(), "$1 null, $2 int4, $3 text(6), $4 text[2], $5 limit");
        assert_eq!(Shapes(&[]).to_string(), "");
    }

    #[test]
    fn plans_are_asked_for_once_in_a_while() {
        assert!(begin_plan());
        assert!(!begin_plan());
    }
}
