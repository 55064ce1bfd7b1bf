//! Bulk creation: a body of newline-delimited JSON, one node or relationship a line, read piece by piece. What has come is
//! written in one go, and waits for the disk while the next lines are read, so that a body of any length takes the same
//! memory. A line that is refused is reported, and the others are made all the same.

mod line;
mod lines;
mod report;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use bytes::Bytes;
use futures_util::{future::LocalBoxFuture, stream};
use http::{StatusCode, header};
use prony_graph_store::{LogError, Side, Store, Unwritten};
use prony_source::http_api::{
    ApiLimits, ApiRequest, ApiResponse, AsyncResponder, AsyncResponse, BodyError, RequestBody,
};
use tokio::sync::{mpsc, oneshot};

use self::{
    line::RoleCreator,
    lines::{BulkLine, LineBuffer, LinesRead},
    report::BulkReport,
};
use super::{
    access::RoleAccess,
    error::{DISK_FULL, durability_fault},
    json::JSON,
    turns,
};
use crate::databases::{Database, settle::RefusedWrite};

/// Writes that may wait for the disk at a time; the body is read on meanwhile.
const WRITES_WAITING_MAX: usize = 32;

/// Lines between two reports of progress.
const LINES_BETWEEN: u64 = 100_000;
/// Reports of progress that may wait for a client to read them; then some are left out.
const REPORTS_WAITING_MAX: usize = 16;
/// What a client accepts that wants reports of progress.
const LINES_OF_JSON: &str = "application/x-ndjson";

/// Responds to `POST /db/{graph}/nodes` and `/relationships`: with a report at the end, or, where the client accepts lines of
/// JSON, with one line each time that many are done, of which the last is the whole report.
pub(super) fn responder(
    database: &Database,
    role: Option<RoleAccess>,
    side: Side,
    request: &ApiRequest<'_>,
    limits: ApiLimits,
) -> AsyncResponder {
    let accepts = request.headers.value(&header::ACCEPT).and_then(|value| std::str::from_utf8(value).ok());
    let wants_progress = accepts.is_some_and(|accepts| accepts.contains(LINES_OF_JSON));
    let (store, path) = (Arc::clone(&database.store), request.path.to_owned());
    let dropped = database.dropped();
    Box::new(move |body| -> LocalBoxFuture<'static, AsyncResponse> {
        let bulk = Bulk {
            store,
            dropped,
            role,
            side,
            path,
            line_bytes_max: limits.max_body_bytes,
            report: BulkReport::default(),
            waiting: VecDeque::new(),
            progress: None,
            is_over: false,
        };
        if wants_progress {
            return Box::pin(std::future::ready(respond_with_progress(bulk, body)));
        }
        Box::pin(respond_at_end(bulk, body))
    })
}

async fn respond_at_end(bulk: Bulk, body: Box<dyn RequestBody>) -> AsyncResponse {
    let (status, report) = bulk.run(body).await;
    let response = ApiResponse { status, content_type: Some(JSON), body: report, ..ApiResponse::default() };
    AsyncResponse { response, rest: None, closes_connection: status != StatusCode::OK }
}

/// The lines are made whether the client reads its reports or not.
fn respond_with_progress(mut bulk: Bulk, body: Box<dyn RequestBody>) -> AsyncResponse {
    let (sender, mut receiver) = mpsc::channel(REPORTS_WAITING_MAX);
    bulk.progress = Some(ProgressReports { sender: sender.clone(), reported_line: 0 });
    tokio::task::spawn_local(async move {
        let (_, report) = bulk.run(body).await;
        // The client may have gone away.
        let _ = sender.send(line_of(report)).await;
    });
    let reports = stream::poll_fn(move |context| receiver.poll_recv(context).map(|report| report.map(Ok)));
    let response = ApiResponse { content_type: Some(LINES_OF_JSON), ..ApiResponse::default() };
    AsyncResponse { response, rest: Some(Box::pin(reports)), closes_connection: false }
}

fn line_of(mut report: Vec<u8>) -> Bytes {
    report.push(b'\n');
    report.into()
}

struct Bulk {
    store: Arc<Store>,
    /// Whether the database was dropped meanwhile.
    dropped: Arc<AtomicBool>,
    /// Of who may not do everything.
    role: Option<RoleAccess>,
    side: Side,
    /// For the log.
    path: String,
    line_bytes_max: usize,
    report: BulkReport,
    waiting: VecDeque<WaitingLines>,
    progress: Option<ProgressReports>,
    is_over: bool,
}

/// Where reports of progress go.
struct ProgressReports {
    sender: mpsc::Sender<Bytes>,
    reported_line: u64,
}

/// Why the rest of a body is not read, or not made.
struct Stopped {
    status: StatusCode,
    message: String,
}

impl From<BodyError> for Stopped {
    fn from(BodyError { status, message }: BodyError) -> Self {
        Self { status, message }
    }
}

/// Lines that are written, and not known to be durable. They do not count before that, the faulty ones among them neither.
struct WaitingLines {
    outcome: oneshot::Receiver<Result<(), LogError>>,
    report: BulkReport,
}

