//! Bulk creation: a body of newline-delimited JSON, one node or relationship a line, read piece by piece. What has come is
//! written in one go, and waits for the disk while the next lines are read, so that a body of any length takes the same
//! memory. A line that is refused is reported, and the others are made all the same.

mod line;
mod lines;
mod report;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderValue, StatusCode, header, request};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use prony_graph_store::{Side, Store, WriteError};
use tokio::sync::{mpsc, oneshot};

use self::{
    lines::{Line, Lines},
    report::Report,
};
use super::answer::{Answer, durability_fault};
use crate::{
    config::Settings,
    http::reply::{Pieces, Reply, in_pieces},
};

/// Writes that may wait for the disk at a time; the body is read on meanwhile.
const WRITES_WAITING_MAX: usize = 8;

/// Lines between two reports of progress.
const LINES_BETWEEN: u64 = 100_000;
/// Reports of progress that may wait for a client to read them; then some are left out.
const REPORTS_WAITING_MAX: usize = 16;
/// What a client accepts that wants to be told of progress.
const LINES_OF_JSON: &str = "application/x-ndjson";

/// What a bulk creation may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    line_bytes: usize,
    bytes: u64,
    patience: Duration,
}

/// Answers `POST /db/{graph}/nodes` and `/relationships`: with a report at the end, or, where the client accepts lines of
/// JSON, with one line each time that many are done, of which the last is the whole report.
pub(super) async fn answer(
    settings: &Settings,
    store: &Arc<Store>,
    side: Side,
    head: &request::Parts,
    body: Incoming,
) -> Reply {
    let limits = Limits {
        line_bytes: settings.max_body_bytes,
        bytes: settings.max_bulk_bytes,
        patience: settings.body_timeout,
    };
    let mut bulk = Bulk {
        store: Arc::clone(store),
        side,
        path: head.uri.path().to_owned(),
        report: Report::default(),
        waiting: VecDeque::new(),
        progress: None,
        is_over: false,
    };
    let accepts = head.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !accepts.is_some_and(|accepts| accepts.contains(LINES_OF_JSON)) {
        let (status, report) = bulk.run(limits, body).await;
        let answer = Answer::with(status, report);
        return if status == StatusCode::OK { answer } else { answer.and_close() }.into_reply();
    }
    let (sender, receiver) = mpsc::channel(REPORTS_WAITING_MAX);
    bulk.progress = Some(Progress { sender: sender.clone(), told_line: 0 });
    tokio::task::spawn_local(async move {
        let (_, report) = bulk.run(limits, body).await;
        // Whoever has gone away is not told.
        let _ = sender.send(line_of(report)).await;
    });
    in_pieces(StatusCode::OK, HeaderValue::from_static(LINES_OF_JSON), Pieces::new(receiver))
}

fn line_of(mut report: Vec<u8>) -> Bytes {
    report.push(b'\n');
    report.into()
}

struct Bulk {
    store: Arc<Store>,
    side: Side,
    /// For the log.
    path: String,
    report: Report,
    waiting: VecDeque<Waiting>,
    progress: Option<Progress>,
    is_over: bool,
}

/// Where progress is told.
struct Progress {
    sender: mpsc::Sender<Bytes>,
    told_line: u64,
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

impl Bulk {
    /// Status and report.
    async fn run(mut self, limits: Limits, body: Incoming) -> (StatusCode, Vec<u8>) {
        let received = self.receive(limits, body).await;
        let stopped = received.and(self.wait_for(0).await);
        self.is_over = true;
        let Err(stop) = stopped else { return (StatusCode::OK, self.report.json(None)) };
        tracing::warn!(
            path = self.path,
            created = self.report.created,
            failed = self.report.failed,
            why = stop.why,
            "a bulk creation ended early; what it created stays"
        );
        (stop.status, self.report.json(Some(&stop.why)))
    }

    async fn receive(&mut self, limits: Limits, mut body: Incoming) -> Result<(), Stop> {
        let mut lines = Lines::new(limits.line_bytes);
        let mut bytes: u64 = 0;
        loop {
            // What is there is taken together; who sends slowly has each line written as it comes.
            let piece = if let Some(piece) = body.frame().now_or_never() {
                piece
            } else {
                self.write(&mut lines).await?;
                let frame = tokio::time::timeout(limits.patience, body.frame()).await;
                frame.map_err(|_| too_slow(limits.patience))?
            };
            let Some(frame) = piece else { break };
            // Trailers say nothing that we need.
            let Ok(piece) = frame.map_err(|error| broken(&error))?.into_data() else { continue };
            bytes += piece.len() as u64;
            if bytes > limits.bytes {
                return Err(too_large(limits.bytes));
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
        let store = Arc::clone(&self.store);
        let mut faults = Vec::new();
        let (mut created, mut last) = (0, None);
        let written = store.write(
            |write| {
                lines.take(|number, text| {
                    last = Some(number);
                    let made = match text {
                        Line::Text(text) => line::create(&store, write, side, text),
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
            self.tell(done.line);
        }
        Ok(())
    }
}

impl Bulk {
    fn tell(&mut self, line: u64) {
        let Some(progress) = &mut self.progress else { return };
        if line >= progress.told_line + LINES_BETWEEN {
            progress.told_line = line;
            // A client that does not read hears of the end only.
            let _ = progress.sender.try_send(line_of(self.report.progress()));
        }
    }
}

impl Drop for Bulk {
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
