//! What an operation becomes at its sources: it is prepared as if it were to be executed, and each root field's source tells what it
//! would do. Nothing is executed.

use prony_graphql::{Name, selection::OperationKind};
use prony_source::{Explanation, PreparedField};
use serde::Serialize;

use super::{
    core::CoreEngine, execution::ExecutionContext as _, outcome::RequestError, plan::Step,
    prepared::Prepared, spans::word,
};
use prony_graphql::schema::SourceId;

/// The answer, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedOperation<'p> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'p str>,
    /// The estimate that `max_complexity` limits.
    cost: u64,
    /// The source that is sent the whole operation as it is written, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<&'p str>,
    fields: Vec<ExplainedField<'p>>,
}

#[derive(Debug, Serialize)]
struct ExplainedField<'p> {
    /// Response keys from the root to the field, which is below the root where it is joined from another source.
    path: Vec<&'p str>,
    /// None where the server answers from its schema.
    source: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<&'static str>,
    #[serde(flatten)]
    explanation: Explanation,
}

/// Explains an operation that its rules let in.
///
/// # Errors
/// Its rules do not let it in.
pub(crate) async fn explain<'p>(
    core: &'p CoreEngine,
    prepared: &'p Prepared,
) -> Result<ExplainedOperation<'p>, RequestError> {
    prepared.admit(core).await?;
    let plan = &prepared.plan;
    let mut fields = Vec::with_capacity(plan.steps.len());
    for (index, (field, step)) in plan.selection.fields.iter().zip(&plan.steps).enumerate() {
        let path = vec![field.response_key.as_str()];
        let planned = match step {
            Step::Source(source, root) => Some((*source, root)),
            Step::Schema(_) => None,
        };
        fields.push(of_field(core, prepared, path, planned).await);
        let joined = plan.joins.iter().filter(|(known, _)| *known == index);
        for (path, source, root) in joined.flat_map(|(_, node)| node.joined_fields()) {
            let below = path.into_iter().map(Name::as_str);
            let path = [field.response_key.as_str()].into_iter().chain(below).collect();
            fields.push(of_field(core, prepared, path, Some((source, root))).await);
        }
    }
    Ok(ExplainedOperation {
        kind: word(prepared.kind()),
        name: prepared.operation.name().map(Name::as_str),
        cost: prepared.cost,
        whole: plan.whole.as_ref().map(|(source, _)| source_of(core, *source).0),
        fields,
    })
}

fn source_of(core: &CoreEngine, source: SourceId) -> (&str, &'static str) {
    let source = &core.engine().sources()[usize::from(source.0)];
    (&source.name, source.source.product())
}

async fn of_field<'p>(
    core: &'p CoreEngine,
    prepared: &'p Prepared,
    path: Vec<&'p str>,
    planned: Option<(SourceId, &PreparedField)>,
) -> ExplainedField<'p> {
    let Some((source, root)) = planned else {
        return ExplainedField { path, source: None, database: None, explanation: Explanation::default() };
    };
    // What is forwarded whole is not put together field by field.
    let is_whole = prepared.plan.whole.is_some() && prepared.kind() != OperationKind::Subscription;
    let explanation = if is_whole {
        Explanation::default()
    } else {
        core.session(source).explain(root, &prepared.variables).await
    };
    let (name, database) = source_of(core, source);
    ExplainedField { path, source: Some(name), database: Some(database), explanation }
}
