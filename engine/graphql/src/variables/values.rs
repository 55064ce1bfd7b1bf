//! Coerced values of one request, and values of documents with their slots filled by them.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::{
    budget::ResponseBudget,
    request::Caller,
    variables::{
        Authority, RequestClient,
        value::{Slot, SlotRoot, Step, Value},
    },
};

/// Coerced values in the order of the operation's variable definitions; `None` where a variable was neither
/// given nor has a default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variables {
    values: Vec<Option<Json>>,
    /// Travels with them, because whoever gets the values of a request may want to know whose they are.
    caller: Option<Caller>,
    /// What is known of who asks, by index; shared by the requests of a session.
    session: Option<Arc<[Json]>>,
    /// What is granted to who asks; none where no field wants to know it.
    authority: Option<Arc<Authority>>,
    /// By index, where sources want to know them.
    session_names: Option<Arc<[Box<str>]>>,
    /// What only the source knows, such as the row of an event.
    given: Vec<Json>,
    /// Headers of the request that sources want to know.
    headers: Option<ForwardedHeaders>,
    /// Of the request, as JSON, where they are for the source that executes all of it.
    extensions: Option<Arc<str>>,
    /// The variables as JSON, as they were sent, for the same source, where a number of theirs has more digits than are kept.
    sent: Option<Arc<str>>,
    aside: Aside,
}

/// Headers of a request that sources want to know: names in lower case, and values as they came.
pub type ForwardedHeaders = Arc<[(Box<str>, Box<[u8]>)]>;

/// Of W3C Trace Context: each request has its own, and what is responded does not depend on them.
pub const TRACE_HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// Whether responses may depend on the request's header of this name, which is in lower case.
pub fn varies_responses(header: &str) -> bool {
    !TRACE_HEADERS.contains(&header)
}

/// What is no part of what is asked: equal values are equal whatever it is.
#[derive(Debug, Clone, Default)]
struct Aside {
    /// What the response may have.
    budget: Option<Arc<ResponseBudget>>,
    client: RequestClient,
}

impl PartialEq for Aside {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Variables {
    pub fn new(values: Vec<Option<Json>>) -> Self {
        Self { values, ..Self::default() }
    }

    /// The same with values of the source's own, for slots that begin at [`SlotRoot::Given`].
    #[must_use]
    pub fn with_given(&self, given: Vec<Json>) -> Self {
        Self { given, ..self.clone() }
    }

    /// The same with one more value behind those of the operation, which a slot finds by its index.
    #[must_use]
    pub fn with_another(&self, value: Json) -> Self {
        let mut more = self.clone();
        more.values.push(Some(value));
        more
    }

    /// The same with the session's variables, for slots that begin at [`SlotRoot::Session`].
    #[must_use]
    pub fn with_session(self, session: Arc<[Json]>) -> Self {
        Self { session: Some(session), ..self }
    }

    /// The same, with what is granted to who asks.
    #[must_use]
    pub fn with_authority(self, authority: Option<Arc<Authority>>) -> Self {
        Self { authority, ..self }
    }

    /// What is granted to who asks, where fields want to know it.
    pub fn authority(&self) -> Option<&Arc<Authority>> {
        self.authority.as_ref()
    }

    /// The same with the names of the session's variables.
    #[must_use]
    pub fn with_session_names(self, names: Arc<[Box<str>]>) -> Self {
        Self { session_names: Some(names), ..self }
    }

    /// The session's variable of this name; none where it is not known.
    pub fn session_value(&self, name: &str) -> Option<&Json> {
        let index = self.session_names.as_ref()?.iter().position(|known| **known == *name)?;
        self.session.as_ref()?.get(index)
    }

    /// The same, with who asks.
    #[must_use]
    pub fn asked_by(self, caller: Caller) -> Self {
        Self { caller: Some(caller), ..self }
    }

    /// The same, with headers of the request.
    #[must_use]
    pub fn with_headers(self, headers: ForwardedHeaders) -> Self {
        Self { headers: Some(headers), ..self }
    }

