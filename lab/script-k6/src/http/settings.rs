//! The options of a run that requests go by, and which statuses are expected.

use crate::options::{HttpDebug, Options};
use prony_model::units::Nanos;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// k6's request timeout.
pub(crate) const TIMEOUT_DEFAULT: Nanos = Nanos::from_secs(60);

/// Set once, before the threads of a run begin; [`HttpOptions::default`] where it was not.
/// Reached with `script.shared::<HttpSettings>()`.
#[derive(Debug, Default)]
pub struct HttpSettings(OnceLock<Arc<HttpOptions>>);

impl HttpSettings {
    /// The first call counts.
    pub fn set(&self, options: HttpOptions) {
        let _ = self.0.set(Arc::new(options));
    }

    pub fn get(&self) -> Arc<HttpOptions> {
        Arc::clone(self.0.get_or_init(Arc::default))
    }
}

#[expect(clippy::struct_excessive_bools, reason = "k6's options, each of them on or off")]
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub user_agent: String,
    pub max_redirects: u32,
    /// False where nobody gave `maxRedirects`: reaching it is then worth a warning.
    pub has_max_redirects: bool,
    pub batch: u32,
    pub batch_per_host: u32,
    pub throws: bool,
    pub discards_bodies: bool,
    /// Each request over a connection of its own.
    pub has_fresh_connections: bool,
    pub keeps_cookies: bool,
    pub debug: HttpDebug,
    /// Of all users together; none where requests may begin at any time.
    pub pace: Option<Arc<Pace>>,
}

/// The option `rps`: when the next request may begin, for all threads of a run.
#[derive(Debug)]
pub struct Pace {
    between: Nanos,
    next_ns: AtomicU64,
}

impl Pace {
    pub fn per_second(count: u32) -> Self {
        Self { between: Nanos(1_000_000_000 / u64::from(count.max(1))), next_ns: AtomicU64::new(0) }
    }

    /// The pace of each of so many instances that keep this one together.
    #[must_use]
    fn of_each(self, instances: u32) -> Self {
        Self { between: Nanos(self.between.0.saturating_mul(instances.into())), ..self }
    }

    /// When a request that is ready now may begin; no other gets the same moment.
    pub fn claim(&self, now: Nanos) -> Nanos {
        let after = |next: u64| Some(next.max(now.0).saturating_add(self.between.0));
        let before = self.next_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        Nanos(before.unwrap_or_else(|same| same).max(now.0))
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            user_agent: concat!("prony/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_redirects: 10,
            has_max_redirects: false,
            batch: 20,
            batch_per_host: 6,
            throws: false,
            discards_bodies: false,
            has_fresh_connections: false,
            keeps_cookies: false,
            debug: HttpDebug::Off,
            pace: None,
        }
    }
}

impl HttpOptions {
    /// What the options of a script say of the requests of one of so many instances.
    pub fn new(options: &Options, instances: u32) -> Self {
        Self {
            user_agent: options.user_agent.clone(),
            max_redirects: options.max_redirects,
            has_max_redirects: options.json.get("maxRedirects").is_some_and(|given| !given.is_null()),
            batch: options.batch,
            batch_per_host: options.batch_per_host,
            throws: options.throw,
            discards_bodies: options.discard_response_bodies,
            has_fresh_connections: options.no_connection_reuse,
            keeps_cookies: options.no_cookies_reset,
            debug: options.http_debug,
            pace: options.rps.map(|count| Arc::new(Pace::per_second(count).of_each(instances))),
        }
    }
}

/// `http.expectedStatuses()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected(pub Arc<[RangeInclusive<u16>]>);

impl Expected {
    /// k6's default callback.
    pub(crate) fn usual() -> Rc<Self> {
        Rc::new(Self(Arc::from([200..=399])))
    }

    /// A failed request has status 0.
    pub(crate) fn matches(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

/// What a script wants of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseType {
    Text,
    Binary,
    None,
}

impl ResponseType {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "binary" => Some(Self::Binary),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_gives_each_moment_once_and_saves_none_up() {
        let pace = Pace::per_second(10);
        let at = |ms| Nanos::from_millis(ms);
        assert_eq!([0, 0, 50, 950, 1_000].map(|now| pace.claim(at(now))), [0, 100, 200, 950, 1_050].map(at));
        let third = Pace::per_second(10).of_each(3);
        assert_eq!([0, 0, 50].map(|now| third.claim(at(now))), [0, 300, 600].map(at));
    }

    #[test]
    fn the_first_settings_count_and_defaults_are_k6s() {
        let settings = HttpSettings::default();
        settings.set(HttpOptions { batch: 3, ..HttpOptions::default() });
        settings.set(HttpOptions { batch: 4, ..HttpOptions::default() });
        assert_eq!(settings.get().batch, 3);
        let options = HttpSettings::default().get();
        assert_eq!((options.max_redirects, options.batch, options.batch_per_host), (10, 20, 6));
        assert!(
            Expected::usual().matches(399)
                && !Expected::usual().matches(0)
                && !Expected::usual().matches(400)
        );
    }
}
