//! What fields do with the nodes or relationships of which type, for interceptors. Fields that return those of all types have
//! none.

use prony_graph_store::Side;
use prony_graphql::{selection::Field, variables::Variables};
use prony_source::interceptors::{RowAccess, RowOperation, RowQuery};
use serde_json::Value as Json;

use super::lower::{RootIndex, Verb};
use crate::schema::model::{Model, TypeId};

/// What a field does, whether it is a root field or one of a node or relationship.
pub(crate) fn row_access(model: &Model, roots: &RootIndex, field: &Field) -> Option<RowAccess> {
    let (side, of, operation) = match field.parent_type.as_str() {
        "Query" | "Subscription" => roots.access(&field.name)?,
        "Mutation" => {
            let &(verb, side, of) = roots.mutations.get(field.name.as_str())?;
            let operation = match verb {
                Verb::Create => RowOperation::Insert,
                Verb::Update | Verb::Replace => RowOperation::Update,
                Verb::Delete => RowOperation::Delete,
            };
            (side, of, operation)
        }
        parent => {
            typed(model, parent)?;
            let (side, of) = typed(model, field.output.inner_named_type())?;
            (side, of, RowOperation::Select)
        }
    };
    Some(RowAccess { table: model.side(side).get(of).type_name.clone(), operation })
}

/// A query for the node or relationship that an update or a delete names by its key or id, with all its properties.
pub(crate) fn row_query(
    model: &Model,
    roots: &RootIndex,
    field: &Field,
    variables: &Variables,
) -> Option<RowQuery> {
    let &(verb, side, of) = roots.mutations.get(field.name.as_str())?;
    if verb == Verb::Create {
        return None;
    }
    let Json::Object(key) = field.argument("pk_columns")?.resolve(variables) else { return None };
    let of = model.side(side).get(of);
    let properties: Vec<&str> = of.properties.iter().map(|property| &*property.field).collect();
    let properties = properties.join(" ");
    let text = match side {
        Side::Nodes => format!(
            "query($_key: String, $_id: BigInt) {{ {}(_key: $_key, _id: $_id) {{ _id _key {properties} }} }}",
            of.single_name
        ),
        // One of another type is an object without members.
        Side::Relationships => format!(
            "query($_id: BigInt!) {{ graph_relationship(_id: $_id) {{ ... on {} {{ _id {properties} }} }} }}",
            of.type_name
        ),
    };
    let variables = key.into_iter().filter(|(_, value)| !value.is_null()).collect();
    Some(RowQuery { text, variables })
}

fn typed(model: &Model, name: &str) -> Option<(Side, TypeId)> {
    [Side::Nodes, Side::Relationships]
        .into_iter()
        .find_map(|side| Some((side, model.side(side).by_type_name(name)?)))
}
