//! The paths that the server has.

use super::{
    apis::{ApiId, HttpApis},
    console, events, explain,
};
use crate::config::Settings;

/// A path that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    Graphql,
    /// Reserved streams of server-sent events.
    GraphqlStream,
    Health,
    Live,
    Ready,
    Metrics,
    /// What operations become.
    Explain,
    /// GraphiQL and its parts.
    Console,
    /// Of a source.
    Api(ApiId),
    Unknown,
}

impl Path {
    pub(super) fn of(path: &str, settings: &Settings, apis: &HttpApis) -> Self {
        match path {
            "/graphql" => Self::Graphql,
            "/graphql/stream" => Self::GraphqlStream,
            "/health" => Self::Health,
            "/live" => Self::Live,
            "/ready" => Self::Ready,
            "/metrics" if settings.admin_listen.is_empty() => Self::Metrics,
            explain::PATH if explain::is_on(settings) => Self::Explain,
            _ => match apis.find(path) {
                Some(id) => Self::Api(id),
                None if settings.console && console::has(path) => Self::Console,
                None => Self::Unknown,
            },
        }
    }

    pub(super) fn allow(self, apis: &HttpApis) -> &'static str {
        match self {
            Self::Graphql => "GET, HEAD, POST, OPTIONS",
            Self::GraphqlStream => events::ALLOW,
            Self::Explain => explain::ALLOW,
            Self::Api(id) => apis.get(id).allow(),
            _ => "GET, HEAD, OPTIONS",
        }
    }
}
