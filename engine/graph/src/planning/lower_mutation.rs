//! From a mutation's field to its [`Root`].

use std::sync::Arc;

use prony_graph_store::{Keep, Side};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    selection::{Field, Value},
};

use crate::{
    planning::{
        assignments::Assignments,
        lower::{Lowering, RootIndex, Verb, unknown_field},
        plan::{NodeKey, RecordKey, Root},
    },
    schema::model::TypeModel,
};
use prony_source::dialect::ResultOutput;

impl Lowering<'_> {
    pub(crate) fn mutation(&mut self, roots: &RootIndex, field: &Field) -> Result<Root, GraphqlError> {
        let found = roots.mutations.get(field.name.as_str());
        let &(verb, side, of) = found.ok_or_else(|| unknown_field(field))?;
        let properties = assignments(self.model.side(side).get(of), field);
        let keep = match verb {
            Verb::Create => {
                let selections: Vec<&Field> = field.selections.iter().collect();
                let shape = self.shape(side, Some(of), &selections)?;
                return Ok(match side {
                    Side::Nodes => {
                        let key = field.argument("_key").cloned().unwrap_or(Value::Null);
                        Root::CreateNode { of, key, properties, shape }
                    }
                    Side::Relationships => {
                        let from = Box::new(node_key(field, "from")?);
                        let to = Box::new(node_key(field, "to")?);
                        Root::CreateRelationship { of, from, to, properties, shape }
                    }
                });
            }
            Verb::Delete => {
                return Ok(Root::Delete {
                    side,
                    of,
                    key: record_key(side, field)?,
                    outputs: ResultOutput::all_of(field),
                });
            }
            Verb::Update => Keep::Others,
            Verb::Replace => Keep::Nothing,
        };
        Ok(Root::Set {
            side,
            of,
            key: record_key(side, field)?,
            properties,
            keep,
            outputs: ResultOutput::all_of(field),
        })
    }
}

fn given(input: &Value, name: &str) -> Option<Value> {
    input.get(name).filter(|value| **value != Value::Null).cloned()
}

fn record_key(side: Side, field: &Field) -> Result<RecordKey, GraphqlError> {
    let columns = field.argument("pk_columns").unwrap_or(&Value::Null);
    let key = RecordKey { key: given(columns, "_key"), id: given(columns, "_id") };
    if side == Side::Nodes && key.key.is_some() == key.id.is_some() {
        let message = format!("`pk_columns` of `{}` needs either `_key` or `_id`", field.name);
        return Err(GraphqlError::new(ErrorCode::BadUserInput, message));
    }
    Ok(key)
}

fn node_key(field: &Field, argument: &'static str) -> Result<NodeKey, GraphqlError> {
    let input = field.argument(argument).unwrap_or(&Value::Null);
    let key = NodeKey {
        argument,
        id: given(input, "_id"),
        type_name: given(input, "_type"),
        key: given(input, "_key"),
    };
    if matches!((&key.id, &key.type_name, &key.key), (Some(_), None, None) | (None, Some(_), Some(_))) {
        return Ok(key);
    }
    let message = format!("`{argument}` of `{}` needs either `_id`, or `_type` and `_key`", field.name);
    Err(GraphqlError::new(ErrorCode::BadUserInput, message))
}

/// The properties that are given; a null is none of them on creation and takes one away on a change.
fn assignments(of: &TypeModel, field: &Field) -> Assignments {
    let assigned = field.arguments.iter().filter_map(|(name, value)| {
        let property = of.property(name)?;
        Some((Arc::clone(&property.name), property.kind, value.clone()))
    });
    assigned.collect()
}