impl Bulk {
    /// Status and report.
    async fn run(mut self, body: Box<dyn RequestBody>) -> (StatusCode, Vec<u8>) {
        let received = self.receive(body).await;
        let stopped = received.and(self.wait_for(0).await);
        self.is_over = true;
        let Err(stop) = stopped else { return (StatusCode::OK, self.report.json(None)) };
        tracing::warn!(
            path = self.path,
            created = self.report.created,
            failed = self.report.failed,
            why = stop.message,
            "a bulk creation ended early; what it created stays"
        );
        (stop.status, self.report.json(Some(&stop.message)))
    }

    async fn receive(&mut self, mut body: Box<dyn RequestBody>) -> Result<(), Stopped> {
        let mut lines = LineBuffer::new(self.line_bytes_max);
        loop {
            // What is there is taken together; who sends slowly has each line written as it comes.
            let piece = match body.try_next() {
                Poll::Ready(piece) => piece,
                Poll::Pending => {
                    self.write(&mut lines).await?;
                    body.next().await
                }
            };
            let Some(piece) = piece else { break };
            lines.push(&piece?);
            if lines.is_full() {
                self.write(&mut lines).await?;
            }
        }
        lines.end();
        self.write(&mut lines).await
    }

    /// Writes the lines that are whole.
    async fn write(&mut self, lines: &mut LineBuffer) -> Result<(), Stopped> {
        while self.write_some(lines).await? {}
        Ok(())
    }

    /// As many as are written at a time; true where there may be more.
    async fn write_some(&mut self, lines: &mut LineBuffer) -> Result<bool, Stopped> {
        if self.dropped.load(Ordering::Acquire) {
            let message = "the database was dropped, with what was created in it".to_owned();
            return Err(Stopped { status: StatusCode::NOT_FOUND, message });
        }
        let mut attempt = RefusedWrite::default();
        let (written, read) = loop {
            while self.store.lacks_room() && !attempt.is_final() {
                attempt = attempt.again(&self.store).await;
            }
            if let Some(written) = self.try_to_write(lines).await {
                break written;
            }
            // A snapshot may have been given the room that was found, or others may be writing.
            if attempt.is_final() {
                let message = DISK_FULL.to_owned();
                return Err(Stopped { status: StatusCode::INSUFFICIENT_STORAGE, message });
            }
            attempt = attempt.again(&self.store).await;
        };
        if written.report.last_line > 0 {
            self.waiting.push_back(written);
        }
        let may_have_more = lines.pass(read);
        self.wait_for(WRITES_WAITING_MAX).await?;
        Ok(may_have_more)
    }

    /// None where the disk is full; then nothing was written.
    async fn try_to_write(&self, lines: &LineBuffer) -> Option<(WaitingLines, LinesRead)> {
        let (store, side) = (&self.store, self.side);
        let creator = self.role.as_ref().map(|role| RoleCreator::new(role, store));
        let (sender, outcome) = oneshot::channel();
        let mut report = BulkReport::default();
        turns::next().await;
        let mut written = store.try_write(
            |write| {
                Ok(lines.read(|number, text| {
                    let made = match text {
                        BulkLine::Text(text) => match &creator {
                            Some(creator) => creator.create(write, side, text),
                            None => line::create(store, write, side, text),
                        },
                        BulkLine::TooLong { limit } => {
                            Err(format!("the line is longer than {limit} bytes (max_body_bytes)"))
                        }
                    };
                    report.count(number, made);
                }))
            },
            move |outcome| drop(sender.send(outcome)),
        );
        // A disk that is slow holds up this body and not its core.
        while let Err(Unwritten::NoRoom((operate, done))) = written {
            store.room().await;
            turns::next().await;
            written = store.try_write(operate, done);
        }
        // Refusals of single lines are kept line by line.
        let read = written.ok()?;
        Some((WaitingLines { outcome, report }, read))
    }

    /// Waits until no more than so many writes wait for the disk.
    async fn wait_for(&mut self, most: usize) -> Result<(), Stopped> {
        while self.waiting.len() > most {
            let Some(first) = self.waiting.front_mut() else { break };
            let outcome = (&mut first.outcome).await.unwrap_or(Err(LogError::Closed));
            let Some(done) = self.waiting.pop_front() else { break };
            if let Err(error) = outcome {
                // Those behind it were taken back with it.
                self.waiting.clear();
                let (status, message) = durability_fault(&error);
                return Err(Stopped { status, message: message.to_owned() });
            }
            self.report.add(done.report);
            self.report_progress();
        }
        Ok(())
    }
}

impl Bulk {
    fn report_progress(&mut self) {
        let Some(progress) = &mut self.progress else { return };
        let line = self.report.last_line;
        if line >= progress.reported_line + LINES_BETWEEN {
            progress.reported_line = line;
            // A client that does not read gets the last one only.
            let _ = progress.sender.try_send(line_of(self.report.progress()));
        }
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        if !self.is_over {
            let waiting = || self.waiting.iter().map(|waiting| &waiting.report);
            let created: u64 = waiting().map(|report| report.created).sum();
            let failed: u64 = waiting().map(|report| report.failed).sum();
            tracing::warn!(
                path = self.path,
                created = self.report.created + created,
                failed = self.report.failed + failed,
                "a bulk creation was cut off, as its client went away or the server stops; what it created stays"
            );
        }
    }
}
