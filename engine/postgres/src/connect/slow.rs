//! Slow statements of a connection: what is written down of them, and the plan that PostgreSQL has for them.

use std::{
    cell::Cell,
    fmt,
    rc::Rc,
    time::{Duration, Instant},
};

use prony_sql::{settings::PoolMode, slow_statements::SlowStatement};
use tokio_postgres::Row;

use crate::{
    connect::link::{Answer, Link, Progress, StatementText},
    error::Failure,
    statement::bound::Bound,
};

/// Plans are asked for at most so often on a core.
const EXPLAIN_EVERY: Duration = Duration::from_secs(10);

thread_local! {
    static LAST_EXPLAINED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What values are like: their types and lengths.
struct Shapes<'a>(&'a [Bound]);

impl fmt::Display for Shapes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}${} ", index + 1)?;
            match value {
                Bound::Null => write!(formatter, "null"),
                Bound::Boolean(_) => write!(formatter, "boolean"),
                Bound::Int4(_) => write!(formatter, "int4"),
                Bound::Int8(_) => write!(formatter, "int8"),
                Bound::Float8(_) => write!(formatter, "float8"),
                Bound::Text(text) => write!(formatter, "text({})", text.len()),
                Bound::Bytes(bytes) => write!(formatter, "bytea({})", bytes.len()),
                Bound::Booleans(list) => write!(formatter, "boolean[{}]", list.len()),
                Bound::Int4s(list) => write!(formatter, "int4[{}]", list.len()),
                Bound::Int8s(list) => write!(formatter, "int8[{}]", list.len()),
                Bound::Float8s(list) => write!(formatter, "float8[{}]", list.len()),
                Bound::Texts(list) => write!(formatter, "text[{}]", list.len()),
                Bound::ByteStrings(list) => write!(formatter, "bytea[{}]", list.len()),
            }?;
        }
        Ok(())
    }
}

impl Link {
    /// Writes a slow statement down. `is_read` says that its connection has no transactions, so that more may be asked on it.
    pub(crate) fn note_slow(
        self: &Rc<Self>,
        text: &StatementText,
        values: &[Bound],
        rows: u64,
        took: Duration,
    ) {
        let target = self.target();
        let statement = SlowStatement { database: &target.description, sql: &text.sql, rows, took };
        statement.report(Shapes(values));
        let may_explain = target.explains_slow
            && target.pool_mode == PoolMode::Session
            && self.takes_statements_alone()
            && LAST_EXPLAINED.get().is_none_or(|last| last.elapsed() >= EXPLAIN_EVERY);
        if may_explain {
            LAST_EXPLAINED.set(Some(Instant::now()));
            let explained = StatementText::new(format!("explain {}", text.sql), text.types.to_vec());
            let (link, values) = (Rc::clone(self), values.to_vec());
            self.chore(Box::pin(async move {
                let answer = PlanLines::default();
                let executed = link.execute(&explained, &values, answer, &Progress::default()).await;
                if let Ok(plan) = executed.result {
                    let database = &link.target().description;
                    tracing::warn!(%database, plan = plan.lines.join("\n"), "plan of a slow statement");
                }
            }));
        }
    }
}

/// The lines of a plan.
#[derive(Debug, Default)]
pub(crate) struct PlanLines {
    pub(crate) lines: Vec<String>,
}

impl Answer for PlanLines {
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        self.lines.push(row.try_get(0)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_without_themselves() {
        let values = [
            Bound::Null,
            Bound::Int4(77),
            Bound::Text("geheim".into()),
            Bound::Texts(vec![Some("a".into()), None]),
        ];
        assert_eq!(Shapes(&values).to_string(), "$1 null, $2 int4, $3 text(6), $4 text[2]");
        assert_eq!(Shapes(&[]).to_string(), "");
    }
}
