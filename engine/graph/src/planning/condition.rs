//! Checks conditions that a configuration has written. A client's `where` has been checked against the schema, where what is
//! not there asks for nothing; of a condition that protects nodes, whatever could be a mistake is one.

use prony_graph_store::{Kind, Side};
use prony_graphql::{selection::Value, variables::Variables};
use prony_source::config::suggestion;

use crate::{
    execute::json_value,
    schema::model::{Model, PropertyModel, TypeId},
};

const OPERATORS: [&str; 14] = [
    "eq",
    "ne",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "not_in",
    "like",
    "ilike",
    "is_null",
    "starts_with",
    "contains",
    "ends_with",
];

/// Whether a condition of a type, or of all of a side, means what it seems to.
pub(super) fn check(
    model: &Model,
    side: Side,
    only: Option<TypeId>,
    condition: &Value,
) -> Result<(), String> {
    let Value::Object(entries) = condition else {
        return Err(format!("a condition is a table of properties, not {}", described(condition)));
    };
    let of_side = model.side(side);
    let properties: &[PropertyModel] = match only {
        Some(id) => &of_side.get(id).properties,
        None => &of_side.common,
    };
    for (key, value) in entries {
        let property = properties.iter().find(|property| *property.field == **key);
        match key.as_str() {
            "and" | "or" => {
                let Value::List(items) = value else {
                    return Err(format!("`{key}` is a list of conditions, not {}", described(value)));
                };
                items.iter().try_for_each(|item| check(model, side, only, item))?;
            }
            "not" => check(model, side, only, value)?,
            "from" | "to" if side == Side::Relationships => check(model, Side::Nodes, None, value)?,
            "_id" => comparisons(key, Kind::Integer, value)?,
            "_type" => comparisons(key, Kind::String, value)?,
            "_key" if side == Side::Nodes => comparisons(key, Kind::String, value)?,
            _ => {
                let Some(property) = property else {
                    let known = properties.iter().map(|property| &*property.field);
                    let near = suggestion(key, known.chain(["and", "or", "not", "_key", "_id", "_type"]));
                    return Err(format!("there is no property `{key}`{near}"));
                };
                comparisons(key, property.kind, value)?;
            }
        }
    }
    Ok(())
}

fn comparisons(field: &str, kind: Kind, value: &Value) -> Result<(), String> {
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
        if !OPERATORS.contains(&operator.as_str()) {
            return Err(format!("`{field}` has no operator `{operator}`{}", suggestion(operator, OPERATORS)));
        }
        let is_list = matches!(operator.as_str(), "in" | "not_in");
        match operand {
            Value::Boolean(_) if operator == "is_null" => {}
            _ if operator == "is_null" => {
                return Err(format!("`is_null` of `{field}` is true or false, not {}", described(operand)));
            }
            Value::Object(_) => {
                return Err(format!("`{operator}` of `{field}` does not take {}", described(operand)));
            }
            Value::List(_) | Value::Slot(_) => {}
            _ if is_list => {
                return Err(format!("`{operator}` of `{field}` is a list, not {}", described(operand)));
            }
            _ => {}
        }
        if operator != "is_null" && !fits(kind, is_list, operand) {
            return Err(format!("`{operator}` of `{field}` takes a value of type {}", kind.name()));
        }
    }
    Ok(())
}

/// Whether a property of this kind takes a value; of a variable that is known when it has one.
fn fits(kind: Kind, is_list: bool, operand: &Value) -> bool {
    let kind = if is_list { json_value::list_of(kind) } else { kind };
    let is_open = |value: &Value| matches!(value, Value::Slot(_) | Value::Null);
    match operand {
        Value::List(items) if items.iter().any(is_open) => true,
        operand => is_open(operand) || json_value::read(kind, operand, &Variables::default()).is_some(),
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
