//! Keeps the key sets of issuers fresh.

use std::{rc::Rc, sync::Arc, time::Duration};

use prony_access::KeySetId;
use prony_source::{
    Recorded, RequestRecord,
    trace::{OpenSpan, SpanKind, begin_span, in_detached_span},
};

use super::{
    Access, AccessPolicy,
    fetch::{self, Fetched},
    spans,
};
use crate::{clock::unix_now, observe::Tracer};

/// How long a request waits for keys that somebody else is fetching already, and how often it looks.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// How a key set fares, for `/health`.
#[derive(Debug, serde::Serialize)]
pub(crate) struct KeySetHealth {
    address: String,
    keys: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<i64>,
}

/// Has a key set fetched, or waits until somebody else has.
pub(super) async fn fetch_or_wait(policy: &Arc<AccessPolicy>, id: KeySetId) {
    let fetched = |policy: &AccessPolicy| {
        policy.authenticator.key_set_status(id).map(|status| (status.fetched_at, status.failures))
    };
    // Of before it is known that somebody else fetches, who may have done so a moment later.
    let before = fetched(policy);
    if policy.authenticator.begin_fetch(id, unix_now()) {
        return fetch_begun(policy, id).await;
    }
    let waited = tokio::time::timeout(LONGEST_WAIT, async {
        while fetched(policy) == before
            && policy.authenticator.next_refresh(id, unix_now()).is_some_and(|at| at > unix_now())
        {
            tokio::time::sleep(LOOK).await;
        }
    });
    let span = begin_span(spans::KEYS_WAIT, SpanKind::Internal).and_then(OpenSpan::detach);
    let _ = in_detached_span(span, waited, |_, _| ()).await;
}

/// Fetches a key set that nobody else is fetching, to its end: others need it where who has begun it leaves.
async fn fetch_begun(policy: &Arc<AccessPolicy>, id: KeySetId) {
    let authenticator = &policy.authenticator;
    let Some((_, address, timeout)) = authenticator.key_sets().find(|(known, ..)| *known == id) else {
        return;
    };
    let (at, shown) = (Arc::clone(policy), address.to_owned());
    fetch::key_set(address, timeout, move |fetched| take(&at, id, &shown, fetched)).await;
}

/// Takes the keys of an address, or notes why there are none.
fn take(policy: &AccessPolicy, id: KeySetId, address: &str, fetched: Result<&Fetched, String>) {
    let authenticator = &policy.authenticator;
    let outcome = match fetched {
        Ok(fetched) => authenticator
            .replace_keys(id, &fetched.body, fetched.cache, unix_now())
            .map_err(|error| error.to_string()),
        Err(reason) => {
            authenticator.failed(id, &reason, unix_now());
            Err(reason)
        }
    };
    match outcome {
        Ok(_) => tracing::debug!(address, "keys were fetched"),
        Err(reason) => {
            tracing::warn!(address, reason, "keys could not be fetched; those that are known stay");
        }
    }
}

impl Access {
    /// Fetches key sets before they are stale, each fetch a trace of its own, as nobody waits for it; never returns.
    pub(crate) async fn keep_keys_fresh(&self, tracer: &Tracer) {
        /// A new configuration may have other sets.
        const LONGEST: Duration = Duration::from_secs(1);
        loop {
            let Some(policy) = self.current.load_full() else {
                tokio::time::sleep(LONGEST).await;
                continue;
            };
            for id in policy.key_set_ids() {
                let now = unix_now();
                if policy.authenticator.next_refresh(id, now).is_some_and(|due| due <= now)
                    && policy.authenticator.begin_fetch(id, now)
                {
                    let policy = Arc::clone(&policy);
                    let trace = tracer.begin(None, SpanKind::Internal, || "refresh keys".into());
                    let record = RequestRecord::traced(Box::default(), trace);
                    tokio::task::spawn_local(Recorded::new(Rc::clone(&record), async move {
                        fetch_begun(&policy, id).await;
                        if let Some(trace) = &record.trace {
                            trace.end(false);
                        }
                    }));
                }
            }
            tokio::time::sleep(LONGEST).await;
        }
    }

    /// For `/health`.
    pub(crate) fn key_set_health(&self) -> Vec<KeySetHealth> {
        let Some(policy) = self.current.load_full() else { return Vec::new() };
        let states =
            policy.key_set_ids().into_iter().filter_map(|id| policy.authenticator.key_set_status(id));
        let health = |status: prony_access::KeySetStatus| KeySetHealth {
            address: status.address,
            keys: status.keys,
            failing_since: status.failing_since,
        };
        states.map(health).collect()
    }
}

impl AccessPolicy {
    fn key_set_ids(&self) -> Vec<KeySetId> {
        self.authenticator.key_sets().map(|(id, ..)| id).collect()
    }
}
