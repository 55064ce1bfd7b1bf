//! Why a request has no success, as problem details (RFC 7807) with the types of NGSI-LD (ETSI GS CIM 009, clauses 5.5.2 and 6.3.2).

use std::borrow::Cow;

use http::StatusCode;
use prony_graphql::json::ObjectText;
use prony_series_store::{LogError, ReadError, Refusal};
use prony_source::http_api::ApiResponse;

use crate::query::fault::{Fault, taken_back, unreadable};

const TYPES: &str = "https://uri.etsi.org/ngsi-ld/errors/";

/// What kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// The body is no JSON.
    InvalidRequest,
    BadRequestData,
    ResourceNotFound,
    OperationNotSupported,
    TooComplexQuery,
    TooManyResults,
    InternalError,
    /// NGSI-LD has no type for it.
    Status(StatusCode),
}

/// Why a request is not done.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    detail: Cow<'static, str>,
}

impl ProblemKind {
    /// Status, name and title.
    fn parts(self) -> (StatusCode, Option<&'static str>, &'static str) {
        match self {
            Self::InvalidRequest => (StatusCode::BAD_REQUEST, Some("InvalidRequest"), "Invalid request"),
            Self::BadRequestData => (StatusCode::BAD_REQUEST, Some("BadRequestData"), "Bad request data"),
            Self::ResourceNotFound => (StatusCode::NOT_FOUND, Some("ResourceNotFound"), "Resource not found"),
            Self::OperationNotSupported => {
                (StatusCode::UNPROCESSABLE_ENTITY, Some("OperationNotSupported"), "Operation not supported")
            }
            Self::TooComplexQuery => (StatusCode::FORBIDDEN, Some("TooComplexQuery"), "Too complex query"),
            Self::TooManyResults => (StatusCode::FORBIDDEN, Some("TooManyResults"), "Too many results"),
            Self::InternalError => {
                (StatusCode::INTERNAL_SERVER_ERROR, Some("InternalError"), "Internal error")
            }
            Self::Status(status) => (status, None, status.canonical_reason().unwrap_or_default()),
        }
    }
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, detail: detail.into() }
    }

    pub(crate) fn bad_data(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemKind::BadRequestData, detail)
    }

    pub(crate) fn write(&self, response: &mut ApiResponse) {
        let (status, name, title) = self.kind.parts();
        let body = response.begin_body(status, "application/problem+json");
        let mut object = ObjectText::after(std::mem::take(body));
        object.key("type");
        object.string(&name.map_or_else(|| "about:blank".to_owned(), |name| format!("{TYPES}{name}")));
        object.key("title");
        object.string(title);
        object.key("detail");
        object.string(&self.detail);
        object.key("status");
        object.json(status.as_str().as_bytes());
        *body = object.end();
    }
}

/// What the calls of version 2 refuse in the same way.
impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let (status, detail) = fault.into_parts();
        let kind = match status {
            StatusCode::BAD_REQUEST => ProblemKind::BadRequestData,
            StatusCode::NOT_FOUND => ProblemKind::ResourceNotFound,
            StatusCode::INTERNAL_SERVER_ERROR => ProblemKind::InternalError,
            status => ProblemKind::Status(status),
        };
        Self { kind, detail }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::bad_data(refusal.to_string())
    }
}

impl From<LogError> for Problem {
    fn from(error: LogError) -> Self {
        let (status, why) = taken_back(&error);
        Self::new(ProblemKind::Status(status), why)
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let (status, why) = unreadable(&error);
        let kind = if status == StatusCode::INTERNAL_SERVER_ERROR {
            ProblemKind::InternalError
        } else {
            ProblemKind::Status(status)
        };
        Self::new(kind, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of errors, `docs/errors.md`, has each type with its status.
    #[test]
    fn all_types_are_on_the_page() {
        let page = include_str!("../../../../docs/errors.md");
        let (_, table) =
            page.split_once("| type of NGSI-LD | status |\n|---|---|\n").expect("the table begins");
        let row = |kind: ProblemKind| {
            let (status, name, _) = kind.parts();
            name.map(|name| format!("| `{name}` | {} |", status.as_u16()))
        };
        let kinds = [
            ProblemKind::InvalidRequest,
            ProblemKind::BadRequestData,
            ProblemKind::ResourceNotFound,
            ProblemKind::OperationNotSupported,
            ProblemKind::TooComplexQuery,
            ProblemKind::TooManyResults,
            ProblemKind::InternalError,
        ];
        let rows: Vec<String> = kinds.into_iter().filter_map(row).collect();
        let listed: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        assert_eq!(listed, rows);
    }
}
