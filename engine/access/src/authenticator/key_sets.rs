//! Key sets at an address: when one is to be fetched, and what stays while it cannot be. The server fetches.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use arc_swap::ArcSwap;

use crate::{
    jwt::{FetchedKeySet, KeyFault, VerificationKey},
    settings::KeySetSettings,
};

/// A key set that is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeySetId(pub(super) u32);

/// What a response says of how long it may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheFacts {
    /// None where nothing is said.
    pub lifetime_s: Option<u64>,
}

/// How a key set fares, for `/health` and metrics. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySetStatus {
    pub address: String,
    /// Keys that can verify tokens.
    pub keys: usize,
    /// Keys of the set that are for something else.
    pub skipped: usize,
    /// When the keys were fetched last.
    pub fetched_at: Option<i64>,
    pub fetches: u64,
    pub failures: u64,
    /// Since when it cannot be fetched.
    pub failing_since: Option<i64>,
    pub last_failure: Option<String>,
}

/// What was fetched and is no key set that could be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeySetError(pub(super) String);

impl From<KeyFault> for KeySetError {
    fn from(fault: KeyFault) -> Self {
        Self(fault.to_string())
    }
}

/// The keys of an issuer at its address.
#[derive(Debug)]
pub(super) struct KeySet {
    settings: KeySetSettings,
    keys: ArcSwap<Vec<Arc<VerificationKey>>>,
    state: Mutex<FetchState>,
}

#[derive(Debug, Default)]
struct FetchState {
    skipped: usize,
    fetched_at: Option<i64>,
    /// For how long the keys are fresh.
    lifetime_s: i64,
    /// When the last fetch began, and whether it has ended.
    attempted_at: Option<i64>,
    is_under_way: bool,
    fetches: u64,
    failures: u64,
    /// Failures since the last success.
    failures_in_a_row: u32,
    failing_since: Option<i64>,
    last_failure: Option<String>,
}

/// The first wait after a failure; each further failure doubles it.
const RETRY_S: i64 = 5;
const MAX_RETRY_S: i64 = 300;
/// Of a fetch that does not report how it ended.
const FORGOTTEN_S: i64 = 30;

impl CacheFacts {
    /// From the fields of a response (RFC 9111, sections 4.2 and 5), which was received at `now`.
    pub fn from_fields(
        cache_control: Option<&str>,
        age: Option<&str>,
        expires: Option<&str>,
        now: i64,
    ) -> Self {
        let age_s = age.and_then(|age| age.trim().parse().ok()).unwrap_or(0);
        let directives = cache_control.unwrap_or_default().split(',').map(str::trim);
        let mut max_age = None;
        for directive in directives {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            if name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache") {
                return Self { lifetime_s: Some(0) };
            }
            if name.eq_ignore_ascii_case("max-age") {
                // What is no number is stale (RFC 9111, section 4.2.1).
                max_age = Some(value.trim_matches('"').parse::<u64>().unwrap_or(0));
            }
        }
        let until_expires = || {
            let end = httpdate::parse_http_date(expires?.trim()).ok();
            let end = end.and_then(|end| end.duration_since(UNIX_EPOCH).ok());
            let now = Duration::from_secs(u64::try_from(now).unwrap_or(0));
            Some(end.map_or(0, |end| end.saturating_sub(now).as_secs()))
        };
        Self { lifetime_s: max_age.map(|max_age| max_age.saturating_sub(age_s)).or_else(until_expires) }
    }
}

impl KeySet {
    pub(super) fn new(settings: KeySetSettings) -> Self {
        Self { settings, keys: ArcSwap::default(), state: Mutex::default() }
    }

    /// As another configuration has it: with the keys that are known of the same address.
    pub(super) fn after(before: &Arc<Self>, settings: &KeySetSettings) -> Option<Arc<Self>> {
        if before.settings == *settings {
            return Some(Arc::clone(before));
        }
        (before.settings.address == settings.address).then(|| {
            let FetchState { skipped, fetched_at, .. } = *before.state();
            let state = FetchState { skipped, fetched_at, ..FetchState::default() };
            let keys = ArcSwap::new(before.keys());
            Arc::new(Self { settings: settings.clone(), keys, state: Mutex::new(state) })
        })
    }

