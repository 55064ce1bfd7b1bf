//! The HTTP API of series: QuantumLeap's, version 2, the temporal interface of NGSI-LD, and the writes of `InfluxDB` and Prometheus. What stands in the store is the store's; reading requests and writing responses is
//! the server's.

mod connection;
mod delete;
mod entities;
mod headers;
mod incoming;
mod last_values;
mod long;
mod notify;
mod path;
mod route;
mod shared;
mod temporal;

use std::{borrow::Cow, sync::Arc};

use http::{Method, StatusCode};
use prony_source::http_api::{ApiConnection, ApiLimits, ApiResponse, ApiRoute, HttpApi};

use self::{connection::SeriesConnection, shared::ApiShared};
use crate::{access::role::RoleAccess, query::fault::Fault, series::Series};

/// The calls on one source of series; clones share what they need.
#[derive(Debug, Clone)]
pub(crate) struct SeriesApi {
    shared: Arc<ApiShared>,
}

impl SeriesApi {
    pub(crate) fn new(series: Arc<Series>) -> Self {
        Self { shared: Arc::new(ApiShared::new(series)) }
    }

    /// A connection of who may not do everything.
    pub(crate) fn connect_role(&self, role: RoleAccess, limits: ApiLimits) -> Box<dyn ApiConnection> {
        Box::new(SeriesConnection::new(Arc::clone(&self.shared), limits, Some(role)))
    }
}

impl HttpApi for SeriesApi {
    fn prefixes(&self) -> &'static [&'static str] {
        &["/v2", "/version", "/write", "/api/v1/write", "/api/v2/write", temporal::PREFIX]
    }

    fn content_codings(&self, path: &str) -> &'static [&'static str] {
        if path.ends_with("/write") { incoming::CODINGS } else { &[] }
    }

    fn canonical_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        Cow::Borrowed(path::canonical(path))
    }

    fn route(&self, method: &Method, path: &str) -> ApiRoute {
        route::route(method, path)
    }

    fn responds_to_health(&self) -> bool {
        true
    }

    fn allow(&self) -> &'static str {
        if self.shared.series.settings.common.read_only {
            "GET, HEAD, POST, OPTIONS"
        } else {
            "GET, HEAD, POST, DELETE, OPTIONS"
        }
    }

    fn refuse(&self, status: StatusCode, message: &str, response: &mut ApiResponse) {
        Fault::Problem { status, detail: message.to_owned().into() }.write(response);
    }

    fn connect(&self, limits: ApiLimits) -> Box<dyn ApiConnection> {
        Box::new(SeriesConnection::new(Arc::clone(&self.shared), limits, None))
    }
}
