//! Answers of the graph's calls: RageDB's statuses and texts, without a charset and, where a call has nothing to say,
//! without a body; and how they go out.

use std::{
    borrow::Cow,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, StatusCode, header};
use prony_graph::databases::settle::Waiting;
use prony_graph_store::{Read, Refusal, WriteError};
use prony_graphql::json::write_string;

use super::pieces::{Long, Pieces};
use crate::http::{
    reply::{Reply, empty, in_pieces, reply},
    simple::response,
};

const JSON: &str = "application/json";

/// What a call answers: small enough to be handed from one to the other.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    body: Body,
    /// What is left of a body that was not read would be taken for the next request.
    closes: bool,
}

/// JSON, where there is any.
#[derive(Debug)]
enum Body {
    None,
    Whole(Cow<'static, [u8]>),
    Pieces(Box<Long>),
}

impl Answer {
    /// A status alone.
    pub(super) const fn bare(status: StatusCode) -> Self {
        Self { status, body: Body::None, closes: false }
    }

    pub(super) fn with(status: StatusCode, body: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { status, body: Body::Whole(body.into()), closes: false }
    }

    pub(super) fn ok(body: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::with(StatusCode::OK, body)
    }

    /// Whole, where its first piece is its last.
    pub(super) fn in_pieces(read: &Read, mut pieces: Pieces) -> Self {
        let (first, has_more) = pieces.begin(read);
        if !has_more {
            return Self::ok(first);
        }
        let long = Box::new(Long { first, pieces });
        Self { status: StatusCode::OK, body: Body::Pieces(long), closes: false }
    }

    pub(super) fn created(body: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::with(StatusCode::CREATED, body)
    }

    /// The text as a JSON string.
    pub(super) fn said(status: StatusCode, text: &str) -> Self {
        let mut body = Vec::with_capacity(text.len() + 2);
        write_string(&mut body, text);
        Self::with(status, body)
    }

    pub(super) fn bad(text: &str) -> Self {
        Self::said(StatusCode::BAD_REQUEST, text)
    }

    pub(super) const fn unknown_route() -> Self {
        let body = b"{\"message\": \"Not found\", \"code\": 404}";
        Self { status: StatusCode::NOT_FOUND, body: Body::Whole(Cow::Borrowed(body)), closes: false }
    }

    /// The body where there is one, else a 404 without one.
    pub(super) fn found(body: Option<Vec<u8>>) -> Self {
        body.map_or(Self::bare(StatusCode::NOT_FOUND), Self::ok)
    }

    pub(super) const fn and_close(mut self) -> Self {
        self.closes = true;
        self
    }

    pub(super) fn into_reply(self) -> Reply {
        const TYPE: HeaderValue = HeaderValue::from_static(JSON);
        let mut response = match self.body {
            Body::Whole(Cow::Borrowed(body)) => reply(self.status, TYPE, body),
            Body::Whole(Cow::Owned(body)) => reply(self.status, TYPE, body),
            Body::None => empty(self.status),
            Body::Pieces(long) => in_pieces(self.status, TYPE, long.into_body()),
        };
        if self.closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Writes it as HTTP/1.1 text; false, and nothing is written, where it has no end yet or the connection ends with it.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> bool {
        match &self.body {
            Body::Whole(body) if !self.closes => response::write_whole(out, self.status, Some(JSON), body),
            Body::None if !self.closes => response::write_whole(out, self.status, None, &[]),
            _ => return false,
        }
        true
    }
}

/// A change that was accepted, and what is answered once it is as durable as the store keeps it.
#[derive(Debug)]
#[must_use]
pub(crate) struct Accepted {
    waiting: Waiting,
    answer: Option<Answer>,
}

impl Accepted {
    pub(super) const fn new(waiting: Waiting, answer: Answer) -> Self {
        Self { waiting, answer: Some(answer) }
    }

    /// What was asked for, or that it was taken back.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        let outcome = ready!(self.waiting.poll(context));
        let answer = self.answer.take().expect("nobody asks after the end");
        Poll::Ready(outcome.map_or_else(|error| not_durable(&error), |()| answer))
    }
}

/// A creation that the store refuses.
pub(super) fn not_created(refusal: &Refusal) -> Answer {
    match refusal {
        Refusal::TooLong { .. } | Refusal::TooMany { .. } => Answer::bad(&refusal.to_string()),
        _ => Answer::bad("Invalid Request"),
    }
}

/// A change that the store refuses.
pub(super) fn not_changed(refusal: &Refusal) -> Answer {
    match refusal {
        Refusal::TooLong { .. } | Refusal::TooMany { .. } => Answer::bad(&refusal.to_string()),
        _ => Answer::bare(StatusCode::NOT_MODIFIED),
    }
}

/// A write that could not be made durable, and was taken back.
pub(super) fn not_durable(error: &WriteError) -> Answer {
    let (status, text) = durability_fault(error);
    Answer::said(status, text)
}

/// What a client is told of such a write.
pub(super) fn durability_fault(error: &WriteError) -> (StatusCode, &'static str) {
    if error.is_disk_full() {
        let text = "the disk is full: the write was taken back; make room and send it again";
        return (StatusCode::INSUFFICIENT_STORAGE, text);
    }
    match error {
        WriteError::Closed => {
            let text = "the server is stopping: the write was not made; send it again when it is back";
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        error => {
            tracing::error!(%error, cause = std::error::Error::source(error), "a write was taken back");
            let text = "the log cannot be written: the write was taken back; the server's log says why";
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}