    pub(super) fn keys(&self) -> Arc<Vec<Arc<VerificationKey>>> {
        self.keys.load_full()
    }

    fn state(&self) -> MutexGuard<'_, FetchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a fetch may help with an unknown key: at most once in the configured time, or with the fetch that is under way.
    pub(super) fn is_fetch_due(&self, now: i64) -> bool {
        let state = self.state();
        state.is_under_way(now) || state.is_past(self.settings.unknown_key_s, now)
    }

    /// Where and how it is fetched.
    pub(super) fn settings(&self) -> &KeySetSettings {
        &self.settings
    }

    /// Whether a fetch may begin; it is under way then.
    pub(super) fn begin(&self, now: i64) -> bool {
        let mut state = self.state();
        if state.is_under_way(now) {
            return false;
        }
        state.is_under_way = true;
        state.attempted_at = Some(now);
        state.fetches += 1;
        true
    }

    pub(super) fn next_refresh(&self, now: i64) -> i64 {
        let (state, settings) = (self.state(), &self.settings);
        // A clock that was set back must not put it off.
        let Some(attempted_at) = state.attempted_at.filter(|at| *at <= now) else { return now };
        if state.is_under_way(now) {
            return attempted_at + FORGOTTEN_S;
        }
        let wait_s = if state.failures_in_a_row == 0 {
            // Before the keys are stale, so that no token has to wait for new ones.
            (state.lifetime_s - state.lifetime_s / 10).max(1)
        } else {
            let doublings = (state.failures_in_a_row - 1).min(16);
            (RETRY_S << doublings).min(MAX_RETRY_S).min(settings.max_refresh_s)
        };
        attempted_at + wait_s
    }

    pub(super) fn replace(
        &self,
        keys: Vec<Arc<VerificationKey>>,
        fetched: FetchedKeySet,
        cache: CacheFacts,
        now: i64,
    ) -> bool {
        let old = self.keys();
        let keys: Vec<_> = keys
            .into_iter()
            .map(|key| old.iter().find(|old| **old == key && !old.is_dropped()).map_or(key, Arc::clone))
            .collect();
        let gone: Vec<_> = old.iter().filter(|old| !keys.iter().any(|key| Arc::ptr_eq(key, old))).collect();
        self.keys.store(Arc::new(keys));
        for key in &gone {
            key.set_dropped();
        }
        let settings = &self.settings;
        let said_s = cache.lifetime_s.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        let mut state = self.state();
        // The bounds may be given the wrong way round; the lower one holds then.
        state.lifetime_s =
            said_s.unwrap_or(settings.refresh_s).min(settings.max_refresh_s).max(settings.min_refresh_s);
        state.skipped = fetched.skipped;
        state.fetched_at = Some(now);
        state.attempted_at = Some(now);
        state.is_under_way = false;
        state.failures_in_a_row = 0;
        state.failing_since = None;
        !gone.is_empty()
    }

    pub(super) fn failed(&self, reason: &str, now: i64) {
        const MAX_REASON_CHARS: usize = 200;
        let mut state = self.state();
        state.is_under_way = false;
        state.attempted_at = Some(now);
        state.failures += 1;
        state.failures_in_a_row = state.failures_in_a_row.saturating_add(1);
        state.failing_since.get_or_insert(now);
        state.last_failure = Some(reason.chars().take(MAX_REASON_CHARS).collect());
    }

    pub(super) fn status(&self) -> KeySetStatus {
        let state = self.state();
        KeySetStatus {
            address: self.settings.address.clone(),
            keys: self.keys().len(),
            skipped: state.skipped,
            fetched_at: state.fetched_at,
            fetches: state.fetches,
            failures: state.failures,
            failing_since: state.failing_since,
            last_failure: state.last_failure.clone(),
        }
    }
}

impl FetchState {
    fn is_under_way(&self, now: i64) -> bool {
        self.is_under_way && !self.is_past(FORGOTTEN_S, now)
    }

    /// Whether so many seconds have gone since the last attempt; a clock that was set back counts as that.
    fn is_past(&self, seconds: i64, now: i64) -> bool {
        self.attempted_at.is_none_or(|at| now < at || now - at >= seconds)
    }
}
