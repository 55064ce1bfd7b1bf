//! What fields do with the nodes or relationships of which type, for interceptors. Fields that return those of all types have
//! none.

use prony_graph_store::Side;
use prony_graphql::selection::Field;
use prony_source::interceptors::{RowAccess, RowOperation};

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

fn typed(model: &Model, name: &str) -> Option<(Side, TypeId)> {
    [Side::Nodes, Side::Relationships]
        .into_iter()
        .find_map(|side| Some((side, model.side(side).by_type_name(name)?)))
}
