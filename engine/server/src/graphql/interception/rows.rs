//! The rows that a mutation is about to change or delete, for the functions that are called around it.

use prony_graphql::{error::GraphqlError, response::FieldResult, selection::OperationKind};
use prony_source::interceptors::{RowOperation, RowQuery};
use serde_json::Value as Json;

use super::fields::{InterceptedField, Interception};
use crate::graphql::{
    context::RequestContext,
    execution::ExecutionContext,
    plan::Step,
    planning::{find_operation, plan_for},
    prepared::Prepared,
};

/// By the fields of an [`Interception`]: null where there is none, and of fields that change no row.
#[derive(Debug, Default)]
pub(in crate::graphql) struct RowsBefore(Vec<Json>);

impl RowsBefore {
    /// None of a field that changes no row.
    pub(super) fn of(&self, number: usize, field: &InterceptedField) -> Option<&Json> {
        changes_a_row(field).then(|| self.0.get(number).unwrap_or(&Json::Null))
    }
}

fn changes_a_row(field: &InterceptedField) -> bool {
    matches!(field.operation, RowOperation::Update | RowOperation::Delete)
}

impl Interception {
    /// Reads the rows that an operation is about to change, whatever whoever asks may see of them.
    pub(in crate::graphql) async fn rows_before<C: ExecutionContext>(
        &self,
        core: &C,
        prepared: &Prepared<C::Served>,
    ) -> RowsBefore {
        if prepared.plan.selection.kind != OperationKind::Mutation {
            return RowsBefore::default();
        }
        let mut rows = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            rows.push(if changes_a_row(field) {
                row_before(core, prepared, field).await
            } else {
                Json::Null
            });
        }
        RowsBefore(rows)
    }
}

async fn row_before<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    field: &InterceptedField,
) -> Json {
    let own = &prepared.plan.selection.fields[field.root()];
    let everything = core.engine().served();
    let source = &everything.sources[usize::from(field.source.0)];
    let Some(query) = source.row_query(own, &prepared.variables) else { return Json::Null };
    let read = read(core, prepared, query).await.and_then(|result| match result {
        FieldResult { data: Some(data), errors } if errors.is_empty() => Ok(data),
        FieldResult { errors, .. } => Err(errors),
    });
    match read {
        Ok(data) => row(&data),
        Err(errors) => {
            let faults: Vec<String> = errors.iter().map(ToString::to_string).collect();
            tracing::error!(
                table = &*field.table,
                faults = faults.join("; "),
                "the row that is changed cannot be read"
            );
            Json::Null
        }
    }
}

/// As those who may see everything, in the session of whoever asks.
async fn read<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    query: RowQuery,
) -> Result<FieldResult, Vec<GraphqlError>> {
    let (served, limits) = (core.engine().served(), core.engine().limits());
    let operation = find_operation(&served, limits, &query.text, None)?;
    let (variables, shape) = operation.coerce(&served.schema, query.variables)?;
    let plan = plan_for(&served, limits, (&operation, &query.text), &variables, shape)?;
    let [Step::Source(source, root)] = &*plan.steps else { return Ok(FieldResult::data(b"null".to_vec())) };
    let context = RequestContext { asker: prepared.asker.clone(), ..RequestContext::default() };
    let variables = context.add_session(variables).with_client(prepared.variables.client().clone());
    Ok(core.query(*source, root, &variables).await)
}

/// The one row of a response; an object without members is of another type than that which was asked for.
fn row(data: &[u8]) -> Json {
    match serde_json::from_slice(data) {
        Ok(Json::Array(rows)) => rows.into_iter().next().unwrap_or_default(),
        Ok(Json::Object(row)) if row.is_empty() => Json::Null,
        Ok(row) => row,
        Err(_) => Json::Null,
    }
}
