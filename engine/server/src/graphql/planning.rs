//! Operations and their plans: from what is kept of a schema, or anew.

use std::sync::Arc;

use prony_graphql::{
    document::{Operation, limits::Limits},
    error::GraphqlError,
    variables::{Variables, shape::Shape},
};

use super::{plan::Plan, served::Served};

/// The plan of an operation, whose text is needed where it is not known yet.
pub(super) fn plan_for(
    served: &Served,
    limits: &Limits,
    (operation, text): (&Operation, &str),
    variables: &Variables,
    shape: Shape,
) -> Result<Arc<Plan>, Vec<GraphqlError>> {
    if let Some(plan) = served.cache.plan(operation.id(), &shape) {
        return Ok(plan);
    }
    let plan = Plan::make(served.plan_inputs(limits), operation, text, variables)?;
    Ok(served.cache.insert_plan(operation.id(), shape, plan))
}

pub(super) fn find_operation(
    served: &Served,
    limits: &Limits,
    text: &str,
    name: Option<&str>,
) -> Result<Arc<Operation>, Vec<GraphqlError>> {
    if text.len() > limits.max_document_bytes {
        // It is refused for its length: nothing of it is hashed to find that out.
        return Operation::parse(&served.schema, text, name, limits).map(Arc::new);
    }
    served.cache.find_operation(text, name, || Operation::parse(&served.schema, text, name, limits))
}
