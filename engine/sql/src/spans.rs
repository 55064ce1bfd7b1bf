//! Spans of statements, for requests that are traced (OpenTelemetry, "Semantic conventions for database client spans"): the text with
//! the places of its parameters, never their values.

use prony_source::trace::{OpenSpan, SpanKind, begin_span, bounded, record_span};
use std::time::Instant;

/// Time that a request waits for a connection, or for a thread of one.
pub const POOL_WAIT: &str = "pool wait";

/// Between texts of statements that run together.
const SEPARATOR: &str = "; ";

/// Words that statements begin with.
const OPERATIONS: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "BEGIN", "COMMIT", "ROLLBACK"];

/// Begins the span of statements that run together, where the request is traced. `system` is `db.system.name`.
#[inline]
pub fn begin_statements<'s, I>(system: &'static str, texts: impl FnOnce() -> I) -> Option<OpenSpan>
where
    I: Iterator<Item = &'s str>,
{
    let mut span = begin_span("SQL", SpanKind::Client)?;
    describe(&mut span, system, texts());
    Some(span)
}

/// Of some that have run on another thread.
pub fn record_statements<'s>(
    system: &'static str,
    times: (Instant, Instant),
    texts: impl Iterator<Item = &'s str>,
) {
    record_span("SQL", SpanKind::Client, times, |span| describe(span, system, texts));
}

/// Of a command that has run there.
pub fn record_command(system: &'static str, command: &'static str, times: (Instant, Instant)) {
    record_span(command, SpanKind::Client, times, |span| describe_command(span, system, command));
}

/// A command without parameters and rows, of which the first word is told alone: others may hold values.
#[inline]
pub fn begin_command(system: &'static str, command: impl FnOnce() -> &'static str) -> Option<OpenSpan> {
    let mut span = begin_span("SQL", SpanKind::Client)?;
    let command = command();
    span.rename(command);
    describe_command(&mut span, system, command);
    Some(span)
}

fn describe_command(span: &mut OpenSpan, system: &'static str, command: &'static str) {
    span.set("db.system.name", system);
    span.set("db.operation.name", command);
}

pub const RETURNED_ROWS: &str = "db.response.returned_rows";

fn describe<'s>(span: &mut OpenSpan, system: &'static str, texts: impl Iterator<Item = &'s str>) {
    let mut whole = String::new();
    for text in texts {
        if !whole.is_empty() {
            whole.push_str(SEPARATOR);
        }
        whole.push_str(bounded(text));
    }
    span.set("db.system.name", system);
    if let Some(operation) = operation(&whole) {
        span.rename(operation);
        span.set("db.operation.name", operation);
    }
    span.set("db.query.text", whole);
}

/// The word that a statement begins with.
pub fn operation(sql: &str) -> Option<&'static str> {
    let word = sql.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next()?;
    OPERATIONS.into_iter().find(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_first_word() {
        for (sql, expected) in [
            ("select 1", Some("SELECT")),
            ("\n  WITH x AS (select 1) select * from x", Some("WITH")),
            ("insert into t", Some("INSERT")),
            ("selection", None),
            ("rollback; begin; select set_config('a', 'secret', true)", Some("ROLLBACK")),
            ("", None),
        ] {
            assert_eq!(operation(sql), expected, "{sql}");
        }
    }
}
