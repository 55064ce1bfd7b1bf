//! What rules do to the execution of an operation: a response that is kept is given, what is under way already is waited for, and
//! all else waits for a place among those that run.

use std::sync::Arc;

use prony_access::{CacheScope, OperationRefusal, RuleId, Way};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    selection::OperationKind,
};
use prony_source::for_this_request;
use tokio::sync::watch;

use super::{
    kept_response::{Freshness, KeptResponse},
    response_cache::ResponseKey,
    shared_executions::{Outcome, Participant},
    versions::Versions,
};
use crate::{
    access::{Keeping, Places},
    clock::monotonic_ns,
    graphql::{
        core::CoreEngine,
        execution::ExecutionContext,
        outcome::RequestError,
        pipeline::execute_and_assemble,
        plan::{Plan, Step},
        prepared::{Finished, Prepared},
        roles::Asker,
        stages::{Stage, StageClock},
    },
};

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
        let is_own = variables.caller().is_some()
            || variables.varying_headers().next().is_some()
            || variables.extensions().is_some()
            || variables.sent().is_some()
            || plan.interception.is_some();
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
    let (asker, rules) = prepared.rules().filter(|_| prepared.is_admitted)?;
    let reuse = Reuse::of(prepared, asker, &rules)?;
    let keeping = reuse.keeping?;
    core.site().response_cache.get(&reuse.key(prepared, keeping.scope), keeping.ttl, monotonic_ns())
}

/// Executes an operation that has rules, or takes its response from elsewhere.
pub(in crate::graphql) async fn finish(
    core: &CoreEngine,
    prepared: &Prepared,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    let rules = prepared.rules();
    let reuse = rules.as_ref().and_then(|(asker, rules)| Reuse::of(prepared, asker, rules));
    let Some(reuse) = reuse else {
        return if prepared.kind() == OperationKind::Mutation {
            to_its_end(core, prepared, clock).await
        } else {
            in_place(core, prepared, clock).await
        };
    };
    // What others are given comes in no coding.
    let prepared = &prepared.uncoded();
    let kept_by = reuse.keeping.map(|keeping| (reuse.key(prepared, keeping.scope), keeping));
    let cache = &core.site().response_cache;
    let kept = kept_by.as_ref().and_then(|(key, keeping)| cache.get(key, keeping.ttl, monotonic_ns()));
    if let Some(kept) = kept {
        return Ok(kept.into());
    }
    let versions = prepared.plan.versions(|| versions_of(core, &prepared.plan));
    let version = versions.current();
    let mut finished = if reuse.deduplicates {
        let key = reuse.key(prepared, CacheScope::Shared);
        let finished = execute_once(core, &key, version, prepared).await?;
        clock.ended(Stage::Execute);
        finished
    } else {
        in_place(core, prepared, clock).await?
    };
    if let (Some((key, keeping)), false) = (kept_by, finished.ending.has_errors) {
        let is_public = keeping.scope == CacheScope::Shared && reuse.asker.identity.way == Way::Anonymous;
        let vary = &core.site().vary();
        let freshness = Freshness { keeping, is_public, versions, version, vary };
        let now_ns = monotonic_ns();
        // Of those for whom it was executed once, the first keeps it.
        let known = reuse.deduplicates.then(|| cache.get_again(&key, now_ns)).flatten();
        finished.kept = known.or_else(|| cache.keep(key, &finished.body.bytes, freshness, now_ns));
    }
    Ok(finished)
}

/// As [`in_place`], of a mutation that may be written when its client has gone: it has its places to its end.
async fn to_its_end(
    core: &CoreEngine,
    prepared: &Prepared,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    let places = places(prepared).await?;
    if places.is_empty() {
        return Ok(execute_and_assemble(core, prepared, clock).await);
    }
    let (core, prepared) = (core.this(), prepared.clone());
    let task = tokio::task::spawn_local(for_this_request(async move {
        let finished = execute_and_assemble(&*core, &prepared, &mut StageClock::start()).await;
        drop(places);
        finished
    }));
    let finished = task.await.map_err(|_| broken())?;
    clock.ended(Stage::Execute);
    Ok(finished)
}

async fn places<S>(prepared: &Prepared<S>) -> Result<Places, RequestError> {
    let Some((asker, rules)) = prepared.rules() else { return Ok(Places::default()) };
    let places = asker.places(&rules).await;
    places.map_err(|state| RequestError::Denied(OperationRefusal::Limit(state)))
}

/// Executes an operation for itself, once it has its places.
pub(crate) async fn in_place<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    let places = places(prepared).await?;
    if !places.is_empty() {
        clock.waited();
    }
    let finished = execute_and_assemble(core, prepared, clock).await;
    drop(places);
    Ok(finished)
}

/// What the response of a plan depends on.
fn versions_of(core: &CoreEngine, plan: &Plan) -> Versions {
    let (mut known, mut others) = (Vec::new(), Vec::new());
    for step in &plan.steps {
        let Step::Source(source, root) = step else { continue };
        match core.session(*source).data_version(root) {
            Some(version) => known.push(version),
            None => others.push(*source),
        }
    }
    Versions::new(known, others, Arc::clone(&core.site().mutations))
}

/// The response to a query whose response depends on what has this version: of an execution that has begun since, or of a new one.
async fn execute_once(
    core: &CoreEngine,
    key: &ResponseKey,
    version: u64,
    prepared: &Prepared,
) -> Result<Finished, RequestError> {
    let executions = &core.site().shared_executions;
    loop {
        let (participant, begins) = executions.participate(key, version);
        let is_first = begins.is_some();
        if let Some(outcome) = begins {
            begin(&participant, core, key, prepared.clone(), outcome);
        }
        match participant.outcome().await {
            Some(Err(_)) if !is_first => {
                // Who began it was not let in, which says nothing of others.
            }
            Some(outcome) => return outcome,
            None => return Err(broken()),
        }
    }
}

fn broken() -> RequestError {
    let message = "the request could not be answered: the server's log has more";
    RequestError::Invalid(vec![GraphqlError::new(ErrorCode::SourceFailed, message)])
}

/// Executes the operation in a task of its own, so that nobody who leaves takes it along.
fn begin(
    participant: &Participant<'_>,
    core: &CoreEngine,
    key: &ResponseKey,
    prepared: Prepared,
    sender: watch::Sender<Outcome>,
) {
    let (core, key, execution) = (core.this(), key.clone(), participant.execution());
    let task = tokio::task::spawn_local(for_this_request(async move {
        let outcome = in_place(&*core, &prepared, &mut StageClock::start()).await;
        core.site().shared_executions.close(&key, &execution);
        let _ = sender.send(Some(outcome));
    }));
    participant.is_executed_by(task.abort_handle());
}
