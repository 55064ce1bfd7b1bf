//! Lets requests in: who asks becomes part of their context, and who is refused is told so, counted and logged.

use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use prony_access::AuthRefusal;
use prony_graphql::json;

use super::{
    apis::{ApiId, HttpApis, refuse},
    reply::{JSON, Reply, reply},
};
use crate::{
    access::fields,
    graphql::{ExecutionContext, RequestContext},
};

/// The context of a request; what is refused is counted and logged.
pub(crate) async fn context(
    core: &impl ExecutionContext,
    head: &Parts,
) -> Result<RequestContext, AuthRefusal> {
    let asker = core.site().access.identify(fields(&head.headers)).await;
    let asker = asker.inspect_err(|refusal| note(core, refusal))?;
    Ok(RequestContext::of(core.settings(), head, asker))
}

/// Counts a refusal, and tells the log why.
pub(crate) fn note(core: &impl ExecutionContext, refusal: &AuthRefusal) {
    core.metrics().auth_refused(refusal.kind);
    tracing::info!(kind = refusal.kind.name(), reason = refusal.reason, "a request was refused");
}

/// The response to a refused request, in the form of a GraphQL error.
pub(crate) fn refused(refusal: &AuthRefusal) -> Reply {
    let mut response = reply(refusal.status(), JSON, refusal_body(refusal));
    mark(response.headers_mut(), refusal);
    response
}

/// The same in the form of a source's API.
pub(super) fn refused_by(apis: &HttpApis, id: ApiId, refusal: &AuthRefusal) -> Reply {
    let mut response = refuse(apis, id, refusal.status(), refusal.message());
    mark(response.headers_mut(), refusal);
    response
}

/// What goes with a refusal (RFC 6750, section 3).
fn mark(headers: &mut HeaderMap, refusal: &AuthRefusal) {
    if let Some(challenge) = refusal.www_authenticate() {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if refusal.status() == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
}

fn refusal_body(refusal: &AuthRefusal) -> Vec<u8> {
    let mut body = b"{\"errors\":[{\"message\":".to_vec();
    json::write_string(&mut body, refusal.message());
    body.extend_from_slice(b",\"extensions\":{\"code\":");
    json::write_string(&mut body, refusal.code());
    body.extend_from_slice(b"}}]}");
    body
}