    /// The same, with extensions of the request, an object as JSON, for the source that executes all of it.
    #[must_use]
    pub fn with_extensions(self, extensions: Option<Arc<str>>) -> Self {
        Self { extensions, ..self }
    }

    /// The same, with the variables as they were sent, an object as JSON, for the source that executes all of the operation.
    #[must_use]
    pub fn with_sent(self, sent: Option<Arc<str>>) -> Self {
        Self { sent, ..self }
    }

    /// The variables as they were sent, where numbers of theirs have more digits than are kept of them.
    pub fn sent(&self) -> Option<&str> {
        self.sent.as_deref()
    }

    /// Extensions of the request, as JSON.
    pub fn extensions(&self) -> Option<&str> {
        self.extensions.as_deref()
    }

    /// Headers of the request that sources want to know.
    pub fn headers(&self) -> &[(Box<str>, Box<[u8]>)] {
        self.headers.as_deref().unwrap_or_default()
    }

    /// Of these the ones on which responses may depend.
    pub fn varying_headers(&self) -> impl Iterator<Item = &(Box<str>, Box<[u8]>)> {
        self.headers().iter().filter(|(name, _)| varies_responses(name))
    }

    /// The same, with what the response may have.
    #[must_use]
    pub fn with_budget(self, budget: Option<Arc<ResponseBudget>>) -> Self {
        let aside = Aside { budget, ..self.aside };
        Self { aside, ..self }
    }

    /// The same, of this client.
    #[must_use]
    pub fn with_client(self, client: RequestClient) -> Self {
        let aside = Aside { client, ..self.aside };
        Self { aside, ..self }
    }

    /// Whose turn it is where many wait.
    pub fn client(&self) -> &RequestClient {
        &self.aside.client
    }

    /// What the response may have, all root fields together; none where each is bounded by itself alone.
    pub fn budget(&self) -> Option<&Arc<ResponseBudget>> {
        self.aside.budget.as_ref()
    }

    /// Who asks, where functions want to know it.
    pub fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// Adds a value behind those of the operation's definitions.
    pub(super) fn push(&mut self, value: Json) {
        self.values.push(Some(value));
    }

    /// All values, in the order of the operation's definitions.
    pub fn values(&self) -> &[Option<Json>] {
        &self.values
    }

    /// The value of the variable with this index among the operation's definitions.
    pub fn value(&self, index: usize) -> Option<&Json> {
        self.values.get(index)?.as_ref()
    }

    /// The value at a slot; `None` where the path does not exist.
    pub fn get(&self, slot: &Slot) -> Option<&Json> {
        let mut value = match slot.root {
            SlotRoot::Variable(index) => self.value(index)?,
            SlotRoot::Session(index) => self.session.as_ref()?.get(index)?,
            SlotRoot::Given(index) => self.given.get(index)?,
        };
        for step in &slot.path {
            value = match step {
                Step::Key(key) => value.get(key.as_str())?,
                Step::Index(index) => value.get(index)?,
            };
        }
        Some(value)
    }
}

impl Value {
    /// The value with all slots filled.
    pub fn resolve(&self, variables: &Variables) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Boolean(value) => Json::Bool(*value),
            Self::Enum(name) => Json::String(name.to_string()),
            Self::Scalar(value) => value.clone(),
            Self::Slot(slot) => variables.get(slot).cloned().unwrap_or(Json::Null),
            Self::List(items) => Json::Array(items.iter().map(|item| item.resolve(variables)).collect()),
            Self::Object(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.to_string(), value.resolve(variables))).collect(),
            ),
        }
    }

    /// Whether a variable of the session that it is, or has in a list, is null or not known.
    pub fn lacks_session(&self, variables: &Variables) -> bool {
        match self {
            Self::Slot(slot) => {
                matches!(slot.root, SlotRoot::Session(_)) && variables.get(slot).is_none_or(Json::is_null)
            }
            Self::List(items) => items.iter().any(|item| item.lacks_session(variables)),
            _ => false,
        }
    }
}
