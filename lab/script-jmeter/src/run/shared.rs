//! What the users of a run share: variables' form, properties, files, the clock, the log.

use crate::run::files::Files;
use crate::run::locks::lock;
use crate::run::turns::Turns;
use prony_model::Nanos;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Lines that are logged in one run; more say nothing new.
const LOG_LINES_MAX: usize = 1_000;

/// A user's variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables(FxHashMap<String, String>);

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        match self.0.get_mut(name) {
            Some(known) => value.clone_into(known),
            None => {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Sorted by name.
    pub(crate) fn sorted(&self) -> BTreeMap<&str, &str> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// What all users of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan_name: String,
    pub(crate) properties: Properties,
    pub(crate) files: Files,
    pub(crate) clock: Clock,
    /// How often each `__counter` was asked.
    counters: Mutex<FxHashMap<u32, u64>>,
    /// Whose turn it is to be counted.
    turns: Turns,
    log: Mutex<Vec<String>>,
}

impl Shared {
    pub(crate) fn new(plan_name: String, properties: Properties, files: Files, turns: Turns) -> Self {
        Self {
            plan_name,
            properties,
            files,
            clock: Clock::default(),
            counters: Mutex::default(),
            turns,
            log: Mutex::default(),
        }
    }

    /// The next number of a `__counter` that all share, from 1; each machine has numbers of its own.
    pub(crate) fn count(&self, site: u32) -> i64 {
        let mut counters = lock(&self.counters);
        let count = counters.entry(site).or_insert(0);
        let position = self.turns.position(*count);
        *count += 1;
        i64::try_from(position).map_or(i64::MAX, |position| position.saturating_add(1))
    }

    /// Something that the user should know and that does not end the run.
    pub(crate) fn log(&self, line: &str) {
        let mut log = lock(&self.log);
        if log.len() < LOG_LINES_MAX {
            log.push(line.to_owned());
        }
    }

    /// What was logged since this was last asked for.
    pub(crate) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.log))
    }
}

/// JMeter's properties, which plans may set while they run.
#[derive(Debug, Default)]
pub(crate) struct Properties(Mutex<FxHashMap<String, String>>);

impl Properties {
    pub(crate) fn new(given: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Mutex::new(given.into_iter().collect()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        lock(&self.0).get(name).cloned()
    }

    /// Sorted by name.
    pub(crate) fn sorted(&self) -> BTreeMap<String, String> {
        lock(&self.0).iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The value that was there before.
    pub(crate) fn set(&self, name: &str, value: &str) -> Option<String> {
        lock(&self.0).insert(name.to_owned(), value.to_owned())
    }
}

/// The run's time: from its start, and since 1970.
#[derive(Debug)]
pub(crate) struct Clock {
    base: Instant,
    /// The same moment, in nanoseconds since 1970.
    base_unix_ns: u64,
    /// When the run that goes on has begun, since `base`.
    began_ns: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self {
            base: Instant::now(),
            base_unix_ns: u64::try_from(since).unwrap_or(u64::MAX),
            began_ns: AtomicU64::new(0),
        }
    }
}

impl Clock {
    /// The moment from which the run that now begins counts its times.
    pub(crate) fn begin(&self, epoch: Instant) {
        let since = epoch.saturating_duration_since(self.base).as_nanos();
        self.began_ns.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// From the start of the run.
    pub(crate) fn now(&self) -> Nanos {
        let since = u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Nanos(since.saturating_sub(self.began_ns.load(Ordering::Relaxed)))
    }

    /// Milliseconds since 1970 of a moment of the run.
    pub(crate) fn unix_ms(&self, at: Nanos) -> i64 {
        let since = self.began_ns.load(Ordering::Relaxed).saturating_add(at.0);
        i64::try_from(self.base_unix_ns.saturating_add(since) / 1_000_000).unwrap_or(i64::MAX)
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.unix_ms(self.now())
    }
}
