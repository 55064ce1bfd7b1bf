//! Directives of the schema that change values: a function from what a field answers to what is sent.

use std::{marker::PhantomData, sync::Arc};

use prony_graphql::{selection::Value, variables::Variables};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    api::error::Error,
    execute::{guard::guarded, input::Input},
    reflect::{self, Look},
};

/// A directive's function as the engine calls it.
pub(crate) trait Apply: Send + Sync {
    fn arguments(&self) -> Option<Look>;
    /// From JSON that is not null to JSON.
    fn apply(&self, json: &[u8], arguments: &Value, variables: &Variables) -> Result<Vec<u8>, Error>;
}

struct Change<F, T, A, R> {
    name: String,
    function: F,
    types: Types<T, A, R>,
}

type Types<T, A, R> = PhantomData<fn() -> (T, A, R)>;

/// Wraps `Fn(value, arguments) -> value`.
pub(crate) fn wrap<F, T, A, R>(name: &str, function: F) -> Arc<dyn Apply>
where
    F: Fn(T, A) -> R + Send + Sync + 'static,
    T: DeserializeOwned + 'static,
    A: DeserializeOwned + 'static,
    R: Serialize + 'static,
{
    Arc::new(Change { name: name.to_owned(), function, types: PhantomData })
}

impl<F, T, A, R> Apply for Change<F, T, A, R>
where
    F: Fn(T, A) -> R + Send + Sync,
    T: DeserializeOwned,
    A: DeserializeOwned,
    R: Serialize,
{
    fn arguments(&self) -> Option<Look> {
        reflect::arguments::<A>()
    }

    fn apply(&self, json: &[u8], arguments: &Value, variables: &Variables) -> Result<Vec<u8>, Error> {
        let unfit = |what: &str, error: &serde_json::Error| {
            let text = error.to_string();
            // It ends with a place in a text that nobody sees.
            let text = text.split(" at line ").next().unwrap_or_default();
            Error::new(format!("@{} does not fit {what}: {text}", self.name)).code("BAD_USER_INPUT")
        };
        let value = serde_json::from_slice(json).map_err(|error| unfit("the field's value", &error))?;
        let arguments = A::deserialize(Input::new(arguments, variables))
            .map_err(|error| unfit("its arguments", &error))?;
        let changed = guarded(|| (self.function)(value, arguments))
            .map_err(|error| Error::masked(error.detail.unwrap_or(error.message)))?;
        Ok(serde_json::to_vec(&changed)?)
    }
}
