//! The HTTP API of a graph: its databases, and RageDB's calls on them. What a graph holds, and when a write is durable, is the
//! store's; reading requests and writing responses is the server's.
//!
//! A path is read as a [`path::Call`], the store is asked, and JSON text is written. A write waits, without holding up its core, until it
//! is durable, and a read until what it has seen is; where nothing of that is pending it is responded to at once ([`pending`]).

mod access;
mod bulk;
mod connection;
mod databases;
mod error;
mod index;
mod json;
mod path;
mod pending;
mod property;
mod read;
mod role_write;
mod route;
mod script_call;
mod scripts;
mod slow_call;
mod turns;
mod write;

use std::{borrow::Cow, sync::Arc};

use http::{Method, StatusCode};
use prony_source::http_api::{ApiConnection, ApiLimits, ApiResponse, ApiRoute, HttpApi};

pub(crate) use self::{
    access::RoleAccess,
    connection::GraphConnection,
    script_call::RunScripts,
    scripts::{ScriptSettings, Scripts},
};

use crate::databases::Databases;

/// The calls on the databases of one graph source.
#[derive(Debug)]
pub(crate) struct GraphApi {
    databases: Arc<Databases>,
    /// Whether calls that write are refused.
    read_only: bool,
    /// None where scripts are off.
    scripts: Option<Arc<dyn RunScripts>>,
}

impl GraphApi {
    pub(crate) fn new(
        databases: Arc<Databases>,
        read_only: bool,
        scripts: Option<Arc<dyn RunScripts>>,
    ) -> Self {
        Self { databases, read_only, scripts }
    }
}

impl HttpApi for GraphApi {
    fn prefixes(&self) -> &'static [&'static str] {
        &["/db/", "/dbs"]
    }

    fn allow(&self) -> &'static str {
        if self.read_only { "GET, HEAD, OPTIONS" } else { "GET, HEAD, POST, PUT, DELETE, OPTIONS" }
    }

    fn canonical_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        path::canonical(path)
    }

    /// Clients of RageDB know its 404.
    fn takes_unknown_paths(&self) -> bool {
        true
    }

    fn route(&self, method: &Method, path: &str) -> ApiRoute {
        route::route(method, path)
    }

    fn refuse(&self, status: StatusCode, message: &str, response: &mut ApiResponse) {
        response.set_json_text(status, message);
    }

    fn connect(&self, limits: ApiLimits) -> Box<dyn ApiConnection> {
        let (databases, scripts) = (Arc::clone(&self.databases), self.scripts.clone());
        Box::new(GraphConnection::new(databases, limits, self.read_only, None, scripts))
    }
}
