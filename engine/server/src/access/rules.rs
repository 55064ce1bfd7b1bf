//! The rules of a configuration for operations, with the queues of those that bound how many run at a time.

use std::{sync::Arc, time::Duration};

use prony_access::{
    AccessSettings, Asker, CacheScope, LimitCounts, LimitState, OperationRefusal, Operations, RuleId, Times,
};

use super::{
    places::{self, ConcurrencyQueue, Places, Queues},
    shared_limits::SharedLimits,
};

/// The rules; shared by all cores.
#[derive(Debug)]
pub(crate) struct OperationRules {
    pub(crate) operations: Operations,
    /// By [`RuleId`].
    queues: Box<[Option<Arc<ConcurrencyQueue>>]>,
    /// None where counts are this server's own.
    shared: Option<Arc<SharedLimits>>,
}

/// How the responses to an operation are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keeping {
    pub(crate) ttl: Duration,
    pub(crate) scope: CacheScope,
}

impl OperationRules {
    pub(super) fn new(
        settings: &AccessSettings,
        counts: &Arc<LimitCounts>,
        queues: &Queues,
        shared: Option<Arc<SharedLimits>>,
    ) -> Self {
        let operations = Operations::with_counts(settings, Arc::clone(counts));
        let queues = queues.of(&operations);
        Self { operations, queues, shared }
    }

    /// With counts and queues of its own.
    pub(crate) fn alone(settings: &AccessSettings) -> Self {
        Self::new(settings, &Arc::default(), &Queues::default(), None)
    }

    /// Counts an operation with these rules, as far as that needs no waiting: false where it does, and nothing is counted.
    pub(crate) fn try_admit(
        &self,
        rules: &[RuleId],
        asker: &Asker<'_>,
        times: Times,
    ) -> Result<bool, OperationRefusal> {
        match &self.shared {
            Some(shared) => shared.try_admit(&self.operations, rules, asker, times),
            None => self.operations.admit(rules, asker, times).map(|_| true),
        }
    }

    /// Counts an operation with these rules.
    pub(crate) async fn admit(
        &self,
        rules: &[RuleId],
        asker: &Asker<'_>,
        times: Times,
    ) -> Result<(), OperationRefusal> {
        match &self.shared {
            Some(shared) => shared.admit(&self.operations, rules, asker, times).await,
            None => self.operations.admit(rules, asker, times).map(|_| ()),
        }
    }

    /// How the responses to an operation with these rules are kept: for the shortest time of all its root fields, of which there
    /// are so many. None where one of them has no rule that says so.
    pub(crate) fn keeping(&self, rules: &[RuleId], fields: usize) -> Option<Keeping> {
        if rules.len() != fields {
            return None;
        }
        let rules = rules.iter().map(|rule| self.operations.settings(*rule).cache);
        let all: Vec<_> = rules.collect::<Option<_>>()?;
        let ttl_ms = all.iter().map(|rule| rule.ttl_ms).min()?;
        let is_shared = all.iter().all(|rule| rule.scope == CacheScope::Shared);
        let scope = if is_shared { CacheScope::Shared } else { CacheScope::User };
        Some(Keeping { ttl: Duration::from_millis(ttl_ms), scope })
    }

    /// Whether queries with these rules that ask the same at the same time are executed once: each of so many root fields must
    /// have a rule that says so.
    pub(crate) fn deduplicates(&self, rules: &[RuleId], fields: usize) -> bool {
        rules.len() == fields && rules.iter().all(|rule| self.operations.settings(*rule).deduplicate)
    }

    /// Waits until an operation with these rules may run.
    pub(crate) async fn places(&self, rules: &[RuleId], asker: &Asker<'_>) -> Result<Places, LimitState> {
        places::take(&self.queues, &self.operations, rules, asker).await
    }

    /// What a subscription with these rules needs, as long as it lives.
    pub(crate) fn places_of_subscription(
        &self,
        rules: &[RuleId],
        asker: &Asker<'_>,
    ) -> Result<Places, LimitState> {
        places::take_for_subscription(&self.queues, &self.operations, rules, asker)
    }
}
