//! The context of a request: what is known of who asks before anything is read of the operation. Every way in makes one from
//! the request's head; it decides which schema is served and goes with the operation to its end.

use http::request::Parts;
use prony_graphql::request::Asked;

use crate::config::Settings;

/// Who asks. Nobody is told from anybody else where functions do not want to know; all are served from one schema then.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestContext {
    /// What functions have made of the request's head: their own value, or why they refuse.
    pub(crate) caller: Option<Asked>,
}

impl RequestContext {
    pub(crate) fn of(settings: &Settings, head: &Parts) -> Self {
        Self { caller: settings.functions.caller(head) }
    }
}
