//! The JSON text of an aggregate: one SQL expression over all rows.

use prony_source::dialect::AggregateFunction;

use crate::statement::{
    dialect::Postgres,
    json_sql::{self, JsonText},
};
use prony_sql::{
    builder::{Dialect as _, column_operand},
    catalog::ColumnKind,
    model::{Column, Table},
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
                text.expression(aggregate_value(function, column, &column_operand(alias, column)));
            }
        }
    }
    text.into_sql()
}

/// The JSON text of an aggregate over a column; `null` where the function has no meaning for its type.
fn aggregate_value(function: AggregateFunction, column: &Column, operand: &str) -> String {
    match function {
        // Oids are served as integers, and PostgreSQL has no sum of them.
        AggregateFunction::Sum | AggregateFunction::Avg if &*column.database_type == "oid" => {
            total(function, &column.kind, &format!("{operand}::int8"))
        }
        // What the settings call a number need be none for PostgreSQL.
        AggregateFunction::Sum | AggregateFunction::Avg if !json_sql::is_number(&column.database_type) => {
            "'null'".to_owned()
        }
        AggregateFunction::Sum | AggregateFunction::Avg => total(function, &column.kind, operand),
        AggregateFunction::Max | AggregateFunction::Min => {
            let is_max = function == AggregateFunction::Max;
            extreme(is_max, column, &Postgres.comparable(operand.to_owned(), column))
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
        // PostgreSQL's `avg` of such numbers sums their squares too, which are beyond the range where the average is not.
        ColumnKind::Float if !is_sum => {
            json_sql::value(kind, true, &format!("(sum({operand}::float8)/nullif(count({operand}),0))"))
        }
        ColumnKind::Float | ColumnKind::Decimal => {
            let name = if is_sum { "sum" } else { "avg" };
            json_sql::value(kind, true, &format!("{name}({operand})"))
        }
        _ => "'null'".to_owned(),
    }
}

fn extreme(is_max: bool, column: &Column, operand: &str) -> String {
    let kind = &column.kind;
    let name = if is_max { "max" } else { "min" };
    match kind {
        _ if !kind.is_ordered() => "'null'".to_owned(),
        ColumnKind::Boolean => {
            let name = if is_max { "bool_or" } else { "bool_and" };
            json_sql::value(kind, true, &format!("{name}({})", json_sql::truth(column, operand)))
        }
        ColumnKind::Int if &*column.database_type == "boolean" => {
            json_sql::value(kind, true, &format!("{name}({operand}::int4)"))
        }
        // These have no max and min of their own in all versions; their text form orders them alike.
        ColumnKind::Uuid => of_text(name, operand),
        ColumnKind::OrderedText if is_ordered_as_text(&column.database_type) => of_text(name, operand),
        ColumnKind::OrderedText => first_of(is_max, operand),
        // Functions beside such operators are not found either: that of `text` would be taken.
        ColumnKind::Text if column.operators.is_some() => first_of(is_max, operand),
        ColumnKind::Bytes => format!(
            "coalesce('\"'||translate(encode(decode({name}(encode({operand},'hex') COLLATE \"C\"),'hex'),\
             'base64'),E'\\n','')||'\"','null')"
        ),
        _ => json_sql::value(&json_sql::written_as(column), true, &format!("{name}({operand})")),
    }
}

fn of_text(name: &str, operand: &str) -> String {
    json_sql::value(&ColumnKind::Text, true, &format!("{name}({operand}::text COLLATE \"C\")"))
}

/// Of a type without `max` and `min`: the first in its order.
fn first_of(is_max: bool, operand: &str) -> String {
    let order = if is_max { "DESC" } else { "ASC" };
    let first = format!("(array_agg({operand} ORDER BY {operand} {order} NULLS LAST))[1]");
    json_sql::value(&ColumnKind::Text, true, &first)
}

/// Whether texts in the order of their bytes are in the order of the type.
fn is_ordered_as_text(database_type: &str) -> bool {
    matches!(database_type, "\"bit\"" | "bit" | "bit varying" | "macaddr" | "macaddr8")
}
