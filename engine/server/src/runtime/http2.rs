//! One connection of HTTP/2 (RFC 9113), which a client has chosen in its TLS handshake: hyper serves it, each request as a task of the
//! connection's core.

use std::{
    convert::Infallible,
    future::Future,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use hyper::{
    Request,
    body::{Body as _, Incoming},
    rt::Executor,
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};

use super::{
    connections::{Connections, DrainPhase},
    guard::{Guard, drive},
    http2_body::{CountedBody, Unsent},
    stream::{BoundedStream, Progress, TOO_SLOW},
};
use crate::{
    access::Peer,
    config::Settings,
    graphql::{CoreEngine, ExecutionContext as _},
    http::{self as web, ApiConnections, JSON, Reply, refusal, reply::ReplyBody},
};

/// Requests of one connection at a time; a client waits with more.
const MAX_STREAMS: u32 = 100;

/// What one connection keeps of its responses until the client takes them, a stream.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// Runs a connection's requests on its core's thread.
#[derive(Debug, Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output = ()> + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

fn protocol(settings: &Settings) -> http2::Builder<LocalExecutor> {
    let mut protocol = http2::Builder::new(LocalExecutor);
    let max_header_bytes = u32::try_from(settings.max_header_bytes).unwrap_or(u32::MAX);
    protocol
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(max_header_bytes)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        // Streams of events may be silent for long; a client that is gone does not acknowledge.
        .keep_alive_interval(settings.subscriptions.ping_interval)
        .keep_alive_timeout(settings.subscriptions.ping_timeout);
    protocol
}

/// Serves the connection to its end.
pub(super) async fn serve(
    stream: BoundedStream,
    peer: Peer,
    engine: Rc<CoreEngine>,
    connections: Rc<Connections>,
    mut guard: Guard,
) {
    let (protocol, rate) = (protocol(engine.settings()), engine.settings().response_rate());
    let (progress, unsent) = (Rc::clone(&guard.progress), Arc::<Unsent>::default());
    let of_responses = Arc::clone(&unsent);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let (engine, open) = (Rc::clone(&engine), OpenStream::begin(&progress));
        let unsent = Arc::clone(&of_responses);
        async move {
            let reply = respond(&engine, request, open).await;
            Ok::<_, Infallible>(reply.map(|body| CountedBody::new(body, unsent)))
        }
    });
    let connection = pin!(protocol.serve_connection(TokioIo::new(stream), service));
    let shut_down = |connection: Pin<&mut _>| http2::Connection::graceful_shutdown(connection);
    // A client is told which of its requests are not responded to any more, and may send those elsewhere (RFC 9113, section 6.8).
    let is_due = |phase: DrainPhase, _: &Progress| phase.is_stopping();
    tokio::select! {
        outcome = drive(connection, &mut guard, &connections, is_due, shut_down) => {
            if let Err(error) = outcome {
                tracing::debug!(%error, "connection ended early");
            }
        }
        () = unsent.taken_too_slowly(rate) => {
            tracing::debug!(error = TOO_SLOW, "connection ended early");
        }
    }
}

async fn respond(engine: &Rc<CoreEngine>, mut request: Request<Incoming>, open: OpenStream) -> Reply {
    join_cookies(request.headers_mut());
    let max_headers = engine.settings().max_headers;
    let is_head = request.method() == Method::HEAD;
    let mut response = if request.headers().len() > max_headers {
        too_many_headers(max_headers)
    } else if names_another_host(&request) {
        let message = "the field `host` and `:authority` name different hosts; send `:authority` alone";
        let mut response = refusal(StatusCode::BAD_REQUEST, JSON, message);
        web::date::mark(&mut response);
        response
    } else {
        name_host(&mut request);
        // Requests run beside each other here, and an API's connection is for one at a time.
        let Ok(response) = web::answer(engine, &ApiConnections::default(), request).await;
        response
    };
    // What speaks of the connection is for HTTP/1.1 (RFC 9113, section 8.2.2).
    response.headers_mut().remove(header::CONNECTION);
    if is_head {
        leave_out_body(&mut response);
    }
    if let ReplyBody::Stream(stream) = response.body_mut() {
        stream.hold(Box::new(open));
    }
    response
}

fn too_many_headers(max_headers: usize) -> Reply {
    let message = format!("the request has more than {max_headers} headers (max_headers)");
    let mut response = refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, JSON, &message);
    web::date::mark(&mut response);
    response
}

/// The response to HEAD has the length of that to GET and no body (RFC 9110, section 9.3.2). Over HTTP/1.1 hyper sees to that.
fn leave_out_body(response: &mut Reply) {
    if let Some(bytes @ 1..) = response.body().size_hint().exact() {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert(HeaderValue::from(bytes));
    }
    *response.body_mut() = ReplyBody::Whole(Full::default());
}

/// A proxy in front may have gone by the other one (RFC 9113, section 8.3.1). The port of `https` may be left out in either.
fn names_another_host<B>(request: &Request<B>) -> bool {
    fn without_port(host: &[u8]) -> &[u8] {
        host.strip_suffix(b":443").unwrap_or(host)
    }
    let Some(authority) = request.uri().authority() else { return false };
    let named = without_port(authority.as_str().as_bytes());
    let is_same = |host: &HeaderValue| without_port(host.as_bytes()).eq_ignore_ascii_case(named);
    !request.headers().get_all(header::HOST).iter().all(is_same)
}

/// `:authority` stands for the field `Host`, which is checked in more than one place (RFC 9113, section 8.3.1).
fn name_host(request: &mut Request<Incoming>) {
    if request.headers().contains_key(header::HOST) {
        return;
    }
    let authority = request.uri().authority();
    let host = authority.and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(header::HOST, host);
    }
}

/// Clients may send each cookie in a field of its own here; who knows HTTP/1.1 alone reads one (RFC 9113, section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() < 2 {
        return;
    }
    if let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..])) {
        headers.insert(header::COOKIE, joined);
    }
}

/// A request whose response has not been made, or a stream that has not ended.
struct OpenStream(Rc<Progress>);

impl OpenStream {
    fn begin(progress: &Rc<Progress>) -> Self {
        progress.begin_stream();
        Self(Rc::clone(progress))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.end_stream();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_that_come_apart_are_one_field() {
        for (sent, expected) in [
            (&[][..], &[][..]),
            (&["a=1; b=2"], &["a=1; b=2"]),
            (&["a=1", "b=\"2\"", "c="], &["a=1; b=\"2\"; c="]),
        ] {
            let mut headers = HeaderMap::new();
            for &cookie in sent {
                headers.append(header::COOKIE, HeaderValue::from_static(cookie));
            }
            join_cookies(&mut headers);
            assert_eq!(headers.get_all(header::COOKIE).iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_host_that_is_named_twice_is_one() {
        let is_refused = |uri: &'static str, hosts: &[&'static str]| {
            let mut request = Request::new(());
            *request.uri_mut() = uri.parse().unwrap();
            for host in hosts {
                request.headers_mut().append(header::HOST, HeaderValue::from_static(host));
            }
            names_another_host(&request)
        };
        let uri = "https://api.example/graphql";
        assert!(
            !is_refused(uri, &[])
                && !is_refused(uri, &["API.example"])
                && !is_refused("/", &["other.example"])
        );
        assert!(
            !is_refused(uri, &["api.example:443"])
                && !is_refused("https://api.example:443/", &["api.example"])
        );
        for hosts in [&["other.example"][..], &["api.example:8443"], &[""], &["api.example", "other.example"]]
        {
            assert!(is_refused(uri, hosts), "{hosts:?}");
        }
    }
}
