//! Errors: what a function gives back for a client to read, and why a schema cannot be served.

use std::fmt;

use prony_graphql::error::{ErrorCode, GraphqlError};
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// What clients read of a failure whose own text is not for them.
pub(crate) const MASKED: &str = "the field could not be answered";

/// Why a field has no value.
///
/// [`Error::new`] makes one for clients to read. Every error of the standard library's kind becomes one through
/// `?`; its text goes to the log only, and clients see a masked message with a reference to the log's line.
pub struct Error {
    message: String,
    detail: Option<String>,
    extensions: Map<String, Json>,
}

impl Error {
    /// An error whose message clients see.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), detail: None, extensions: Map::new() }
    }

    /// The word that clients match on, as `extensions.code`.
    #[must_use]
    pub fn code(self, code: &str) -> Self {
        self.extension("code", code)
    }

    /// One more entry of the error's `extensions`. A value that is no JSON is left out.
    #[must_use]
    pub fn extension(mut self, key: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.extensions.insert(key.to_owned(), value);
        }
        self
    }

    /// A failure of ours: the text is for the log.
    pub(crate) fn masked(detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::new(MASKED) }
    }

    pub(crate) fn to_graphql(&self) -> GraphqlError {
        let mut error = GraphqlError::new(ErrorCode::SourceFailed, self.message.clone());
        error.detail.clone_from(&self.detail);
        if !self.extensions.is_empty() {
            error.extensions = Some(Box::new(self.extensions.clone()));
        }
        error
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        Self::masked(text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.detail.as_deref().unwrap_or(&self.message))
    }
}

/// One thing that keeps a schema from being served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Fault {
    /// `Query.donut`, `@toUpper`, or the line of the schema.
    pub place: String,
    pub message: String,
}

/// Everything that keeps a schema from being served, found at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.0.push(Fault { place: place.into(), message: message.into() });
    }
}

/// One a line, after a line that counts them.
impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        let noun = if count == 1 { "fault" } else { "faults" };
        write!(formatter, "schema and functions do not fit, {count} {noun}:")?;
        self.0.iter().try_for_each(|fault| write!(formatter, "\n  {fault}"))
    }
}
