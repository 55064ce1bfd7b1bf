//! Simple requests to the HTTP APIs of sources, responded to straight into bytes. What an API streams is hyper's to write,
//! and so is what needs more than the request and a wait.

use std::{
    cell::Cell,
    task::{Context, Poll},
};

use prony_source::{
    http_api::{ApiConnection, ApiRequest, ApiResponse, Progress},
    trace::{COMMIT, OpenSpan, SpanKind, begin_span},
};

use super::{Handover, Responded, SimpleRequest, response};
use crate::{
    graphql::{CoreEngine, ExecutionContext as _},
    http::{
        ApiConnections,
        apis::{ApiId, into_reply, may_have_body},
    },
};

/// What a thread keeps of the memory that bodies are written into.
const BODY_BYTES_KEPT: usize = 64 << 10;

thread_local! {
    /// The memory of the body that was written last.
    static BODY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A request that an API has accepted, and that it will respond to.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    id: ApiId,
    connection: Box<dyn ApiConnection>,
    response: ApiResponse,
    /// Of a request that is traced: what it waits for is that a write is durable, its own or one that it has read.
    commit: Option<OpenSpan>,
}

/// Responds to a request for this API. Where it waits, the second says for what.
pub(super) fn respond(
    core: &CoreEngine,
    connections: &ApiConnections,
    id: ApiId,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> (Responded, Option<WaitingRequest>) {
    let mut connection = connections.take(&core.site().apis, id);
    let mut response = ApiResponse::in_buffer(BODY.take());
    let api_request = ApiRequest {
        method: &request.method,
        path: request.path,
        query: request.query,
        headers: request,
        body: Some(request.body),
    };
    let responded = match connection.begin(&api_request, &mut response) {
        Progress::Done => {
            drop(core.metrics().request_begins());
            write(out, response);
            Responded::Written
        }
        Progress::Waits => {
            core.metrics().request_begins().goes_on();
            let commit = begin_span(COMMIT, SpanKind::Internal);
            return (Responded::Waits, Some(WaitingRequest { id, connection, response, commit }));
        }
        Progress::Streams(rest) => {
            drop(core.metrics().request_begins());
            Responded::Made(Handover::Resource, Box::new(into_reply(response, Some(rest), false)))
        }
        Progress::NeedsBody | Progress::NotReady(_) | Progress::Refused | Progress::Asynchronous(_) => {
            Responded::HandOver(Handover::Resource)
        }
    };
    connections.put_back(id, connection);
    (responded, None)
}

impl WaitingRequest {
    /// Ready when there is a response.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let polled = self.connection.poll(context, &mut self.response);
        if polled.is_ready()
            && let Some(commit) = self.commit.take()
        {
            commit.end();
        }
        polled
    }

    /// Writes the response that there is.
    pub(super) fn write(self, connections: &ApiConnections, out: &mut Vec<u8>) {
        write(out, self.response);
        connections.put_back(self.id, self.connection);
    }
}

fn write(out: &mut Vec<u8>, mut response: ApiResponse) {
    if !may_have_body(response.status) {
        response.body.clear();
    }
    response::write_api_response(out, &response);
    let mut memory = response.body;
    memory.clear();
    memory.shrink_to(BODY_BYTES_KEPT);
    BODY.set(memory);
}
