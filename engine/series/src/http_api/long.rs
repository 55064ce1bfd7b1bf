//! Requests that take long: bodies and queries that a thread of their own works at, while the core serves others. A response is sent part
//! by part as the client takes it; no more than a few parts of it are in memory.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use prony_series_store::{Read, ReadError};
use prony_source::{
    http_api::{ApiResponse, AsyncResponse, BodyCut, Progress, RequestBody},
    threads::yield_processor,
};
use tokio::sync::{mpsc, oneshot};

use super::{
    entities,
    path::Owner,
    shared::{ApiShared, asked, count_header, finish, set_count},
};
use crate::{
    query::{
        entity::TypeResult,
        fault::Fault,
        parameters::Parameters,
        result::{self, QueryResults, Scope},
        row_format::{self, Format},
        shape::{Output, Shape, Stopped, Writer},
    },
    temporal::problem::{Problem, ProblemKind},
};

/// Parts of a response that its thread is ahead of its client.
const PARTS_AHEAD: usize = 4;

/// A query for rows.
#[derive(Debug)]
pub(super) struct RowsQuery {
    pub(super) shape: Shape,
    pub(super) of: Owner,
    pub(super) only_values: bool,
    pub(super) parameters: Parameters,
    pub(super) scope: Scope,
    pub(super) format: Format,
}

/// What a request is refused with, in the form of its API.
pub(super) trait ResponseFault: From<Fault> + From<ReadError> + Send + 'static {
    fn write(&self, response: &mut ApiResponse);

    /// A thread has ended without a word: it has panicked, and the log says why.
    fn of_panic() -> Self;
}

impl ResponseFault for Fault {
    fn write(&self, response: &mut ApiResponse) {
        Self::write(self, response);
    }

    fn of_panic() -> Self {
        let text = "Something went wrong with QL. Error: the server's log says why".into();
        Self::Text { status: StatusCode::INTERNAL_SERVER_ERROR, text }
    }
}

impl ResponseFault for Problem {
    fn write(&self, response: &mut ApiResponse) {
        Self::write(self, response);
    }

    fn of_panic() -> Self {
        Self::new(ProblemKind::InternalError, "the server's log says why")
    }
}

/// A body that goes to a client in parts.
pub(super) struct Parts {
    part: Vec<u8>,
    /// The head, which goes before the first part.
    head: Option<(ApiResponse, oneshot::Sender<ApiResponse>)>,
    content_type: &'static str,
    sender: mpsc::Sender<Result<Bytes, BodyCut>>,
    /// All was handed over that the client is to get.
    is_whole: bool,
}

impl Parts {
    /// A fault before the first part is the response.
    fn refuse(&mut self, fault: &impl ResponseFault) {
        if let Some((mut head, sender)) = self.head.take() {
            fault.write(&mut head);
            // Whoever has asked may have gone.
            let _ = sender.send(head);
            self.is_whole = true;
        }
    }

    /// The head, while it is not sent.
    pub(super) fn head(&mut self) -> Option<&mut ApiResponse> {
        self.head.as_mut().map(|(head, _)| head)
    }
}

impl Output for Parts {
    fn part(&mut self) -> &mut Vec<u8> {
        &mut self.part
    }

    fn hand_over(&mut self) -> Result<(), Stopped> {
        if let Some((mut head, sender)) = self.head.take() {
            head.content_type = Some(self.content_type);
            sender.send(head).map_err(|_| Stopped::Gone)?;
        }
        let part = Bytes::from(std::mem::take(&mut self.part));
        self.sender.blocking_send(Ok(part)).map_err(|_| Stopped::Gone)?;
        yield_processor();
        Ok(())
    }
}

impl Drop for Parts {
    /// What ends in the middle, also by a panic, is not to look as if that were all.
    fn drop(&mut self) {
        if self.head.is_none() && !self.is_whole {
            let cut = BodyCut("what is left of the rows cannot be read; the server's log says why".into());
            // Whoever has asked may have gone.
            let _ = self.sender.blocking_send(Err(cut));
        }
    }
}

impl RowsQuery {
    /// The rows.
    pub(super) fn run(&self, read: &Read) -> Result<QueryResults, Fault> {
        result::run(read, &self.scope, asked(&self.of), &self.parameters)
    }

    pub(super) fn write_body(
        &self,
        out: &mut dyn Output,
        mut results: Vec<TypeResult>,
    ) -> Result<(), Stopped> {
        if self.format != Format::Shapes {
            return row_format::write(self.format, &self.parameters, out, &mut results);
        }
        let (shape, only_values, parameters) = (self.shape.clone(), self.only_values, &self.parameters);
        Writer { shape, only_values, parameters }.write(out, results)
    }

    fn write(&self, shared: &ApiShared, out: &mut Parts) -> Result<(), Fault> {
        let results = self.run(&shared.series.store.read()?)?;
        if let Some(head) = out.head() {
            count_header(&self.parameters, results.total, head);
        }
        Ok(finish(self.write_body(out, results.types).and_then(|()| out.hand_over()))?)
    }
}

