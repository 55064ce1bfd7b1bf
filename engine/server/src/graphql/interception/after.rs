//! What is called after fields have been executed, and the results that come of it.

use prony_graphql::{
    completion::complete,
    error::GraphqlError,
    response::FieldResult,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::interceptors::InterceptorPhase;
use serde_json::Value as Json;

use super::{
    calls::{arguments, failed},
    fields::{InterceptedField, Interception},
    rows::RowsBefore,
};
use crate::graphql::{roles::Asker, served::Served};

/// What is known of an operation that has been executed.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct ExecutedOperation<'e> {
    pub(in crate::graphql) served: &'e Served,
    pub(in crate::graphql) kind: OperationKind,
    pub(in crate::graphql) fields: &'e [Field],
    pub(in crate::graphql) variables: &'e Variables,
    pub(in crate::graphql) asker: Option<&'e Asker>,
    pub(in crate::graphql) rows: &'e RowsBefore,
}

impl Interception {
    /// Calls what is called after, with each result that there is.
    pub(in crate::graphql) async fn end(&self, executed: ExecutedOperation<'_>, results: &mut [FieldResult]) {
        for (number, result) in results.iter_mut().enumerate() {
            let is_called = |(_, field): &(usize, &InterceptedField)| {
                field.root() == number && field.chain.iter().any(|chained| chained.module.has_after)
            };
            let called: Vec<(usize, &InterceptedField)> =
                self.fields.iter().enumerate().filter(is_called).collect();
            if called.is_empty() {
                continue;
            }
            let Some(data) = result.data.take() else { continue };
            match self.after(executed, &called, number, data).await {
                Ok(data) => result.data = Some(data),
                Err(error) => {
                    let root = &executed.fields[number];
                    result.errors.push(error.of_field(&root.response_key, root.position));
                }
            }
        }
    }

    /// Those within others first, the modules of each in the opposite order of `before`.
    async fn after(
        &self,
        executed: ExecutedOperation<'_>,
        called: &[(usize, &InterceptedField)],
        number: usize,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, GraphqlError> {
        let chained = called[0].1.chain.iter().rfind(|chained| chained.module.has_after);
        let paths = chained.map_or("", |chained| &chained.path);
        let nonsense = |what: &str| failed(paths, InterceptorPhase::After, what);
        let mut value: Json = serde_json::from_slice(&data)
            .map_err(|error| nonsense(&format!("the source gave no JSON: {error}")))?;
        for &(place, field) in called.iter().rev() {
            let path = field.path(executed.fields);
            let own = path[path.len() - 1];
            let row = executed.rows.of(place, field);
            let mut context = self.context(field, row, executed.kind, &path, executed.asker);
            context.insert("arguments".to_owned(), Json::Object(arguments(own, executed.variables)));
            let mut places = Vec::new();
            let keys: Vec<&str> = path[1..].iter().map(|field| field.response_key.as_str()).collect();
            collect(&mut value, &keys, &mut places);
            places.retain(|value| !value.is_null());
            if places.is_empty() {
                continue;
            }
            for chained in field.chain.iter().rev().filter(|chained| chained.module.has_after) {
                let values = serde_json::to_vec(&places).expect("JSON values are JSON");
                let returned = self.call(chained, InterceptorPhase::After, values, &context).await?;
                if returned.len() != places.len() {
                    return Err(failed(&chained.path, InterceptorPhase::After, "some results are missing"));
                }
                places.iter_mut().zip(returned).for_each(|(place, returned)| **place = returned);
            }
        }
        complete(&executed.served.schema, &executed.fields[number], value)
            .map_err(|what| nonsense(&format!("what it returned does not fit: {what}")))
    }
}

/// The values at the end of response keys, through lists.
fn collect<'v>(value: &'v mut Json, keys: &[&str], found: &mut Vec<&'v mut Json>) {
    let Some((key, below)) = keys.split_first() else {
        found.push(value);
        return;
    };
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| collect(item, keys, found)),
        Json::Object(members) => {
            if let Some(member) = members.get_mut(*key) {
                collect(member, below, found);
            }
        }
        _ => {}
    }
}
