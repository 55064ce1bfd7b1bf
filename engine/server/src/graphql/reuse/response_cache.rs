//! Responses to queries that are kept for a time and given to others who ask the same, as long as nothing that they depend on
//! has changed. They are bounded in bytes, and shared by all cores. Errors are never kept.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use prony_access::{CacheScope, Way};
use prony_graphql::{
    cache::{CacheStatistics, MAX_ENTRY_SHARE},
    variables::Variables,
};
use quick_cache::{Weighter, sync::Cache};

use super::kept_response::{Freshness, KeptResponse};
use crate::graphql::{
    plan::{Plan, PlanId},
    roles::{Asker, RelevantValues},
};

/// What makes requests the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ResponseKey {
    plan: PlanId,
    /// As JSON: the variables, the role, the values of the session that its permissions use, the scopes, and the user where the
    /// response is theirs alone.
    text: Vec<u8>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct ResponseCache {
    kept: Cache<ResponseKey, Arc<KeptResponse>, ByBytes>,
    max_entry_bytes: u64,
    hits: AtomicU64,
    misses: AtomicU64,
    oversized: AtomicU64,
    /// Entries that have come, and that have been taken out or replaced.
    inserted: AtomicU64,
    removed: AtomicU64,
}

#[derive(Debug, Clone)]
struct ByBytes;

/// Of an entry beside its texts.
const ENTRY_BYTES: u64 = 256;
/// Longer than the texts of most keys, so that they are written without moving.
const KEY_BYTES: usize = 256;
/// Only sizes the cache's table.
const USUAL_BYTES: u64 = 2 << 10;

impl Weighter<ResponseKey, Arc<KeptResponse>> for ByBytes {
    fn weight(&self, key: &ResponseKey, kept: &Arc<KeptResponse>) -> u64 {
        (key.text.len() + kept.body.len()) as u64 + ENTRY_BYTES
    }
}

impl ResponseKey {
    pub(super) fn new(plan: &Plan, variables: &Variables, asker: &Asker, scope: CacheScope) -> Self {
        let identity = &asker.identity;
        let (role, values) = (&asker.roles.role(identity.role).name, RelevantValues(asker));
        let user = identity.subject.as_deref().filter(|_| scope == CacheScope::User);
        // Directives of functions ask for these.
        let granted = (identity.way == Way::Anonymous, identity.scopes.iter_sorted());
        let user = user.map(|user| (user, identity.way.name(), &identity.issuer));
        let mut text = Vec::with_capacity(KEY_BYTES);
        let all = (variables.values(), role, values, granted, user);
        serde_json::to_writer(&mut text, &all).expect("JSON values are JSON, and a vector takes all");
        Self { plan: plan.id, text }
    }
}

impl ResponseCache {
    /// Keeps so many bytes at most.
    pub(crate) fn new(max_bytes: u64) -> Self {
        let items = (max_bytes / USUAL_BYTES).max(16) as usize;
        Self {
            kept: Cache::with_weighter(items, max_bytes, ByBytes),
            max_entry_bytes: max_bytes / MAX_ENTRY_SHARE as u64,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            oversized: AtomicU64::new(0),
            inserted: AtomicU64::new(0),
            removed: AtomicU64::new(0),
        }
    }

    /// The response to a request, where one is kept that is neither too old by the rules of now nor of what has changed. `now_ns`
    /// is of a clock that is never set back.
    pub(super) fn get(&self, key: &ResponseKey, ttl: Duration, now_ns: u64) -> Option<Arc<KeptResponse>> {
        let kept = self.kept.get(key);
        let is_known = kept.is_some();
        let fresh = kept.filter(|kept| kept.is_fresh(now_ns) && kept.age(now_ns) < ttl);
        let count = if fresh.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Relaxed);
        if is_known && fresh.is_none() && self.kept.remove(key).is_some() {
            self.removed.fetch_add(1, Relaxed);
        }
        fresh
    }

    /// As [`Self::get`], for who has looked already.
    pub(super) fn get_again(&self, key: &ResponseKey, now_ns: u64) -> Option<Arc<KeptResponse>> {
        self.kept.peek(key).filter(|kept| kept.is_fresh(now_ns))
    }

    /// Keeps a response, where it is not too large.
    pub(super) fn keep(
        &self,
        mut key: ResponseKey,
        body: &[u8],
        freshness: Freshness<'_>,
        now_ns: u64,
    ) -> Option<Arc<KeptResponse>> {
        let kept = Arc::new(KeptResponse::new(body, freshness, now_ns));
        if ByBytes.weight(&key, &kept) > self.max_entry_bytes {
            self.oversized.fetch_add(1, Relaxed);
            return None;
        }
        if self.kept.peek(&key).is_some() {
            self.removed.fetch_add(1, Relaxed);
        }
        self.inserted.fetch_add(1, Relaxed);
        key.text.shrink_to_fit();
        self.kept.insert(key, Arc::clone(&kept));
        Some(kept)
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        let entries = self.kept.len() as u64;
        let gone = self.removed.load(Relaxed) + entries;
        CacheStatistics {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            oversized: self.oversized.load(Relaxed),
            // Approximately, while others come and go.
            evicted: self.inserted.load(Relaxed).saturating_sub(gone),
            entries,
            bytes: self.kept.weight(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{super::versions::Versions, *};
    use crate::access::Keeping;

    pub(in crate::graphql::reuse) fn key(variables: &str) -> ResponseKey {
        ResponseKey { plan: PlanId(1), text: variables.into() }
    }

    fn keep(cache: &ResponseCache, variables: &str, bytes: usize, now_ns: u64) -> bool {
        let keeping = Keeping { ttl: Duration::from_nanos(100), scope: CacheScope::Shared };
        let versions = Arc::new(Versions::of_nothing());
        let freshness = Freshness { keeping, is_public: true, versions: &versions, version: 0, vary: "" };
        cache.keep(key(variables), &vec![b'x'; bytes], freshness, now_ns).is_some()
    }

    #[test]
    fn a_response_is_kept_for_its_time() {
        let cache = ResponseCache::new(1 << 20);
        assert!(keep(&cache, "a", 10, 1_000));
        let ttl = Duration::from_nanos(200);
        assert!(cache.get(&key("a"), ttl, 1_000).is_some() && cache.get(&key("b"), ttl, 1_000).is_none());
        assert!(cache.get(&key("a"), ttl, 1_099).is_some());
        assert!(cache.get(&key("a"), ttl, 1_100).is_none(), "it is too old");
        let statistics = cache.statistics();
        assert_eq!((statistics.hits, statistics.misses, statistics.entries), (2, 2, 0));
    }

    #[test]
    fn a_response_is_kept_no_longer_than_the_rules_of_now_say() {
        let cache = ResponseCache::new(1 << 20);
        assert!(keep(&cache, "a", 10, 1_000));
        let shorter = Duration::from_nanos(50);
        assert!(cache.get(&key("a"), shorter, 1_049).is_some());
        assert!(cache.get(&key("a"), shorter, 1_050).is_none());
    }

    #[test]
    fn the_cache_is_bounded_in_bytes() {
        const MAX_BYTES: u64 = 1 << 20;
        let cache = ResponseCache::new(MAX_BYTES);
        for number in 0..20_000 {
            assert!(keep(&cache, &number.to_string(), 1_000, 0));
        }
        let statistics = cache.statistics();
        assert!(statistics.bytes <= MAX_BYTES && statistics.entries > 100, "{statistics:?}");
        assert!(!keep(&cache, "large", 40_000, 0), "one response does not push out all others");
        assert_eq!(cache.statistics().oversized, 1);
    }
}
