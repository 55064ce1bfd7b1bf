//! Requests to an API that hyper has read: the body is read as the API wants it, and what waits is waited for.

use std::future::poll_fn;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Version, header, request::Parts};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use prony_source::{
    http_api::{ApiConnection, ApiRequest, ApiResponse, AsyncResponse, BodyError, Progress, RequestBody},
    trace::{COMMIT, SpanKind, begin_span, in_span},
};

use super::{ApiConnections, ApiId, body::StreamedRequestBody, into_reply, refuse};
use crate::{
    graphql::{CoreEngine, ExecutionContext as _},
    http::{body, graphql::OVERLOAD_RETRY_AFTER, reply::Reply},
};

/// The body of a request, as far as it has been read.
enum RequestState {
    Unread(Incoming),
    Whole(Bytes),
}

pub(in crate::http) async fn respond(
    core: &CoreEngine,
    connections: &ApiConnections,
    id: ApiId,
    request: Request<Incoming>,
) -> Reply {
    let apis = &core.site().apis;
    let mut connection = connections.take(apis, id);
    let reply = respond_over(core, &mut *connection, id, request).await;
    connections.put_back(id, connection);
    reply.unwrap_or_else(|| refuse(apis, id, StatusCode::FORBIDDEN, "this call is refused"))
}

/// The response of a connection to an API; none where the call is refused.
pub(super) async fn respond_over(
    core: &CoreEngine,
    connection: &mut dyn ApiConnection,
    id: ApiId,
    request: Request<Incoming>,
) -> Option<Reply> {
    let apis = &core.site().apis;
    let (head, body) = request.into_parts();
    let mut body =
        if body.is_end_stream() { RequestState::Whole(Bytes::new()) } else { RequestState::Unread(body) };
    let mut response = ApiResponse::default();
    let mut rest = None;
    let closes;
    loop {
        match connection.begin(&api_request(&head, &body), &mut response) {
            Progress::Done => {
                closes = is_left_over(core, &head, body).await;
                break;
            }
            Progress::Waits => {
                let commit = begin_span(COMMIT, SpanKind::Internal);
                in_span(commit, poll_fn(|context| connection.poll(context, &mut response)), |_, ()| ()).await;
                closes = is_left_over(core, &head, body).await;
                break;
            }
            Progress::Streams(stream) => {
                rest = Some(stream);
                closes = is_left_over(core, &head, body).await;
                break;
            }
            Progress::NotReady(ready) => ready.await,
            Progress::Refused => return None,
            Progress::NeedsBody => match read_whole(core, &head, body).await {
                Ok(read) => body = RequestState::Whole(read),
                Err(fault) => {
                    apis.get(id).refuse(fault.status, &fault.message, &mut response);
                    // What is left of the body would be taken for the next request.
                    closes = true;
                    break;
                }
            },
            Progress::Asynchronous(respond) => {
                let made = respond(in_pieces(core, body)).await;
                AsyncResponse { response, rest, closes_connection: closes } = made;
                if response.status == StatusCode::SERVICE_UNAVAILABLE && core.site().memory.is_reached() {
                    let retry_after = HeaderValue::from_static(OVERLOAD_RETRY_AFTER);
                    response.headers.push((header::RETRY_AFTER, retry_after));
                }
                break;
            }
        }
    }
    Some(into_reply(response, rest, closes))
}

fn api_request<'r>(head: &'r Parts, body: &'r RequestState) -> ApiRequest<'r> {
    ApiRequest {
        method: &head.method,
        path: head.uri.path(),
        query: head.uri.query(),
        headers: &head.headers,
        body: match body {
            RequestState::Unread(_) => None,
            RequestState::Whole(body) => Some(body),
        },
    }
}

/// Whether there is a body that the API has not asked for and that ends the connection. Otherwise it is read and thrown away, as the fast path
/// does: hyper would close the connection without a word where it comes later than the head.
async fn is_left_over(core: &CoreEngine, head: &Parts, body: RequestState) -> bool {
    match body {
        RequestState::Unread(_) if head.headers.contains_key(header::EXPECT) => true,
        RequestState::Unread(body) if head.version < Version::HTTP_2 => {
            body::read(head, body, core.site()).await.is_err()
        }
        RequestState::Unread(_) | RequestState::Whole(_) => false,
    }
}

async fn read_whole(core: &CoreEngine, head: &Parts, body: RequestState) -> Result<Bytes, BodyError> {
    match body {
        RequestState::Unread(body) => body::read(head, body, core.site()).await,
        RequestState::Whole(_) => unreachable!("an API that is given the whole body needs no other"),
    }
}

fn in_pieces(core: &CoreEngine, body: RequestState) -> Box<dyn RequestBody> {
    let (settings, memory) = (core.settings(), &core.site().memory);
    match body {
        RequestState::Unread(body) => Box::new(StreamedRequestBody::new(body, settings, memory)),
        RequestState::Whole(read) => Box::new(StreamedRequestBody::new(Full::new(read), settings, memory)),
    }
}
