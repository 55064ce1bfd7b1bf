//! From a `where` argument to a [`Filter`]. Several keys of one input must all hold; a null in place of
//! clauses asks for nothing and is left out.

use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError},
    selection::{Field, Value},
};
use serde_json::Value as Json;

use crate::{
    model::{ColumnId, Model, RowField, Table},
    plan::{Comparison, Filter},
};

/// The filter of a field's `where` argument.
pub(super) fn clauses(model: &Model, table: &Table, field: &Field) -> Result<Filter, GraphqlError> {
    let Some(value) = field.argument("where") else { return Ok(Filter::everything()) };
    clauses_value(model, table, value).map_err(|error| error.at(field.position))
}

/// The filter of a value of a `where` argument.
pub(super) fn clauses_value(model: &Model, table: &Table, value: &Value) -> Result<Filter, GraphqlError> {
    let Value::Object(entries) = value else { return Ok(Filter::everything()) };
    let parts = entries.iter().map(|(key, value)| clause(model, table, key, value));
    Ok(all(parts.collect::<Result<_, _>>()?))
}

fn clause(model: &Model, table: &Table, key: &Name, value: &Value) -> Result<Filter, GraphqlError> {
    if *value == Value::Null {
        return Ok(Filter::everything());
    }
    // A table's own column or relation of this name comes first: the schema leaves the operator out then.
    match (table.row_field(key), key.as_str()) {
        (Some(RowField::Column(id)), _) => comparisons(id, value),
        (Some(RowField::Relation(id)), _) => {
            let target = model.table(table.relation(id).target);
            Ok(Filter::Exists { relation: id, filter: Box::new(clauses_value(model, target, value)?) })
        }
        (_, "and") => Ok(all(each(model, table, value)?)),
        (_, "or") => Ok(Filter::Any(each(model, table, value)?)),
        (_, "not") => Ok(Filter::Not(Box::new(clauses_value(model, table, value)?))),
        _ => Err(GraphqlError::new(
            ErrorCode::ValidationFailed,
            format!("`where` of `{}` has no key `{key}`", table.list_name),
        )),
    }
}

fn each(model: &Model, table: &Table, value: &Value) -> Result<Vec<Filter>, GraphqlError> {
    match value {
        Value::List(items) => items.iter().map(|item| clauses_value(model, table, item)).collect(),
        item => Ok(vec![clauses_value(model, table, item)?]),
    }
}

/// `All` without needless nesting.
fn all(parts: Vec<Filter>) -> Filter {
    let mut kept: Vec<Filter> = parts.into_iter().filter(|part| !part.is_everything()).collect();
    if kept.len() == 1 { kept.remove(0) } else { Filter::All(kept) }
}

fn comparisons(column: ColumnId, value: &Value) -> Result<Filter, GraphqlError> {
    let Value::Object(entries) = value else { return Ok(Filter::everything()) };
    let parts = entries.iter().map(|(operator, operand)| comparison(column, operator, operand));
    Ok(all(parts.collect::<Result<_, _>>()?))
}

fn comparison(column: ColumnId, operator: &Name, value: &Value) -> Result<Filter, GraphqlError> {
    let compare = |comparison| Filter::Compare { column, comparison };
    if *value == Value::Null {
        return Ok(match operator.as_str() {
            "eq" => compare(Comparison::IsNull(true)),
            "ne" => compare(Comparison::IsNull(false)),
            "is_null" => Filter::everything(),
            _ => compare(Comparison::Unknown),
        });
    }
    let value = operand(value);
    Ok(compare(match operator.as_str() {
        "eq" => Comparison::Equal(value),
        "ne" => Comparison::NotEqual(value),
        "gt" => Comparison::Greater(value),
        "gte" => Comparison::GreaterOrEqual(value),
        "lt" => Comparison::Less(value),
        "lte" => Comparison::LessOrEqual(value),
        "in" => Comparison::In(value),
        "not_in" => Comparison::NotIn(value),
        "like" => Comparison::Like(value),
        "ilike" => Comparison::InsensitiveLike(value),
        "is_null" => Comparison::IsNull(value == Value::Scalar(Json::Bool(true))),
        other => {
            return Err(GraphqlError::new(
                ErrorCode::ValidationFailed,
                format!("`where` has no operator `{other}`"),
            ));
        }
    }))
}

/// A value as databases take it: enums and booleans become scalars, everything else stays.
pub(super) fn operand(value: &Value) -> Value {
    match value {
        Value::Enum(name) => Value::Scalar(Json::String(name.to_string())),
        Value::Boolean(value) => Value::Scalar(Json::Bool(*value)),
        Value::List(items) => Value::List(items.iter().map(operand).collect()),
        other => other.clone(),
    }
}
