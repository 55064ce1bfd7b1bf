//! How a request ended, in terms that every protocol can say in its own way: HTTP by a status and headers, WebSockets by a
//! message, a host program by a text.

use std::sync::Arc;

use bytes::Bytes;
use prony_access::OperationRefusal;
use prony_graphql::{
    budget::ResponseBudget,
    error::{ErrorCode, GraphqlError},
    request::RequestFault,
    selection::OperationKind,
};
use prony_source::ContentCoding;
use serde_json::value::RawValue;

use super::{reuse::KeptResponse, stages::StageTimes};
use crate::observe::OutcomeKind;

/// A response body with what protocols need to know of it.
#[derive(Debug)]
pub(crate) struct Response<B = ResponseBody> {
    pub(crate) outcome: Outcome,
    /// Empty where the outcome is a [`RequestError`] that each protocol words in its own way.
    pub(crate) body: B,
    /// In which the body is.
    pub(crate) coding: ContentCoding,
    /// What the body is kept as, where it is.
    pub(crate) kept: Option<Arc<KeptResponse>>,
    pub(crate) seen: Seen,
    pub(crate) times: StageTimes,
}

/// What has become known of a request; none where it did not come so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) kind: Option<OperationKind>,
    /// The estimate that `max_complexity` limits.
    pub(crate) cost: Option<u64>,
}

/// The bytes of a response, which count until they are sent.
#[derive(Debug, Clone)]
pub(crate) struct ResponseBody {
    pub(crate) bytes: Bytes,
    /// Kept as long as the bytes are; none where nothing is counted.
    pub(crate) budget: Option<Arc<ResponseBudget>>,
    /// Another server may have written them, and nobody has read them since.
    pub(crate) is_unread: bool,
}

impl ResponseBody {
    /// Whether it can be a part of a message. What is no JSON would have that mean something else, also for other operations.
    pub(crate) fn fits_message(&self) -> bool {
        !self.is_unread || serde_json::from_slice::<&RawValue>(&self.bytes).is_ok()
    }
}

/// What counts the bytes of a response that were copied, until they are sent; none where they are few.
pub(crate) type HeldBytes = Option<Arc<ResponseBudget>>;

/// Responses of fewer bytes are not counted once they are copied: a connection has room for them.
const HELD_BYTES_MIN: usize = 16 << 10;

pub(crate) fn held_by(budget: &Arc<ResponseBudget>) -> HeldBytes {
    (budget.used_bytes() >= HELD_BYTES_MIN).then(|| Arc::clone(budget))
}

impl AsRef<[u8]> for ResponseBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<ResponseBody> for Bytes {
    fn from(body: ResponseBody) -> Self {
        // Most have nothing that counts.
        let counts = body.budget.as_ref().is_some_and(|budget| budget.used_bytes() > 0);
        if counts { Self::from_owner(body) } else { body.bytes }
    }
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The body holds `data`.
    Executed { errors: bool },
    /// The body holds errors alone, because a source is asked for more than it has room for.
    Overloaded,
    /// Nothing was executed.
    Refused(RequestError),
}

/// Why nothing was executed.
#[derive(Debug, Clone)]
pub(crate) enum RequestError {
    /// The request is no GraphQL request.
    Unreadable(RequestFault),
    /// This kind of operation does not come in this way.
    NotAllowed,
    /// Who asks lacks a scope, or has reached a limit.
    Denied(OperationRefusal),
    /// The document, its variables, or who asks; in words for the client, the log has been told.
    Invalid(Vec<GraphqlError>),
}

impl Outcome {
    /// How the metrics count it.
    pub(crate) fn counted(&self) -> OutcomeKind {
        match self {
            Self::Executed { errors: false } => OutcomeKind::Success,
            Self::Executed { errors: true } | Self::Overloaded => OutcomeKind::FieldErrors,
            Self::Refused(RequestError::Invalid(_) | RequestError::Denied(_)) => OutcomeKind::Refused,
            Self::Refused(RequestError::Unreadable(_) | RequestError::NotAllowed) => OutcomeKind::BadRequest,
        }
    }
}

impl RequestError {
    /// In the form of errors, for protocols that have no other way of saying it. `not_allowed` says what to do instead.
    pub(crate) fn into_errors(self, not_allowed: &str) -> Vec<GraphqlError> {
        match self {
            Self::Invalid(errors) => errors,
            Self::Denied(OperationRefusal::Scope(refusal)) => {
                vec![GraphqlError::new(ErrorCode::Forbidden, refusal.message())]
            }
            Self::Denied(OperationRefusal::Limit(state)) => {
                vec![GraphqlError::new(ErrorCode::TooManyRequests, state.refusal())]
            }
            Self::Denied(refusal @ OperationRefusal::Unreachable) => {
                vec![GraphqlError::new(ErrorCode::Overloaded, refusal.to_string())]
            }
            Self::Unreadable(fault) => vec![fault.into()],
            Self::NotAllowed => vec![GraphqlError::new(ErrorCode::BadUserInput, not_allowed)],
        }
    }
}
