//! What is answered: the page, its stream of events, and the stop.

use crate::address::{is_own_host, is_own_origin};
use crate::events::{READERS_MAX, Reader, events};
use crate::state::Shared;
use crate::token;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::header::{self, HeaderName};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::Frame;
use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

type LocalStream = Pin<Box<dyn futures_util::Stream<Item = Result<Frame<Bytes>, Infallible>>>>;

/// Bodies stay on the page's own thread.
pub(crate) type Body = Either<Full<Bytes>, StreamBody<LocalStream>>;

const FOREIGN_HOST: &str = "the page is not reached by this name; open the address that prony printed, or name this one: --live NAME:PORT";
const FOREIGN_ORIGIN: &str = "another page asks; the run is stopped from its own page alone";
const NO_TOKEN: &str = "the run is stopped by whoever has the token: open the whole address that prony printed, with what stands behind #";

/// `reader`: kept until the connection ends.
pub(crate) fn respond<B>(
    shared: &Arc<Shared>,
    request: &Request<B>,
    reader: &RefCell<Option<Rc<Reader>>>,
) -> Response<Body> {
    let field = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let host = field(header::HOST).unwrap_or_default();
    if !is_own_host(host, &shared.host) {
        return said(StatusCode::FORBIDDEN, FOREIGN_HOST);
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match request.uri().path() {
        "/stop" if request.method() == Method::POST => {
            if !is_own_origin(field(header::ORIGIN), host) {
                return said(StatusCode::FORBIDDEN, FOREIGN_ORIGIN);
            }
            let given = field(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
            if !given.is_some_and(|given| token::is_same(given.trim(), &shared.token)) {
                return said(StatusCode::UNAUTHORIZED, NO_TOKEN);
            }
            shared.stop.stop();
            said(StatusCode::ACCEPTED, "the run is being stopped")
        }
        "/stop" => said(StatusCode::METHOD_NOT_ALLOWED, "the run is stopped with POST"),
        "/" | "/events" if !is_read => said(StatusCode::METHOD_NOT_ALLOWED, "pages are read with GET"),
        "/" => {
            shared.opened();
            let html = shared.drawn.borrow().page.html();
            response(StatusCode::OK, "text/html; charset=utf-8", Either::Left(Full::from(html)))
        }
        "/events" if request.method() == Method::HEAD => {
            response(StatusCode::OK, "text/event-stream", Either::Left(Full::default()))
        }
        "/events" => match Reader::admit(shared) {
            None => said(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("{READERS_MAX} pages of this run are open, and no more are; close one of them"),
            ),
            Some(admitted) => {
                *reader.borrow_mut() = Some(Rc::clone(&admitted));
                let stream: LocalStream = Box::pin(events(admitted).map_ok(Frame::data));
                let body = Either::Right(StreamBody::new(stream));
                let mut response = response(StatusCode::OK, "text/event-stream", body);
                // Its end is then that of the connection.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                response
            }
        },
        // Browsers ask for it on their own.
        "/favicon.ico" => response(StatusCode::NO_CONTENT, "image/x-icon", Either::Left(Full::default())),
        _ => said(StatusCode::NOT_FOUND, "there is nothing here; the page is at /"),
    }
}

fn said(status: StatusCode, text: &str) -> Response<Body> {
    let body = Either::Left(Full::from(format!("{text}\n")));
    response(status, "text/plain; charset=utf-8", body)
}

fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, content_type),
        // The page has a policy of its own; that it stands in no other page can only be said here.
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
