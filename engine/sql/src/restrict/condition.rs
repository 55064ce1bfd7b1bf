//! Checks conditions that a configuration has written. A client's `where` has been checked against the schema, where what is
//! not there asks for nothing; of a condition that protects rows, whatever could be a mistake is one.

use prony_graphql::selection::{SlotRoot, Value};

use crate::{
    builder::bind,
    catalog::ColumnKind,
    model::{Column, Model, RowField, Table, suggestion},
};

const LISTS: [&str; 2] = ["in", "not_in"];
const OPERATORS: [&str; 11] =
    ["eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "like", "ilike", "is_null"];

/// Whether a condition of a table means what it seems to.
pub(super) fn check(model: &Model, table: &Table, condition: &Value) -> Result<(), String> {
    let Value::Object(entries) = condition else {
        return Err(format!(
            "a condition of `{}` is a table of fields, not {}",
            table.name,
            described(condition)
        ));
    };
    for (key, value) in entries {
        match (table.row_field(key), key.as_str()) {
            (Some(RowField::Column(id)), _) => comparisons(table.column(id), value)?,
            (Some(RowField::Relation(id)), _) => {
                check(model, model.table(table.relation(id).target), value)?;
            }
            (_, "and" | "or") => {
                let Value::List(items) = value else {
                    return Err(format!("`{key}` is a list of conditions, not {}", described(value)));
                };
                items.iter().try_for_each(|item| check(model, table, item))?;
            }
            (_, "not") => check(model, table, value)?,
            _ => {
                let columns = table.columns.iter().map(|column| &*column.field);
                let relations = table.relations.iter().map(|relation| &*relation.field);
                let near = suggestion(key, columns.chain(relations).chain(["and", "or", "not"]));
                return Err(format!("`{}` has no field `{key}`{near}", table.name));
            }
        }
    }
    Ok(())
}

fn comparisons(column: &Column, value: &Value) -> Result<(), String> {
    let field = &column.field;
    let Value::Object(entries) = value else {
        let found = described(value);
        return Err(format!(
            "`{field}` is compared by operators, as in `{field} = {{ eq = … }}`, not with {found}"
        ));
    };
    if entries.is_empty() {
        return Err(format!(
            "`{field}` is compared with nothing; write an operator, as in `{field} = {{ eq = … }}`"
        ));
    }
    for (operator, operand) in entries {
        let operator = operator.as_str();
        if !OPERATORS.contains(&operator) {
            return Err(format!("`{field}` has no operator `{operator}`{}", suggestion(operator, OPERATORS)));
        }
        if !takes(&column.kind, operator) {
            return Err(format!("`{field}` has values that are not compared by `{operator}`"));
        }
        match operand {
            Value::Boolean(_) if operator == "is_null" => {}
            _ if operator == "is_null" => {
                return Err(format!("`is_null` of `{field}` is true or false, not {}", described(operand)));
            }
            Value::List(items) if LISTS.contains(&operator) => {
                items.iter().try_for_each(|item| check_operand(column, item))?;
            }
            Value::Slot(_) => {}
            _ if LISTS.contains(&operator) => {
                return Err(format!("`{operator}` of `{field}` is a list, not {}", described(operand)));
            }
            _ => check_operand(column, operand)?,
        }
    }
    Ok(())
}

/// Whether the database can compare values of this kind so. More is so than `where` offers, as JSON is compared too.
fn takes(kind: &ColumnKind, operator: &str) -> bool {
    let is_pattern = operator.ends_with("like");
    match kind {
        ColumnKind::Int
        | ColumnKind::BigInt
        | ColumnKind::Float
        | ColumnKind::Numeric
        | ColumnKind::Decimal
        | ColumnKind::Boolean
        | ColumnKind::Json
        | ColumnKind::Bytes => !is_pattern,
        ColumnKind::Array(_) => !is_pattern && !LISTS.contains(&operator),
        ColumnKind::UnorderedText => is_pattern || operator == "is_null",
        _ => true,
    }
}

/// Whether a column takes a value; of a variable that is known when it has one.
pub(super) fn check_operand(column: &Column, operand: &Value) -> Result<(), String> {
    match operand {
        Value::Slot(slot) if matches!(slot.root, SlotRoot::Session(_)) => Ok(()),
        Value::Scalar(json) => bind::scalar(column, json).map(|_| ()).map_err(|error| error.message),
        Value::Boolean(truth) => {
            bind::scalar(column, &(*truth).into()).map(|_| ()).map_err(|error| error.message)
        }
        Value::List(items) if matches!(column.kind, ColumnKind::Array(_)) => {
            items.iter().try_for_each(|item| match item {
                Value::List(_) | Value::Object(_) | Value::Null => {
                    Err(format!("`{}` takes a list of values", column.field))
                }
                _ => Ok(()),
            })
        }
        other => Err(format!("`{}` does not take {}", column.field, described(other))),
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Boolean(_) => "true or false",
        Value::Enum(_) | Value::Scalar(_) => "a single value",
        Value::Slot(_) => "a variable",
        Value::List(_) => "a list",
        Value::Object(_) => "a table",
    }
}
