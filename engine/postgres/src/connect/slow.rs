//! Slow statements of a connection: what is written down of them, and the plan that PostgreSQL has for them.

use std::{rc::Rc, time::Duration};

use prony_source::{
    ValueShape,
    slow_statements::{SlowStatement, begin_plan, report_plan},
};
use prony_sql::settings::PoolMode;
use tokio_postgres::Row;

use crate::{
    connect::link::{Answer, Link, Progress, StatementText},
    error::Failure,
    statement::bound::Bound,
};

/// What a value is like: its type and length.
fn shape(value: &Bound) -> ValueShape {
    let of = |value_type: &str| ValueShape { value_type: value_type.into(), ..ValueShape::default() };
    let text = |value_type, length| ValueShape { length: Some(length), ..of(value_type) };
    let list = |value_type, items| ValueShape { items: Some(items), ..of(value_type) };
    match value {
        Bound::Null => ValueShape { is_null: true, ..ValueShape::default() },
        Bound::Boolean(_) => of("boolean"),
        Bound::Int4(_) => of("int4"),
        Bound::Int8(_) => of("int8"),
        Bound::Float8(_) => of("float8"),
        Bound::Text(value) => text("text", value.len()),
        Bound::Bytes(bytes) => text("bytea", bytes.len()),
        Bound::Booleans(items) => list("boolean", items.len()),
        Bound::Int4s(items) => list("int4", items.len()),
        Bound::Int8s(items) => list("int8", items.len()),
        Bound::Float8s(items) => list("float8", items.len()),
        Bound::Texts(items) => list("text", items.len()),
        Bound::ByteStrings(items) => list("bytea", items.len()),
    }
}

impl Link {
    /// Writes a slow statement down.
    pub(crate) fn note_slow(
        self: &Rc<Self>,
        text: &StatementText,
        values: &[Bound],
        rows: u64,
        took: Duration,
    ) {
        let target = self.target();
        let statement =
            SlowStatement { database: &target.description, statement: &text.sql, rows: Some(rows), took };
        let shapes: Vec<ValueShape> = values.iter().map(shape).collect();
        statement.report(&shapes);
        let may_explain = target.explains_slow
            && target.pool_mode == PoolMode::Session
            && self.takes_statements_alone()
            && begin_plan();
        if may_explain {
            let explained = StatementText::new(format!("explain {}", text.sql), text.types.to_vec());
            let (link, values) = (Rc::clone(self), values.to_vec());
            self.chore(Box::pin(async move {
                let answer = PlanLines::default();
                let executed = link.execute(&explained, &values, answer, &Progress::default()).await;
                if let Ok(plan) = executed.result {
                    report_plan(&link.target().description, &plan.lines);
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
    use prony_source::slow_statements::Shapes;

    use super::*;

    #[test]
    fn values_are_told_without_themselves() {
        let values = [
            Bound::Null,
            Bound::Int4(77),
            Bound::Text("geheim".into()),
            Bound::Texts(vec![Some("a".into()), None]),
        ];
        assert_eq!(
            Shapes(&values.map(|value| shape(&value))).to_string(),
            "$1 null, $2 int4, $3 text(6), $4 text[2]"
        );
    }
}
