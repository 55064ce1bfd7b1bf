//! Lets requests in: who asks becomes part of their context, and who is refused is told so, counted and logged.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts};
use prony_access::{AuthRefusal, OperationRefusal, RefusalKind};
use prony_graphql::{error::ErrorCode, json};

use super::{
    apis::{ApiId, HttpApis, into_reply, refusal as api_refusal, refuse},
    reply::{JSON, Reply, reply},
};
use crate::{
    access::{self, fields},
    graphql::{Asker, ExecutionContext, RequestContext},
    observe::AuditEntry,
};

/// The context of a request; what is refused is counted and logged.
pub(crate) async fn context(
    core: &impl ExecutionContext,
    head: &Parts,
) -> Result<RequestContext, AuthRefusal> {
    let asker = core.site().access.identify(fields(&head.headers), access::peer(head)).await;
    let asker = asker.inspect_err(|refusal| note(core, refusal, address(core, head)))?;
    let site = core.site();
    let context = site.context(head, asker);
    let headers = context.headers.map(|headers| site.trace_headers(headers));
    Ok(RequestContext { headers, ..context })
}

/// Who asks an HTTP API, where not everybody may do everything; what is refused is counted and logged.
pub(super) async fn api_asker(
    core: &impl ExecutionContext,
    head: &Parts,
) -> Result<Option<Asker>, AuthRefusal> {
    let asker = core.site().access.identify(fields(&head.headers), access::peer(head)).await;
    asker.inspect_err(|refusal| note(core, refusal, address(core, head)))
}

/// Whether all of the HTTP APIs of sources is for who asks.
pub(crate) fn is_unrestricted(asker: &Asker) -> bool {
    asker.roles.role(asker.identity.role).unrestricted
}

/// Why a request to an HTTP API is refused of which it is not known that a role may make it.
pub(super) fn api_role_refusal(asker: &Asker) -> AuthRefusal {
    let role = asker.roles.role(asker.identity.role);
    let reason = format!("role `{}` may not make this call", role.name);
    AuthRefusal::new(RefusalKind::RoleNotAllowed, reason)
}

/// From which address a request comes: behind trusted proxies the client's.
pub(super) fn address(core: &impl ExecutionContext, head: &Parts) -> IpAddr {
    core.site().access.client_address(fields(&head.headers), access::peer(head).address)
}

/// Counts a refusal of a request from this address, writes it down, and tells the log why.
pub(crate) fn note(core: &impl ExecutionContext, refusal: &AuthRefusal, address: IpAddr) {
    let audit = &core.site().audit;
    if audit.is_on() {
        audit.note(&AuditEntry { address: Some(address), ..AuditEntry::of_request(&refusal.reason) });
    }
    count(core, refusal);
}

/// Counts a refusal, and tells the log why; what an operation lacks is written down with the operation.
pub(super) fn count(core: &impl ExecutionContext, refusal: &AuthRefusal) {
    core.metrics().auth_refused(refusal.kind);
    tracing::info!(kind = refusal.kind.name(), reason = refusal.reason, "a request was refused");
}

/// The response to a refused request, in the form of a GraphQL error.
pub(crate) fn refused(refusal: &AuthRefusal) -> Reply {
    let mut response = reply(refusal.status(), JSON, error_body(refusal.message(), refusal.code()));
    mark(response.headers_mut(), refusal);
    response
}

/// The same in the form of a source's API.
pub(super) fn refused_by(apis: &HttpApis, id: ApiId, refusal: &AuthRefusal) -> Reply {
    let mut response = refuse(apis, id, refusal.status(), refusal.message());
    mark(response.headers_mut(), refusal);
    response
}

/// The status of an operation that is not let in.
pub(super) fn denied_status(refusal: &OperationRefusal) -> StatusCode {
    match refusal {
        OperationRefusal::Scope(refusal) => refusal.status(),
        OperationRefusal::Limit(_) => StatusCode::TOO_MANY_REQUESTS,
        OperationRefusal::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The response to an operation that is not let in: which scope, or when there is more (RFC 6585, section 4).
pub(super) fn denied(core: &impl ExecutionContext, refusal: &OperationRefusal) -> Reply {
    denied_in(core, refusal, |status, message, code| reply(status, JSON, error_body(message, code)))
}

/// The same of a call, in the form of its API. The connection is closed where the body of the request is not read.
pub(super) fn denied_by(
    core: &impl ExecutionContext,
    id: ApiId,
    refusal: &OperationRefusal,
    has_body: bool,
) -> Reply {
    let apis = &core.site().apis;
    denied_in(core, refusal, |status, message, _| {
        into_reply(api_refusal(apis, id, status, message), None, has_body)
    })
}

/// `form` makes a response of a status, a message and the value of `extensions.code`.
fn denied_in(
    core: &impl ExecutionContext,
    refusal: &OperationRefusal,
    form: impl FnOnce(StatusCode, &str, &str) -> Reply,
) -> Reply {
    let status = denied_status(refusal);
    let state = match refusal {
        OperationRefusal::Scope(refusal) => {
            count(core, refusal);
            let mut response = form(status, refusal.message(), refusal.code());
            mark(response.headers_mut(), refusal);
            return response;
        }
        OperationRefusal::Limit(state) => state,
        OperationRefusal::Unreachable => {
            let mut response = form(status, &refusal.to_string(), ErrorCode::Overloaded.as_str());
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            return response;
        }
    };
    let mut response = form(status, &state.refusal(), ErrorCode::TooManyRequests.as_str());
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(state.reset_s));
    for (name, value) in [("ratelimit-policy", state.policy()), ("ratelimit", state.rate_limit())] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
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

fn error_body(message: &str, code: &str) -> Vec<u8> {
    let mut body = b"{\"errors\":[{\"message\":".to_vec();
    json::write_string(&mut body, message);
    body.extend_from_slice(b",\"extensions\":{\"code\":");
    json::write_string(&mut body, code);
    body.extend_from_slice(b"}}]}");
    body
}
