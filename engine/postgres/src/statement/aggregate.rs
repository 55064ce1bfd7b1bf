//! The JSON text of an aggregate: one SQL expression over all rows.

use prony_source::dialect::AggregateFunction;

use crate::statement::json_sql::{self, JsonText};
use prony_sql::{
    builder::column_operand,
    catalog::ColumnKind,
    model::Table,
    plan::{AggregateField, AggregateKind, AggregatePlan},
};

pub(super) fn aggregate_object(table: &Table, alias: &str, plan: &AggregatePlan) -> String {
    let mut text = JsonText::default();
    for output in &plan.outputs {
        text.key(&output.response_key);
        match &output.kind {
            AggregateKind::Typename(name) => text.string(name),
            AggregateKind::Count => text.expression("count(*)::text".to_owned()),
            AggregateKind::Fields(function, fields) => {
                text.expression(aggregate_fields(table, alias, *function, fields));
            }
        }
    }
    if plan.outputs.iter().all(|output| !matches!(output.kind, AggregateKind::Count)) {
        // The others may be constants, and without any function of all rows there would be one row for each of them.
        text.expression("left(count(*)::text, 0)".to_owned());
    }
    text.into_sql()
}

fn aggregate_fields(
    table: &Table,
    alias: &str,
    function: AggregateFunction,
    fields: &[AggregateField],
) -> String {
    let mut text = JsonText::default();
    for field in fields {
        text.key(&field.response_key);
        match &field.column {
            Err(typename) => text.string(typename),
            Ok(id) => {
                let column = table.column(*id);
                text.expression(aggregate_value(function, &column.kind, &column_operand(alias, column)));
            }
        }
    }
    text.into_sql()
}

/// The JSON text of an aggregate over a column; `null` where the function has no meaning for its type.
fn aggregate_value(function: AggregateFunction, kind: &ColumnKind, operand: &str) -> String {
    match function {
        AggregateFunction::Sum | AggregateFunction::Avg => total(function, kind, operand),
        AggregateFunction::Max | AggregateFunction::Min => {
            let is_max = function == AggregateFunction::Max;
            extreme(is_max, kind, operand)
        }
    }
}

fn total(function: AggregateFunction, kind: &ColumnKind, operand: &str) -> String {
    let is_sum = function == AggregateFunction::Sum;
    match kind {
        // bigint and numeric sums are exact; averages of integers are computed exactly, then shown as Float.
        ColumnKind::Int | ColumnKind::BigInt if is_sum => format!("coalesce(sum({operand})::text,'null')"),
        ColumnKind::Numeric if is_sum => json_sql::value(kind, true, &format!("sum({operand})")),
        ColumnKind::Int | ColumnKind::BigInt | ColumnKind::Numeric => {
            json_sql::value(&ColumnKind::Float, true, &format!("avg({operand})::float8"))
        }
        ColumnKind::Float | ColumnKind::Decimal => {
            let name = if is_sum { "sum" } else { "avg" };
            json_sql::value(kind, true, &format!("{name}({operand})"))
        }
        _ => "'null'".to_owned(),
    }
}

fn extreme(is_max: bool, kind: &ColumnKind, operand: &str) -> String {
    let name = if is_max { "max" } else { "min" };
    match kind {
        ColumnKind::Boolean => {
            let name = if is_max { "bool_or" } else { "bool_and" };
            json_sql::value(kind, true, &format!("{name}({operand})"))
        }
        // These have no max and min of their own in all versions; their text form orders them alike.
        ColumnKind::Uuid | ColumnKind::OtherText => {
            json_sql::value(&ColumnKind::Text, true, &format!("{name}({operand}::text COLLATE \"C\")"))
        }
        ColumnKind::Bytes => format!(
            "coalesce('\"'||translate(encode(decode({name}(encode({operand},'hex') COLLATE \"C\"),'hex'),\
             'base64'),E'\\n','')||'\"','null')"
        ),
        ColumnKind::Json => "'null'".to_owned(),
        _ => json_sql::value(kind, true, &format!("{name}({operand})")),
    }
}