/// Responds by a thread of its own.
pub(super) fn rows(shared: &Arc<ApiShared>, query: RowsQuery) -> Progress {
    streamed(shared, query.format.content_type(), move |shared, out| query.write(shared, out))
}

/// Lists many entities by a thread of its own.
pub(super) fn entities(
    shared: &Arc<ApiShared>,
    scope: Scope,
    parameters: Parameters,
    format: Format,
) -> Progress {
    streamed(shared, format.content_type(), move |shared, out| {
        let all = entities::find(&shared.series.store.read()?, &scope, &parameters)?;
        if let Some(head) = out.head()
            && parameters.counts
        {
            set_count(all.len() as u64, head);
        }
        let written = entities::write(format, out, &all, &parameters).and_then(|()| out.hand_over());
        Ok::<_, Fault>(finish(written)?)
    })
}

/// Responds with what `write` writes, part by part. A fault before the first part is the response; one behind it ends the response in a
/// way that the client sees.
pub(super) fn streamed<F: ResponseFault>(
    shared: &Arc<ApiShared>,
    content_type: &'static str,
    write: impl FnOnce(&ApiShared, &mut Parts) -> Result<(), F> + Send + 'static,
) -> Progress {
    let shared = Arc::clone(shared);
    Progress::Asynchronous(Box::new(move |_| Box::pin(stream_parts(shared, content_type, write))))
}

/// What is written by a thread of its own, part by part.
async fn stream_parts<F: ResponseFault>(
    shared: Arc<ApiShared>,
    content_type: &'static str,
    write: impl FnOnce(&ApiShared, &mut Parts) -> Result<(), F> + Send + 'static,
) -> AsyncResponse {
    let (head_sender, head) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(PARTS_AHEAD);
    let permit = Arc::clone(&shared.long_queries).acquire_owned().await;
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let head = Some((ApiResponse::default(), head_sender));
        let mut out = Parts { part: Vec::new(), head, content_type, sender, is_whole: false };
        match write(&shared, &mut out) {
            Ok(()) => out.is_whole = true,
            Err(fault) => out.refuse(&fault),
        }
    });
    let response = head.await.unwrap_or_else(|_| refused(&F::of_panic()));
    let parts = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    AsyncResponse { response, rest: Some(Box::pin(parts)), closes_connection: false }
}

/// Reads a body, and responds by a thread of its own with what `write` writes, part by part.
pub(super) fn receive_and_stream<F: ResponseFault>(
    shared: &Arc<ApiShared>,
    max_body_bytes: usize,
    content_type: &'static str,
    write: impl FnOnce(&ApiShared, &[u8], &mut Parts) -> Result<(), F> + Send + 'static,
) -> Progress {
    let shared = Arc::clone(shared);
    Progress::Asynchronous(Box::new(move |mut body| {
        Box::pin(async move {
            let whole = match read_whole(&mut *body, max_body_bytes).await {
                Ok(whole) => whole,
                Err(fault) => {
                    let response = refused(&F::from(fault));
                    return AsyncResponse { response, rest: None, closes_connection: true };
                }
            };
            let write = move |shared: &ApiShared, out: &mut Parts| write(shared, &whole, out);
            stream_parts(shared, content_type, write).await
        })
    }))
}

fn refused(fault: &impl ResponseFault) -> ApiResponse {
    let mut response = ApiResponse::default();
    fault.write(&mut response);
    response
}

/// Reads a long body, and has `work` do what it asks for by a thread of its own.
pub(super) fn receive<F: ResponseFault>(
    shared: &Arc<ApiShared>,
    max_body_bytes: usize,
    work: impl FnOnce(&ApiShared, &[u8], &mut ApiResponse) -> Result<(), F> + Send + 'static,
) -> Progress {
    let shared = Arc::clone(shared);
    Progress::Asynchronous(Box::new(move |mut body| {
        Box::pin(async move {
            let whole = match read_whole(&mut *body, max_body_bytes).await {
                Ok(whole) => whole,
                Err(fault) => {
                    let response = refused(&F::from(fault));
                    return AsyncResponse { response, rest: None, closes_connection: true };
                }
            };
            let done = tokio::task::spawn_blocking(move || {
                let mut response = ApiResponse::default();
                match work(&shared, &whole, &mut response) {
                    Ok(()) => response,
                    Err(fault) => refused(&fault),
                }
            });
            let response = done.await.unwrap_or_else(|_| refused(&F::of_panic()));
            AsyncResponse { response, rest: None, closes_connection: false }
        })
    }))
}

async fn read_whole(body: &mut dyn RequestBody, max_body_bytes: usize) -> Result<Vec<u8>, Fault> {
    let mut whole = Vec::new();
    while let Some(piece) = body.next().await {
        let piece =
            piece.map_err(|error| Fault::Problem { status: error.status, detail: error.message.into() })?;
        if whole.len() + piece.len() > max_body_bytes {
            let detail = format!(
                "the body has more than {max_body_bytes} bytes, which is the limit (max_body_bytes); send fewer entities at a time"
            );
            return Err(Fault::Problem { status: StatusCode::PAYLOAD_TOO_LARGE, detail: detail.into() });
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}
