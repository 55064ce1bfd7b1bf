//! Why a request has no success: statuses, and bodies in the forms of QuantumLeap.

use std::borrow::Cow;

use http::StatusCode;
use prony_graphql::json::{ObjectText, write_string};
use prony_series_store::{LogError, ReadError, Refusal};
use prony_source::http_api::ApiResponse;

pub(crate) const JSON: &str = "application/json";

/// Why a request is not done.
#[derive(Debug)]
pub(crate) enum Fault {
    /// As its framework writes what does not fit its description: `detail`, `status`, `title`, `type`.
    Problem { status: StatusCode, detail: Cow<'static, str> },
    /// `error` and `description`.
    Described { status: StatusCode, error: &'static str, description: Cow<'static, str> },
    /// As both versions of `InfluxDB` say what is wrong with a body of lines.
    Line { message: Cow<'static, str> },
    /// A text.
    Text { status: StatusCode, text: Cow<'static, str> },
}

impl Fault {
    pub(crate) fn bad_request(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::Problem { status: StatusCode::BAD_REQUEST, detail: detail.into() }
    }

    /// What a role may not do.
    pub(crate) fn forbidden(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::Problem { status: StatusCode::FORBIDDEN, detail: detail.into() }
    }

    pub(crate) const fn line(message: Cow<'static, str>) -> Self {
        Self::Line { message }
    }

    /// Of a parameter, in the words of QuantumLeap.
    pub(crate) fn invalid_value(value: &str, parameter: &str) -> Self {
        Self::Described {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            error: "<class 'exceptions.exceptions.InvalidParameterValue'>",
            description: format!("The parameter value '{value}' for parameter {parameter} is not valid.")
                .into(),
        }
    }

    pub(crate) fn bad_use(description: impl Into<Cow<'static, str>>) -> Self {
        let (status, error) = (StatusCode::BAD_REQUEST, "Bad parameters use");
        Self::Described { status, error, description: description.into() }
    }

    /// A query finds more of something than there may be in memory.
    pub(crate) fn too_many(what: &str, limit: u64) -> Self {
        let text = format!(
            "the query finds more {what} than the limit of {limit}; ask for less time or fewer entities"
        );
        Self::Text { status: StatusCode::PAYLOAD_TOO_LARGE, text: text.into() }
    }

    pub(crate) fn not_implemented() -> Self {
        Self::Described {
            status: StatusCode::NOT_IMPLEMENTED,
            error: "Not implemented option",
            description: "aggrScope and options are not yet implemented.".into(),
        }
    }

    pub(crate) fn ambiguous(id: &str, status: StatusCode) -> Self {
        let error = if status == StatusCode::CONFLICT {
            "AmbiguousNGSIIdError"
        } else {
            "<class 'exceptions.exceptions.AmbiguousNGSIIdError'>"
        };
        let description =
            format!("There are multiple entities with the given entity_id {id}. Please specify entity_type.");
        Self::Described { status, error, description: description.into() }
    }

    /// The status, and what it says.
    pub(crate) fn into_parts(self) -> (StatusCode, Cow<'static, str>) {
        match self {
            Self::Problem { status, detail } => (status, detail),
            Self::Described { status, description, .. } => (status, description),
            Self::Line { message } => (StatusCode::BAD_REQUEST, message),
            Self::Text { status, text } => (status, text),
        }
    }

    pub(crate) fn write(&self, response: &mut ApiResponse) {
        match self {
            Self::Problem { status, detail } => {
                let body = response.begin_body(*status, "application/problem+json");
                let mut object = ObjectText::after(std::mem::take(body));
                object.key("detail");
                object.string(detail);
                object.key("status");
                object.json(status.as_str().as_bytes());
                object.key("title");
                object.string(status.canonical_reason().unwrap_or_default());
                object.key("type");
                object.string("about:blank");
                *body = object.end();
            }
            Self::Described { status, error, description } => {
                let body = response.begin_body(*status, JSON);
                let mut object = ObjectText::after(std::mem::take(body));
                object.key("error");
                object.string(error);
                object.key("description");
                object.string(description);
                *body = object.end();
            }
            Self::Line { message } => {
                let body = response.begin_body(StatusCode::BAD_REQUEST, JSON);
                let mut object = ObjectText::after(std::mem::take(body));
                for (key, text) in [("code", "invalid"), ("message", message), ("error", message)] {
                    object.key(key);
                    object.string(text);
                }
                *body = object.end();
            }
            Self::Text { status, text } => write_string(response.begin_body(*status, JSON), text),
        }
    }
}

/// A notification that the store refuses.
impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let text = format!("Notification not processed or not updated: {refusal}").into();
        Self::Text { status: StatusCode::BAD_REQUEST, text }
    }
}

/// A write that could not be made durable, and was taken back.
impl From<LogError> for Fault {
    fn from(error: LogError) -> Self {
        let (status, why) = taken_back(&error);
        let text = match error {
            LogError::Unknown { .. } | LogError::Broken => why.into(),
            _ => format!("Notification not processed or not updated: {why}").into(),
        };
        Self::Text { status, text }
    }
}

/// The status of a write that could not be made durable, and why.
pub(crate) fn taken_back(error: &LogError) -> (StatusCode, &'static str) {
    if let LogError::Unknown { .. } = error {
        tracing::error!(%error, cause = std::error::Error::source(error), "a write could not be synced");
        let why = "whether the write is kept is unknown until the series are opened again: the log could not be synced, and takes \
                   nothing more until then; the server's log says why";
        (StatusCode::INTERNAL_SERVER_ERROR, why)
    } else if let LogError::Broken = error {
        tracing::error!(%error, "a write was broken off");
        let why = "whether the write is kept is unknown: a fault of the server has broken off its writing; the server's log says why";
        (StatusCode::INTERNAL_SERVER_ERROR, why)
    } else if error.is_disk_full() {
        (StatusCode::INSUFFICIENT_STORAGE, "the disk is full; make room and send it again")
    } else if let LogError::Closed = error {
        (StatusCode::SERVICE_UNAVAILABLE, "the server is stopping; send it again when it is back")
    } else if let LogError::Database { .. } = error {
        tracing::warn!(%error, "a write was taken back");
        let why = "the database does not take it now; send it again; the server's log says why";
        (StatusCode::SERVICE_UNAVAILABLE, why)
    } else {
        tracing::error!(%error, cause = std::error::Error::source(error), "a write was taken back");
        (StatusCode::INTERNAL_SERVER_ERROR, "the log cannot be written; the server's log says why")
    }
}

/// Writes to the log of the server that a file cannot be read.
fn note_unreadable(error: &ReadError) {
    tracing::error!(%error, cause = std::error::Error::source(error), "rows cannot be read");
}

/// The status of rows that cannot be read, and why.
pub(crate) fn unreadable(error: &ReadError) -> (StatusCode, &'static str) {
    note_unreadable(error);
    match error {
        ReadError::Database { is_gone: true, .. } => {
            let why = "the database cannot be asked now; ask again; the server's log says why";
            (StatusCode::SERVICE_UNAVAILABLE, why)
        }
        ReadError::Database { is_gone: false, .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "the database has refused it; the server's log says why")
        }
        ReadError::File { .. } | ReadError::Damaged { .. } => {
            let why = "a file of the store cannot be read; the server's log says why";
            (StatusCode::INTERNAL_SERVER_ERROR, why)
        }
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        let (status, why) = unreadable(&error);
        Self::Text { status, text: format!("Something went wrong with QL. Error: {why}").into() }
    }
}
