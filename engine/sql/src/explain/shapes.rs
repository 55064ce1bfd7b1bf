//! What the value of a parameter is like: its type and how long it is, never the value.

use prony_graphql::variables::Variables;
use prony_source::{ValueShape, dialect};
use serde_json::Value as Json;

use crate::{builder::Parameter, model::Model};

pub(super) fn shape(model: &Model, parameter: &Parameter, variables: &Variables) -> ValueShape {
    let named = |of: &str| ValueShape { of: of.to_owned(), ..ValueShape::default() };
    match parameter {
        Parameter::Column { table, column, value, list } => {
            let table = model.table(*table);
            let column = table.column(*column);
            let of = format!("{}.{}", table.qualified_name(), column.name);
            let value_type = column.database_type.to_string();
            of_value(
                &dialect::json(value, variables),
                *list,
                ValueShape { of, value_type, ..ValueShape::default() },
            )
        }
        Parameter::Limit(_) => named("limit"),
        Parameter::Offset(_) => named("offset"),
        Parameter::Parent(_) => named("row above"),
    }
}

fn of_value(value: &Json, is_list: bool, mut shape: ValueShape) -> ValueShape {
    match value {
        Json::Null => shape.is_null = true,
        Json::String(text) if !is_list => shape.length = Some(text.chars().count()),
        Json::Array(items) => shape.items = Some(items.len()),
        // A single value counts as a list of one.
        _ if is_list => shape.items = Some(1),
        _ => {}
    }
    shape
}
