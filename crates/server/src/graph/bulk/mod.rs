//! Bulk creation: a body of newline-delimited JSON, one node or relationship a line, read piece by piece. What has come is
//! written in one go, and waits for the disk while the next lines are read, so that a body of any length takes the same
//! memory. A line that is refused is reported, and the others are made all the same.

mod line;
mod lines;
mod report;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::StatusCode;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use prony_graph_store::{Side, Store, WriteError};
use tokio::sync::oneshot;

use self::{
    lines::{Line, Lines},
    report::Report,
};
use super::answer::{Answer, durability_fault};
use crate::config::Settings;

/// Writes that may wait for the disk at a time; the body is read on meanwhile.
const WRITES_WAITING_MAX: usize = 8;

/// Answers `POST /db/{graph}/nodes` and `/relationships`.
pub(super) async fn answer(
    settings: &Settings,
    store: &Arc<Store>,
    side: Side,
    path: &str,
    body: Incoming,
) -> Answer {
    let mut bulk =
        Bulk { store, side, path, report: Report::default(), waiting: VecDeque::new(), is_over: false };
    let stopped = bulk.receive(settings, body).await.and(bulk.wait_for(0).await);
    bulk.is_over = true;
    match stopped {
        Ok(()) => Answer::ok(bulk.report.json(None)),
        Err(stop) => {
            tracing::warn!(
                path,
                created = bulk.report.created,
                failed = bulk.report.failed,
                why = stop.why,
                "a bulk creation ended early; what it created stays"
            );
            Answer::with(stop.status, bulk.report.json(Some(&stop.why))).and_close()
        }
    }
}

struct Bulk<'a> {
    store: &'a Arc<Store>,
    side: Side,
    /// For the log.
    path: &'a str,
    report: Report,
    waiting: VecDeque<Waiting>,
    is_over: bool,
}

/// Lines that are written, and not known to be durable.
struct Waiting {
    outcome: oneshot::Receiver<Result<(), WriteError>>,
    created: u64,
    /// The last of them.
    line: u64,
}

/// Why the rest of a body is not read.
struct Stop {
    status: StatusCode,
    why: String,
}

impl Bulk<'_> {
    async fn receive(&mut self, settings: &Settings, mut body: Incoming) -> Result<(), Stop> {
        let mut lines = Lines::new(settings.max_body_bytes);
        let mut bytes: u64 = 0;
        loop {
            // What is there is taken together; who sends slowly has each line written as it comes.
            let piece = if let Some(piece) = body.frame().now_or_never() {
                piece
            } else {
                self.write(&mut lines).await?;
                let patience = settings.body_timeout;
                tokio::time::timeout(patience, body.frame()).await.map_err(|_| too_slow(patience))?
            };
            let Some(frame) = piece else { break };
            // Trailers say nothing that we need.
            let Ok(piece) = frame.map_err(|error| broken(&error))?.into_data() else { continue };
            bytes += piece.len() as u64;
            if bytes > settings.max_bulk_bytes {
                return Err(too_large(settings.max_bulk_bytes));
            }
            self.take(&mut lines, &piece).await?;
        }
        lines.end();
        self.write(&mut lines).await
    }

    async fn take(&mut self, lines: &mut Lines, piece: &Bytes) -> Result<(), Stop> {
        lines.push(piece);
        if lines.is_full() { self.write(lines).await } else { Ok(()) }
    }

    /// Writes the lines that are whole.
    async fn write(&mut self, lines: &mut Lines) -> Result<(), Stop> {
        let side = self.side;
        let (sender, outcome) = oneshot::channel();
        let store = self.store;
        let mut faults = Vec::new();
        let (mut created, mut last) = (0, None);
        let written = store.write(
            |write| {
                lines.take(|number, text| {
                    last = Some(number);
                    let made = match text {
                        Line::Text(text) => line::create(store, write, side, text),
                        Line::TooLong { limit } => {
                            Err(format!("the line is longer than {limit} bytes (max_body_bytes)"))
                        }
                    };
                    match made {
                        Ok(()) => created += 1,
                        Err(what) => faults.push((number, what)),
                    }
                });
                Ok(())
            },
            // A receiver that is gone belonged to a client that is.
            move |outcome| drop(sender.send(outcome)),
        );
        debug_assert!(written.is_ok(), "refusals are kept line by line");
        for (number, what) in faults {
            self.report.fail(number, what);
        }
        if let Some(line) = last {
            self.waiting.push_back(Waiting { outcome, created, line });
            // Others on this core have had no turn while the lines were written.
            tokio::task::yield_now().await;
        }
        self.wait_for(WRITES_WAITING_MAX).await
    }

    /// Waits until no more than so many writes wait for the disk.
    async fn wait_for(&mut self, most: usize) -> Result<(), Stop> {
        while self.waiting.len() > most {
            let Some(first) = self.waiting.front_mut() else { break };
            let outcome = (&mut first.outcome).await.unwrap_or(Err(WriteError::Closed));
            let Some(done) = self.waiting.pop_front() else { break };
            if let Err(error) = outcome {
                // Those behind it were taken back with it.
                self.waiting.clear();
                let (status, why) = durability_fault(&error);
                return Err(Stop { status, why: why.to_owned() });
            }
            self.report.made(done.created, done.line);
        }
        Ok(())
    }
}

impl Drop for Bulk<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let waiting: u64 = self.waiting.iter().map(|waiting| waiting.created).sum();
            tracing::warn!(
                path = self.path,
                created = self.report.created + waiting,
                failed = self.report.failed,
                "the client of a bulk creation went away; what it created stays"
            );
        }
    }
}

fn too_slow(patience: Duration) -> Stop {
    let why = format!("nothing came for {} ms (body_timeout_ms)", patience.as_millis());
    Stop { status: StatusCode::REQUEST_TIMEOUT, why }
}

fn too_large(limit: u64) -> Stop {
    let why = format!("the body is over the limit of {limit} bytes (max_bulk_bytes)");
    Stop { status: StatusCode::PAYLOAD_TOO_LARGE, why }
}

fn broken(error: &hyper::Error) -> Stop {
    Stop { status: StatusCode::BAD_REQUEST, why: format!("the body broke off: {error}") }
}
