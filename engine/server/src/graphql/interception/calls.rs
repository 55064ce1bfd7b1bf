//! Calls of functions for one operation: what they are told of it, and what becomes of what they return.

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::{
    interceptors::{InterceptorCall, InterceptorError, InterceptorPhase},
    trace::in_detached_span,
};
use serde_json::{Map, Value as Json, json};

use super::{
    fields::{InterceptedField, Interception},
    index::ChainedModule,
};
use crate::graphql::{roles::Asker, spans};

impl Interception {
    /// What functions are told beside their first argument. `row` is the one that is changed or deleted, as it was before.
    pub(super) fn context(
        &self,
        field: &InterceptedField,
        row: Option<&Json>,
        kind: OperationKind,
        path: &[&Field],
        asker: Option<&Asker>,
    ) -> Map<String, Json> {
        let own = path.last().expect("a path has its field");
        let keys: Vec<&str> = path.iter().map(|field| field.response_key.as_str()).collect();
        let described = json!({
            "operation": field.operation.name(),
            "kind": kind.to_string(),
            "source": self.index.source_names[usize::from(field.source.0)],
            "table": field.table,
            "field": own.name.as_str(),
            "path": keys,
        });
        let Json::Object(mut context) = described else { unreachable!("it is written as an object") };
        let identity = asker.map(|asker| &asker.identity);
        let role = asker.map(|asker| &*asker.roles.role(asker.identity.role).name);
        context.insert("role".to_owned(), role.into());
        context.insert("user".to_owned(), identity.and_then(|known| known.subject.as_deref()).into());
        let scopes = identity.map_or(&[][..], |identity| identity.scopes.iter_sorted());
        context.insert("scopes".to_owned(), scopes.iter().map(|scope| Json::from(&**scope)).collect());
        let names = asker.map(|asker| asker.roles.settings.names.names());
        let session = names.into_iter().flatten().enumerate().map(|(index, name)| {
            let value = identity.and_then(|identity| identity.session.get(index)).cloned();
            (name.to_owned(), value.unwrap_or_default())
        });
        context.insert("session".to_owned(), Json::Object(session.collect()));
        if let Some(row) = row {
            context.insert("row".to_owned(), row.clone());
        }
        context
    }

    /// Calls a function for each value of a list, JSON text as what it returns.
    ///
    /// # Errors
    /// For the client, with what the log has to know.
    pub(super) async fn call(
        &self,
        chained: &ChainedModule,
        phase: InterceptorPhase,
        values: Vec<u8>,
        context: &Map<String, Json>,
    ) -> Result<Vec<Json>, GraphqlError> {
        let count_of = |values: &Json| values.as_array().map(Vec::len);
        let context = serde_json::to_vec(context).expect("JSON values are JSON");
        let call = InterceptorCall { module: chained.module.id, phase, values, context };
        let span = spans::begin_interceptor(&chained.path, phase);
        let called = self.index.runtime.call(call);
        let returned = in_detached_span(span, called, |span, returned| match returned {
            Ok(_) => {}
            // What its words and code are, the module chooses.
            Err(InterceptorError::Refused { .. }) => span.fail(ErrorCode::Forbidden.as_str()),
            Err(_) => span.fail(ErrorCode::InterceptorFailed.as_str()),
        });
        let returned = returned.await.map_err(client_error)?;
        let returned = serde_json::from_slice(&returned);
        let returned: Json = returned
            .map_err(|error| failed(&chained.path, phase, &format!("no JSON came of it: {error}")))?;
        match (count_of(&returned), returned) {
            (Some(_), Json::Array(values)) => Ok(values),
            _ => Err(failed(&chained.path, phase, "no list came of it")),
        }
    }
}

/// Arguments of a field as functions get them.
pub(super) fn arguments(field: &Field, variables: &Variables) -> Map<String, Json> {
    let arguments = field.arguments.iter();
    arguments.map(|(name, value)| (name.to_string(), value.resolve(variables))).collect()
}

/// What a client sees of a function that has failed: nothing of its inside.
pub(super) fn failed(path: &str, phase: InterceptorPhase, what: &str) -> GraphqlError {
    failure(format!("{path}: {}: {what}", phase.name()))
}

fn failure(detail: String) -> GraphqlError {
    GraphqlError::new(ErrorCode::InterceptorFailed, "an interceptor of this field has failed")
        .with_detail(detail)
}

fn client_error(error: InterceptorError) -> GraphqlError {
    match error {
        InterceptorError::Refused { message, code } => {
            let mut error = GraphqlError::new(ErrorCode::Forbidden, message);
            if let Some(code) = code {
                error.extensions.get_or_insert_default().insert("code".to_owned(), code.into());
            }
            error
        }
        InterceptorError::Overloaded { .. } => {
            let message = "too many calls of interceptors wait; try again later";
            GraphqlError::new(ErrorCode::InterceptorFailed, message).with_detail(error.to_string())
        }
        InterceptorError::Failed(text) => failure(text),
    }
}
