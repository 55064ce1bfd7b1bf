//! Paths that a program serves itself, as a setting: which they are, and by which function.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};

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

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        (self.handler)(request)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Route").field(&self.prefix).finish()
    }
}
