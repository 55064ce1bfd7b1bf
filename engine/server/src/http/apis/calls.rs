//! Calls of the HTTP APIs of sources by the rules of `[[operation]]`: scopes and limits before a call is begun, places while it is
//! made, and what is counted and written down of it. Calls of all sources come here, but those that have no rule and of which nothing
//! is written down, which the fast path may have.

use http::{Method, Request};
use hyper::body::{Body as _, Incoming};
use prony_access::{OperationRefusal, RuleId};
use prony_source::http_api::ApiRoute;

use super::{ApiConnections, ApiId, by_hyper, by_role};
use crate::{
    access::Places,
    clock::monotonic_ns,
    graphql::{Asker, CoreEngine, ExecutionContext as _},
    http::{
        authentication::{self, is_unrestricted},
        reply::{Reply, ReplyBody},
    },
    observe::{AuditEntry, AuditField, AuditOutcome, OperationLabel, RefusalReason},
};

/// Whether a call is one of which nothing is asked, counted or written down here.
pub(in crate::http) fn is_free(
    core: &CoreEngine,
    id: ApiId,
    asker: Option<&Asker>,
    method: &Method,
    path: &str,
) -> bool {
    let is_written = || core.site().audit.is_on() && !matches!(*method, Method::GET | Method::HEAD);
    rule(core, id, asker, method, path).is_none() && !is_written()
}

fn rule(core: &CoreEngine, id: ApiId, asker: Option<&Asker>, method: &Method, path: &str) -> Option<RuleId> {
    let operations = &asker?.rules.operations;
    let canonical = operations.has_call_rules().then(|| core.site().apis.get(id).canonical_path(path));
    operations.call_rule(method.as_str(), canonical.as_deref().unwrap_or(path))
}

/// What is known of a call before it is made.
struct Call<'c> {
    core: &'c CoreEngine,
    id: ApiId,
    asker: Option<Asker>,
    rule: Option<RuleId>,
    method: Method,
    path: String,
    begun_ns: u64,
}

/// Makes a call, or refuses it.
pub(in crate::http) async fn respond(
    core: &CoreEngine,
    connections: &ApiConnections,
    id: ApiId,
    asker: Option<Asker>,
    request: Request<Incoming>,
) -> Reply {
    let (method, path) = (request.method(), request.uri().path());
    let call = Call {
        core,
        id,
        rule: rule(core, id, asker.as_ref(), method, path),
        asker,
        method: method.clone(),
        path: path.to_owned(),
        begun_ns: monotonic_ns(),
    };
    let places = match call.let_in().await {
        Ok(places) => places,
        Err(refusal) => {
            let has_body = !request.body().is_end_stream();
            return authentication::denied_by(core, id, &refusal, has_body);
        }
    };
    let mut reply = call.make(connections, request).await;
    if let ReplyBody::Stream(body) = reply.body_mut() {
        body.hold(Box::new(places));
    }
    reply
}

impl Call<'_> {
    async fn make(&self, connections: &ApiConnections, request: Request<Incoming>) -> Reply {
        let made = match &self.asker {
            Some(asker) if !is_unrestricted(asker) => {
                by_role::respond(self.core, self.id, asker, request).await
            }
            _ => Ok(by_hyper::respond(self.core, connections, self.id, request).await),
        };
        made.inspect(|reply| self.note_end(reply)).unwrap_or_else(|refusal| {
            authentication::count(self.core, &refusal);
            self.write_down(AuditOutcome::Refused, None, Some(&refusal.reason));
            authentication::refused_by(&self.core.site().apis, self.id, &refusal)
        })
    }

    /// Counts it by its rule, and waits for its places; a refusal is counted and written down.
    async fn let_in(&self) -> Result<Places, OperationRefusal> {
        let Some((asker, rule)) = self.asker.as_ref().zip(self.rule) else { return Ok(Places::default()) };
        let rules = [rule];
        if let Err(refusal) = asker.admit(&rules).await {
            self.note_refusal(&refusal, reason(&refusal));
            return Err(refusal);
        }
        asker.places(&rules).await.map_err(|state| {
            let refusal = OperationRefusal::Limit(state);
            self.note_refusal(&refusal, RefusalReason::Concurrency);
            refusal
        })
    }

    /// By the rule, as clients choose paths.
    fn label(&self) -> Option<OperationLabel> {
        let (asker, rule) = self.asker.as_ref().zip(self.rule)?;
        let name = asker.rules.operations.settings(rule).matches.to_string();
        Some(self.core.site().metrics.label(Some(&name)))
    }

    fn note_refusal(&self, refusal: &OperationRefusal, reason: RefusalReason) {
        if let Some(label) = self.label() {
            self.core.metrics().operations().refused(label, reason);
        }
        self.write_down(AuditOutcome::Refused, None, Some(&refusal.to_string()));
    }

    fn note_end(&self, reply: &Reply) {
        let status = reply.status();
        let has_failed = status.is_client_error() || status.is_server_error();
        if let Some(label) = self.label() {
            let time_ns = monotonic_ns().saturating_sub(self.begun_ns);
            self.core.metrics().operations().ended(label, has_failed, Some(time_ns), 0);
        }
        if self.core.site().audit.is_on() && self.route().changes {
            // What is streamed says at its end how much was done.
            let is_known = !matches!(reply.body(), ReplyBody::Stream(_));
            let rows = is_known.then(|| usize::from(status.is_success()));
            let outcome = if has_failed { AuditOutcome::Failed } else { AuditOutcome::Executed };
            self.write_down(outcome, rows, None);
        }
    }

    fn route(&self) -> ApiRoute {
        self.core.site().apis.get(self.id).route(&self.method, &self.path)
    }

    fn write_down(&self, outcome: AuditOutcome, rows: Option<usize>, reason: Option<&str>) {
        let audit = &self.core.site().audit;
        if !audit.is_on() {
            return;
        }
        let path = if audit.has_values() { self.path.clone().into() } else { self.route().path };
        let field = format!("{} {path}", self.method);
        let identity = self.asker.as_ref().map(|asker| &*asker.identity);
        audit.note(&AuditEntry {
            outcome,
            user: identity.and_then(|identity| identity.subject.as_deref()),
            way: identity.map(|identity| identity.way.name()),
            role: self.asker.as_ref().map(|asker| &*asker.role().name),
            address: self.asker.as_ref().map(|asker| asker.address),
            operation: None,
            fields: vec![AuditField { field: &field, rows, arguments: None }],
            reason,
        });
    }
}

fn reason(refusal: &OperationRefusal) -> RefusalReason {
    match refusal {
        OperationRefusal::Scope(_) => RefusalReason::Scope,
        OperationRefusal::Limit(_) => RefusalReason::Limit,
        OperationRefusal::Unreachable => RefusalReason::Unreachable,
    }
}
