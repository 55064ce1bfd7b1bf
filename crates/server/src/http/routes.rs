//! Paths that a program answers itself, beside GraphQL and in the same process: bytes in, bytes out.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use super::{
    body,
    reply::{JSON, Reply, ReplyBody, refusal},
};
use crate::config::Settings;

/// All paths that begin with a prefix, and the function that answers them. It must not block.
#[derive(Clone)]
pub struct Route {
    prefix: Arc<str>,
    handler: Arc<Handler>,
}

type Handler = dyn Fn(Request<Bytes>) -> Response<Bytes> + Send + Sync;

impl Route {
    pub fn new(
        prefix: &str,
        handler: impl Fn(Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        Self { prefix: prefix.into(), handler: Arc::new(handler) }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Route").field(&self.prefix).finish()
    }
}

pub(super) fn find<'r>(routes: &'r [Route], path: &str) -> Option<&'r Route> {
    routes.iter().find(|route| path.starts_with(&*route.prefix))
}

/// The body is read within the server's limits; a panic of the function is a 500.
pub(super) async fn answer(settings: &Settings, route: &Route, request: Request<Incoming>) -> Reply {
    let (head, body) = request.into_parts();
    let body = match body::read(&head.headers, body, settings.max_body_bytes, settings.body_timeout).await {
        Ok(body) => body,
        Err(fault) => return refusal(fault.status, JSON, &fault.message),
    };
    let request = Request::from_parts(head, body);
    if let Ok(response) = std::panic::catch_unwind(AssertUnwindSafe(|| (route.handler)(request))) {
        return response.map(|body| ReplyBody::Whole(Full::new(body)));
    }
    tracing::error!(route = &*route.prefix, "a function panicked");
    refusal(StatusCode::INTERNAL_SERVER_ERROR, JSON, "the request could not be answered")
}
