//! What is called before fields are executed, and the plan that comes of it.

use std::borrow::Cow;

use prony_graphql::{
    document::{complexity::check_estimate, limits::Limits},
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::interceptors::InterceptorPhase;
use serde_json::{Map, Value as Json};

use super::{
    calls::{arguments, failed},
    fields::{InterceptedField, Interception, field_at},
    rows::RowsBefore,
};
use crate::graphql::{
    plan::{Plan, Step},
    roles::Asker,
    served::Served,
};

/// An operation that is ready to be executed.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct InterceptedOperation<'a> {
    pub(in crate::graphql) served: &'a Served,
    pub(in crate::graphql) plan: &'a Plan,
    pub(in crate::graphql) variables: &'a Variables,
    pub(in crate::graphql) asker: Option<&'a Asker>,
    pub(in crate::graphql) limits: &'a Limits,
    pub(in crate::graphql) rows: &'a RowsBefore,
}

/// What is executed in the end.
pub(in crate::graphql) struct Begun<'p> {
    /// None where nothing was changed or refused.
    pub(in crate::graphql) plan: Option<Plan>,
    pub(in crate::graphql) variables: Cow<'p, Variables>,
}

/// Fields of a plan as they are changed.
struct Changes<'p> {
    plan: &'p Plan,
    /// None as long as nothing was changed.
    fields: Option<Vec<Field>>,
    variables: Cow<'p, Variables>,
    /// By root field.
    refused: Vec<Option<GraphqlError>>,
    changed: Vec<bool>,
}

impl Interception {
    /// Calls what is called before, and makes the plan that is executed then.
    pub(in crate::graphql) async fn begin<'p>(&self, asked: InterceptedOperation<'p>) -> Begun<'p> {
        let InterceptedOperation { served, plan, variables, asker, limits, rows } = asked;
        let count = plan.selection.fields.len();
        let mut changes = Changes {
            plan,
            fields: None,
            variables: Cow::Borrowed(variables),
            refused: vec![None; count],
            changed: vec![false; count],
        };
        for (number, field) in self.fields.iter().enumerate() {
            let known = (rows.of(number, field), asker);
            if changes.refused[field.root()].is_none()
                && let Err(error) = self.before(served, field, &mut changes, known).await
            {
                let root = &plan.selection.fields[field.root()];
                changes.refused[field.root()] = Some(error.of_field(&root.response_key, root.position));
            }
        }
        changes.finish(served, limits)
    }

    async fn before(
        &self,
        served: &Served,
        field: &InterceptedField,
        changes: &mut Changes<'_>,
        (row, asker): (Option<&Json>, Option<&Asker>),
    ) -> Result<(), GraphqlError> {
        let called = || field.chain.iter().filter(|chained| chained.module.has_before);
        if called().next().is_none() {
            return Ok(());
        }
        let path = field.path(changes.fields());
        let own = path[path.len() - 1].clone();
        let context = self.context(field, row, changes.plan.selection.kind, &path, asker);
        let given = arguments(&own, &changes.variables);
        let mut arguments = given.clone();
        for chained in called() {
            let request = Map::from_iter([("arguments".to_owned(), Json::Object(arguments))]);
            let values = serde_json::to_vec(&[request]).expect("JSON values are JSON");
            let returned = self.call(chained, InterceptorPhase::Before, values, &context).await?;
            arguments =
                read(returned).map_err(|what| failed(&chained.path, InterceptorPhase::Before, &what))?;
        }
        if arguments == given {
            return Ok(());
        }
        let planned = own.with_arguments(&served.schema, arguments, changes.variables.to_mut());
        let planned = planned.map_err(|errors| {
            let faults: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let last = field.chain.iter().rfind(|chained| chained.module.has_before);
            let path = last.map_or("", |chained| &chained.path);
            let what = format!("it returned arguments that do not fit: {}", faults.join("; "));
            failed(path, InterceptorPhase::Before, &what)
        })?;
        *field_at(changes.fields_mut(), &field.place) = planned;
        changes.changed[field.root()] = true;
        Ok(())
    }
}

/// The arguments of the one request that was returned.
fn read(mut returned: Vec<Json>) -> Result<Map<String, Json>, String> {
    let request = if returned.len() == 1 { returned.remove(0) } else { Json::Null };
    match request {
        Json::Object(mut request) => match request.remove("arguments") {
            Some(Json::Object(arguments)) => Ok(arguments),
            _ => Err("it returned a request without `arguments`, which is an object".to_owned()),
        },
        other => {
            let what = match other {
                Json::Null => "null",
                Json::Array(_) => "a list",
                _ => "another value",
            };
            Err(format!("it returned {what}: expected the request, or nothing"))
        }
    }
}

impl<'p> Changes<'p> {
    fn fields(&self) -> &[Field] {
        self.fields.as_deref().unwrap_or(&self.plan.selection.fields)
    }

    fn fields_mut(&mut self) -> &mut [Field] {
        self.fields.get_or_insert_with(|| self.plan.selection.fields.clone())
    }

    /// Plans anew what was changed. What was refused has its error for a result; of a mutation, nothing is executed then.
    fn finish(mut self, served: &Served, limits: &Limits) -> Begun<'p> {
        if !self.refuses() && self.fields.is_none() {
            return Begun { plan: None, variables: self.variables };
        }
        let fields = self.fields.take().unwrap_or_else(|| self.plan.selection.fields.clone());
        let inputs = served.plan_inputs(limits);
        let mut plan = self.plan.changed(inputs, &self.variables, fields, &self.changed, &mut self.refused);
        if let Err(error) = check_estimate(plan.complexity.with(&self.variables), limits.max_complexity) {
            self.refused.fill(Some(error));
        }
        let refuses_all = self.plan.selection.kind == OperationKind::Mutation && self.refuses();
        for (number, refused) in self.refused.iter_mut().enumerate() {
            let refused = refused
                .take()
                .or_else(|| refuses_all.then(|| not_executed(&self.plan.selection.fields[number])));
            if let Some(error) = refused {
                plan.steps[number] = Step::answered(FieldResult::failed(error));
            }
        }
        Begun { plan: Some(plan), variables: self.variables }
    }

    fn refuses(&self) -> bool {
        self.refused.iter().any(Option::is_some)
    }
}

/// Of a mutation, of which another field was refused.
fn not_executed(field: &Field) -> GraphqlError {
    let message = "nothing was executed, because another field of the mutation was refused";
    GraphqlError::new(ErrorCode::Forbidden, message).of_field(&field.response_key, field.position)
}
