//! What rules do to the execution of an operation: a response that is kept is given, what is under way already is waited for, and
//! all else waits for a place among those that run.

use std::sync::Arc;

use prony_access::{CacheScope, OperationRefusal, RuleId, Way};
use prony_graphql::selection::OperationKind;

use super::{
    core::{CoreEngine, ExecutionContext},
    outcome::RequestError,
    pipeline::{Finished, Prepared, execute_and_assemble},
    response_cache::{Freshness, KeptResponse, ResponseKey},
    roles::{Asker, monotonic_ns},
    shared_executions,
    stages::{Stage, StageClock},
};
use crate::access::{Keeping, Places};

/// How responses to a query may be used for others.
struct Reuse<'p> {
    asker: &'p Asker,
    keeping: Option<Keeping>,
    deduplicates: bool,
}

impl<'p> Reuse<'p> {
    /// None where the response is of this request alone.
    fn of(prepared: &'p Prepared, asker: &'p Asker, rules: &[RuleId]) -> Option<Self> {
        let Prepared { plan, variables, .. } = prepared;
        // What functions, interceptors and other servers make of who asks is not known here, nor what is joined depends on.
        let is_own =
            variables.caller().is_some() || !variables.headers().is_empty() || plan.interception.is_some();
        if prepared.kind() != OperationKind::Query || is_own || !plan.joins.is_empty() {
            return None;
        }
        let fields = prepared.plan.selection.fields.len();
        let is_allowed = |keeping: &Keeping| keeping.scope == CacheScope::User || !asker.sees_by_session();
        let keeping = asker.rules.keeping(rules, fields).filter(is_allowed);
        let deduplicates = asker.rules.deduplicates(rules, fields);
        (keeping.is_some() || deduplicates).then_some(Self { asker, keeping, deduplicates })
    }

    fn key(&self, prepared: &Prepared, scope: CacheScope) -> ResponseKey {
        ResponseKey::new(&prepared.plan, &prepared.variables, self.asker, scope)
    }
}

/// The response to a query, where one is kept.
pub(crate) fn kept(core: &CoreEngine, prepared: &Prepared) -> Option<Arc<KeptResponse>> {
    let (asker, rules) = prepared.rules()?;
    let reuse = Reuse::of(prepared, asker, &rules)?;
    let key = reuse.key(prepared, reuse.keeping?.scope);
    core.site().response_cache.get(&key, monotonic_ns())
}

/// Executes an operation that has rules, or takes its response from elsewhere.
pub(super) async fn finish(
    core: &CoreEngine,
    prepared: &Prepared,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    let rules = prepared.rules();
    let reuse = rules.as_ref().and_then(|(asker, rules)| Reuse::of(prepared, asker, rules));
    let Some(reuse) = reuse else { return in_place(core, prepared, clock).await };
    let key = reuse.keeping.map(|keeping| reuse.key(prepared, keeping.scope));
    let cache = &core.site().response_cache;
    if let Some(kept) = key.as_ref().and_then(|key| cache.get(key, monotonic_ns())) {
        return Ok(kept.finished());
    }
    let versions = prepared.plan.versions(core);
    let version = versions.current();
    let mut finished = if reuse.deduplicates {
        let key = reuse.key(prepared, CacheScope::Shared);
        let finished = shared_executions::join(core, &key, version, prepared).await?;
        clock.ended(Stage::Execute);
        finished
    } else {
        in_place(core, prepared, clock).await?
    };
    if let (Some(key), Some(keeping), false) = (key, reuse.keeping, finished.ending.has_errors) {
        let is_public = keeping.scope == CacheScope::Shared && reuse.asker.identity.way == Way::Anonymous;
        let freshness = Freshness { keeping, is_public, versions, version };
        let now_ns = monotonic_ns();
        // Of those for whom it was executed once, the first keeps it.
        let known = reuse.deduplicates.then(|| cache.get_again(&key, now_ns)).flatten();
        finished.kept = known.or_else(|| cache.keep(key, &finished.body.bytes, freshness, now_ns));
    }
    Ok(finished)
}

/// Executes an operation for itself, once it has its places.
pub(crate) async fn in_place<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    let places = match prepared.rules() {
        Some((asker, rules)) => {
            let places = asker.places(&rules).await;
            places.map_err(|state| RequestError::Denied(OperationRefusal::Limit(state)))?
        }
        None => Places::default(),
    };
    let finished = execute_and_assemble(core, prepared, clock).await;
    drop(places);
    Ok(finished)
}
