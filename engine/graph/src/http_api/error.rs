//! Why a call has no success: RageDB's statuses and texts, without a charset and, where there is nothing to say, without a
//! body.

use std::borrow::Cow;

use http::StatusCode;
use prony_graph_store::{LogError, Refusal};
use prony_source::http_api::ApiResponse;

use super::json::JSON;
use crate::databases::settle;

/// Said of a write that was not begun.
pub(super) const DISK_FULL: &str =
    "the disk is full: the write was not made; delete something or make room, and send it again";

/// Why a call is not done.
#[derive(Debug)]
pub(super) enum CallError {
    /// The path names no call of this method.
    UnknownRoute,
    NotFound,
    NotModified,
    BadRequest(Cow<'static, str>),
    /// The call would write, and nothing may be.
    ReadOnly,
    /// The role may not write this.
    Forbidden(Cow<'static, str>),
    /// The write was accepted and could not be made durable.
    NotDurable(LogError),
    /// What was read is not known to be durable.
    ReadNotDurable(LogError),
    /// The write was not made, as there is no room; deletions are.
    DiskFull,
    /// The text is for clients; the log has the rest.
    Failed(Cow<'static, str>),
}

impl CallError {
    pub(super) fn write(&self, response: &mut ApiResponse) {
        match self {
            Self::UnknownRoute => {
                let body = response.begin_body(StatusCode::NOT_FOUND, JSON);
                body.extend_from_slice(b"{\"message\": \"Not found\", \"code\": 404}");
            }
            Self::NotFound => response.set_empty(StatusCode::NOT_FOUND),
            Self::NotModified => response.set_empty(StatusCode::NOT_MODIFIED),
            Self::BadRequest(text) => response.set_json_text(StatusCode::BAD_REQUEST, text),
            Self::ReadOnly => {
                response
                    .set_json_text(StatusCode::FORBIDDEN, "the graph is served for reading only (read_only)");
            }
            Self::Forbidden(text) => response.set_json_text(StatusCode::FORBIDDEN, text),
            Self::NotDurable(error) => {
                let (status, text) = durability_fault(error);
                response.set_json_text(status, text);
            }
            Self::ReadNotDurable(error) => {
                let (status, text) = read_fault(error);
                response.set_json_text(status, text);
            }
            Self::DiskFull => response.set_json_text(StatusCode::INSUFFICIENT_STORAGE, DISK_FULL),
            Self::Failed(text) => response.set_json_text(StatusCode::INTERNAL_SERVER_ERROR, text),
        }
    }
}

/// A creation that the store refuses.
pub(super) fn not_created(refusal: &Refusal) -> CallError {
    match refusal {
        Refusal::DiskFull => CallError::DiskFull,
        Refusal::TooLong { .. } | Refusal::TooMany { .. } => {
            CallError::BadRequest(refusal.to_string().into())
        }
        _ => CallError::BadRequest("Invalid Request".into()),
    }
}

/// A change that the store refuses.
pub(super) fn not_changed(refusal: &Refusal) -> CallError {
    match refusal {
        Refusal::DiskFull => CallError::DiskFull,
        Refusal::TooLong { .. } | Refusal::TooMany { .. } => {
            CallError::BadRequest(refusal.to_string().into())
        }
        _ => CallError::NotModified,
    }
}

/// What a client is responded with who has read what is not known to be durable: the statuses are those of the write that was read.
pub(super) fn read_fault(error: &LogError) -> (StatusCode, &'static str) {
    let status = match error {
        LogError::Closed => StatusCode::SERVICE_UNAVAILABLE,
        LogError::Write { .. } | LogError::Database { .. } if error.is_disk_full() => {
            StatusCode::INSUFFICIENT_STORAGE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, settle::not_durable(error))
}

/// What a client is responded with whose write could not be made durable.
pub(super) fn durability_fault(error: &LogError) -> (StatusCode, &'static str) {
    if let LogError::Broken = error {
        tracing::error!(%error, "a write was broken off");
        let text = "a fault of the server has broken off the writing of the log: whether the write is kept is unknown until the graph is \
                    opened again, and nothing more is written until then; the server's log says why";
        return (StatusCode::INTERNAL_SERVER_ERROR, text);
    }
    if let LogError::Unknown { .. } = error {
        tracing::error!(%error, cause = std::error::Error::source(error), "a write could not be synced");
        let text = "the log could not be synced: whether the write is kept is unknown until the graph is opened again, and nothing more \
                    is written until then; the server's log says why";
        return (StatusCode::INTERNAL_SERVER_ERROR, text);
    }
    if error.is_disk_full() {
        let text = "the disk is full: the write was taken back; make room and send it again";
        return (StatusCode::INSUFFICIENT_STORAGE, text);
    }
    match error {
        LogError::Closed => {
            let text = "the server is stopping: the write was not made; send it again when it is back";
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        LogError::Suspect { .. } => {
            let text = "the log has failed before and takes nothing more until the graph is opened again: the write was not made; the \
                        server's log says why";
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        }
        error @ (LogError::Write { .. }
        | LogError::Unknown { .. }
        | LogError::Broken
        | LogError::Database { .. }) => {
            tracing::error!(%error, cause = std::error::Error::source(error), "a write was taken back");
            let text = "the log cannot be written: the write was taken back; the server's log says why";
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}
