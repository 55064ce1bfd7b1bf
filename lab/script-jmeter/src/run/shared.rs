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

/// Lines that wait for being told: what plans log in a moment, some MB of memory.
const LOG_LINES_MAX: usize = 4_096;
/// Longer lines are cut: a script that logs bodies would otherwise fill the memory through those that wait.
const LOG_LINE_BYTES_MAX: usize = 64 * 1024;

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

/// What plans have logged since that was last asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logged {
    pub lines: Vec<String>,
    /// Lines that came too fast, and were not kept.
    pub lost: u64,
}

impl Logged {
    fn push(&mut self, line: &str) {
        if self.lines.len() == LOG_LINES_MAX {
            self.lost += 1;
            return;
        }
        let end = LOG_LINE_BYTES_MAX.min(line.len());
        let end = (0..=end).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        self.lines.push(line[..end].to_owned());
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
    log: Mutex<Logged>,
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
        lock(&self.log).push(line);
    }

    /// Lines that another machine has not kept.
    pub(crate) fn add_lost_lines(&self, lost: u64) {
        lock(&self.log).lost += lost;
    }

    /// What was logged since this was last asked for.
    pub(crate) fn take_log(&self) -> Logged {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_come_too_fast_are_counted_and_long_ones_cut() {
        let mut log = Logged::default();
        log.push(&"ö".repeat(LOG_LINE_BYTES_MAX));
        (1..LOG_LINES_MAX + 7).for_each(|number| log.push(&number.to_string()));
        assert_eq!((log.lines.len(), log.lost), (LOG_LINES_MAX, 7));
        assert_eq!((log.lines[0].len(), log.lines[1].as_str()), (LOG_LINE_BYTES_MAX, "1"));
    }
}
