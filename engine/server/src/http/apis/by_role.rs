//! Requests to an API of those who may not do everything: a connection that the source makes for their role responds.

use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use prony_access::AuthRefusal;
use prony_graphql::variables::Variables;

use super::{ApiId, by_hyper};
use crate::{
    graphql::{Asker, CoreEngine, ExecutionContext as _, RequestContext},
    http::{authentication, reply::Reply},
};

/// The response.
///
/// # Errors
/// The role may not ask this.
pub(super) async fn respond(
    core: &CoreEngine,
    id: ApiId,
    asker: &Asker,
    request: Request<Incoming>,
) -> Result<Reply, AuthRefusal> {
    let apis = &core.site().apis;
    let connection = {
        let context = RequestContext { asker: Some(asker.clone()), ..RequestContext::default() };
        let served = core.served(&context);
        let schema = &served.sources[usize::from(apis.source(id).0)];
        let variables = Variables::default().with_session(Arc::clone(&asker.identity.session));
        schema.api_connection(variables, apis.limits())
    };
    let reply = match connection {
        Some(mut connection) => by_hyper::respond_over(core, &mut *connection, id, request).await,
        None => None,
    };
    reply.ok_or_else(|| authentication::api_role_refusal(asker))
}
