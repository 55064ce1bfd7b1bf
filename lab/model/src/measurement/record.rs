//! What is known of one request once it is over.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// One request. Times are counted from the start of the run; `first_byte` is `None` where no byte came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Index into the scenario's requests.
    pub request: usize,
    /// When it was due.
    pub scheduled: Nanos,
    /// When work on it began: opening a connection where there was none, else writing.
    pub started: Nanos,
    pub first_byte: Option<Nanos>,
    pub ended: Nanos,
    pub outcome: Outcome,
    /// Of the response, where one came, whatever the outcome.
    pub status: Option<u16>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl Record {
    /// What a user of the system feels: from when the request was due.
    pub fn response_time(&self) -> Nanos {
        self.ended.since(self.scheduled)
    }

    /// What the server took once asked.
    pub fn service_time(&self) -> Nanos {
        self.ended.since(self.started)
    }
}

/// How a request ended. Each request has one outcome, the first that applies in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Transport(TransportError),
    /// Answered with a status that was not expected.
    Status(u16),
    /// A GraphQL answer with the right status and a list of `errors`.
    GraphQlErrors,
    /// Answered, but not with what a check of the plan asks for, or without a value that later requests need.
    FailedCheck,
    Success,
}

/// Where the connection failed a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportError {
    Connect,
    Tls,
    Read,
    Write,
    Timeout,
    Protocol,
}

/// Statuses that count as a success where nothing else is said.
const EXPECTED_STATUSES: RangeInclusive<u16> = 200..=399;

impl Outcome {
    /// Of a response whose status alone counts.
    pub fn of_status(status: u16) -> Self {
        if EXPECTED_STATUSES.contains(&status) { Self::Success } else { Self::Status(status) }
    }

    pub const fn kind(self) -> OutcomeKind {
        match self {
            Self::Success => OutcomeKind::Success,
            Self::Transport(TransportError::Connect) => OutcomeKind::Connect,
            Self::Transport(TransportError::Tls) => OutcomeKind::Tls,
            Self::Transport(TransportError::Read) => OutcomeKind::Read,
            Self::Transport(TransportError::Write) => OutcomeKind::Write,
            Self::Transport(TransportError::Timeout) => OutcomeKind::Timeout,
            Self::Transport(TransportError::Protocol) => OutcomeKind::Protocol,
            Self::Status(_) => OutcomeKind::Status,
            Self::GraphQlErrors => OutcomeKind::GraphQlErrors,
            Self::FailedCheck => OutcomeKind::FailedCheck,
        }
    }
}

/// Outcomes as they are counted and named in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Success,
    Connect,
    Tls,
    Read,
    Write,
    Timeout,
    Protocol,
    Status,
    GraphQlErrors,
    FailedCheck,
}

impl OutcomeKind {
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::Connect,
        Self::Tls,
        Self::Read,
        Self::Write,
        Self::Timeout,
        Self::Protocol,
        Self::Status,
        Self::GraphQlErrors,
        Self::FailedCheck,
    ];

    /// True where a whole answer came, whatever it said.
    pub const fn is_answered(self) -> bool {
        matches!(self, Self::Success | Self::Status | Self::GraphQlErrors | Self::FailedCheck)
    }

    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Connect => "connect failed",
            Self::Tls => "TLS failed",
            Self::Read => "connection lost while reading",
            Self::Write => "connection lost while writing",
            Self::Timeout => "timeout",
            Self::Protocol => "answer not HTTP",
            Self::Status => "unexpected status",
            Self::GraphQlErrors => "GraphQL errors",
            Self::FailedCheck => "failed check",
        }
    }
}
