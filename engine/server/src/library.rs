//! The engine as a library: a server for functions, in a few lines.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use prony_resolvers::Resolvers;
use prony_source::Source;

use crate::{
    config::{GivenSource, Settings},
    http::Route,
    runtime::{self, Running, StartError},
};

/// A server of functions, with everything that `prony serve` has: one thread a processor, limits, the plan cache,
/// `/graphql`, GraphiQL at `/`, `/health` and `/metrics`.
#[derive(Debug)]
#[must_use = "a server serves when it is started"]
pub struct Server {
    settings: Settings,
}

impl Server {
    /// Serves functions on 127.0.0.1:8080, unless told otherwise.
    pub fn new(resolvers: Resolvers) -> Self {
        Self::with_settings(Settings::default(), resolvers)
    }

    /// Serves functions, and the sources that the settings name, under the settings' limits.
    pub fn with_settings(mut settings: Settings, resolvers: Resolvers) -> Self {
        settings.functions.resolvers = Some(resolvers);
        Self { settings }
    }

    /// Serves a source of the program's own beside the others, under a name that no other has.
    pub fn source(mut self, name: &str, source: Arc<dyn Source>) -> Self {
        self.settings.functions.sources.push(GivenSource { name: name.to_owned(), source });
        self
    }

    /// Listens at this address; port 0 becomes a free one.
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.settings.listen = vec![address.into()];
        self
    }

    /// Answers all paths that begin with the prefix by a function. It must not block. Requests of pages of other origins that may change
    /// something (all but GET, HEAD and OPTIONS) are refused before, unless `cors_origins` names the origin.
    pub fn route(
        mut self,
        prefix: &str,
        handler: impl Fn(Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.settings.functions.routes.push(Route::new(prefix, handler));
        self
    }

    /// Takes GraphQL requests by POST that do not say their content type. Pages of any origin can send these, so
    /// it is for APIs that know their clients by something else than cookies.
    pub fn lenient_content_type(mut self) -> Self {
        self.settings.functions.lenient_content_type = true;
        self
    }

    /// Every other setting.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Binds and starts; returns when requests are answered.
    pub fn start(self) -> Result<Running, StartError> {
        runtime::start(self.settings)
    }

    /// Starts, and serves until SIGINT or SIGTERM.
    pub fn serve(self) -> Result<(), StartError> {
        runtime::serve(self.settings)
    }
}
