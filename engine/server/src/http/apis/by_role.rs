//! Requests to an API of those who may not do everything: the source's schema for their role responds, where it can.

use std::sync::Arc;

use hyper::body::Body;
use prony_graphql::variables::Variables;
use prony_source::http_api::{ApiRequest, ApiResponse};

use super::{ApiId, into_reply};
use crate::{
    graphql::{Asker, CoreEngine, ExecutionContext as _, RequestContext},
    http::{authentication, reply::Reply},
};

/// The response, or a refusal where the role may not ask this.
pub(in crate::http) fn respond<B: Body>(
    core: &CoreEngine,
    id: ApiId,
    asker: &Asker,
    request: &http::Request<B>,
) -> Reply {
    let (method, uri) = (request.method(), request.uri());
    let context = RequestContext { asker: Some(asker.clone()), ..RequestContext::default() };
    let apis = &core.site().apis;
    let served = core.served(&context);
    let schema = &served.sources[usize::from(apis.source(id).0)];
    let variables = Variables::default().with_session(Arc::clone(&asker.identity.session));
    let api_request =
        ApiRequest { method, path: uri.path(), query: uri.query(), headers: request.headers(), body: None };
    let mut response = ApiResponse::default();
    if !schema.respond(&api_request, &variables, &mut response) {
        let refusal = authentication::api_role_refusal(asker);
        authentication::note(core, &refusal);
        return authentication::refused_by(apis, id, &refusal);
    }
    drop(core.metrics().request_begins());
    // What is left of a body that nobody reads would be taken for the next request.
    into_reply(response, None, !request.body().is_end_stream())
}
