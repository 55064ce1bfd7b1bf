//! Quotas: so many in an hour, a day or a month of UTC. Their counts can be written down and taken up again, so that a restart
//! does not give them back.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use aws_lc_rs::digest;

use crate::calendar;

/// The time over which a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Window {
    Hour,
    Day,
    Month,
}

/// A count as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaCount {
    /// Of a quota and a key of it.
    pub key: [u8; 16],
    pub used: u64,
    /// When the window ends, Unix seconds: the count is of no use then.
    pub ends_at: i64,
}

/// Counts of all keys of all quotas, bounded in number. Keys without room share one count a quota.
pub(crate) struct Quotas {
    counts: Mutex<Counts>,
    max_keys: usize,
    /// How often something was taken or given back.
    changes: AtomicU64,
}

#[derive(Default)]
struct Counts {
    by_key: HashMap<[u8; 16], Count>,
    /// Of keys without room, by quota.
    shared: HashMap<u32, Count>,
    /// Before this time no window ends that is known.
    next_end: i64,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    used: u64,
    ends_at: i64,
}

impl Window {
    /// When the window of a time ends (Unix seconds).
    pub fn ends_at(self, now: i64) -> i64 {
        match self {
            Self::Hour => (now.div_euclid(3_600) + 1) * 3_600,
            Self::Day => (now.div_euclid(calendar::DAY_S) + 1) * calendar::DAY_S,
            Self::Month => calendar::next_month(now),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// The key of a quota's count, the same after a restart.
pub(crate) fn quota_key(quota: &str, key: &[u8]) -> [u8; 16] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(&(quota.len() as u64).to_le_bytes());
    context.update(quota.as_bytes());
    context.update(key);
    let mut half = [0; 16];
    half.copy_from_slice(&context.finish().as_ref()[..16]);
    half
}

impl Quotas {
    /// For so many keys.
    pub(crate) fn new(max_keys: usize) -> Self {
        Self { counts: Mutex::default(), max_keys, changes: AtomicU64::new(0) }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so many of a quota of `most`: how many are left, or, where that is too many, when the window ends.
    pub(crate) fn take(
        &self,
        (index, window): (u32, Window),
        key: [u8; 16],
        (cost, most): (u64, u64),
        now: i64,
    ) -> Result<u64, i64> {
        let mut counts = self.counts();
        let counts = &mut *counts;
        if !counts.by_key.contains_key(&key) && counts.by_key.len() >= self.max_keys {
            counts.forget_ended(now);
        }
        let ends_at = window.ends_at(now);
        let fresh = Count { used: 0, ends_at };
        let has_room = counts.by_key.len() < self.max_keys || counts.by_key.contains_key(&key);
        let count = if has_room {
            counts.next_end = counts.next_end.min(ends_at);
            counts.by_key.entry(key).or_insert(fresh)
        } else {
            counts.shared.entry(index).or_insert(fresh)
        };
        // A count of a later window than the next is of a clock that was ahead.
        if count.ends_at <= now || count.ends_at > window.ends_at(ends_at) {
            *count = fresh;
        }
        if count.used.saturating_add(cost) > most {
            return Err(count.ends_at);
        }
        count.used += cost;
        self.changes.fetch_add(1, Relaxed);
        Ok(most - count.used)
    }

    /// Gives back what was taken and then not let in.
    pub(crate) fn give_back(&self, index: u32, key: [u8; 16], cost: u64) {
        let mut counts = self.counts();
        let counts = &mut *counts;
        if let Some(count) = counts.by_key.get_mut(&key).or_else(|| counts.shared.get_mut(&index)) {
            count.used = count.used.saturating_sub(cost);
            self.changes.fetch_add(1, Relaxed);
        }
    }

    /// Changes with each count.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    /// All counts whose windows have not ended.
    pub(crate) fn snapshot(&self, now: i64) -> Vec<QuotaCount> {
        let counts = self.counts();
        let counts = counts.by_key.iter().filter(|(_, count)| count.ends_at > now);
        counts
            .map(|(key, count)| QuotaCount { key: *key, used: count.used, ends_at: count.ends_at })
            .collect()
    }

    /// Takes up counts that were written down; what has been counted since is added.
    pub(crate) fn restore(&self, written: &[QuotaCount], now: i64) {
        let mut counts = self.counts();
        for count in written.iter().filter(|count| count.ends_at > now) {
            let has_room = counts.by_key.len() < self.max_keys || counts.by_key.contains_key(&count.key);
            if has_room {
                counts.next_end = counts.next_end.min(count.ends_at);
                let known = counts.by_key.entry(count.key);
                let known = known.or_insert(Count { used: 0, ends_at: count.ends_at });
                known.used = known.used.saturating_add(count.used);
            }
        }
    }
}

impl Counts {
    /// Forgets counts whose windows have ended; goes through all of them only when one has.
    fn forget_ended(&mut self, now: i64) {
        if now < self.next_end {
            return;
        }
        self.by_key.retain(|_, count| count.ends_at > now);
        self.next_end = self.by_key.values().map(|count| count.ends_at).min().unwrap_or(i64::MAX);
    }
}

impl fmt::Debug for Quotas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Quotas").field("keys", &self.counts().by_key.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_those_of_the_calendar() {
        // 2024-02-29T23:59:59Z, and the second after it.
        let leap_day = 1_709_251_199;
        for (window, now, ends_at) in [
            (Window::Hour, leap_day, leap_day + 1),
            (Window::Hour, leap_day + 1, leap_day + 3_601),
            (Window::Day, leap_day, leap_day + 1),
            (Window::Day, leap_day + 1, leap_day + 86_401),
            (Window::Month, leap_day, leap_day + 1),
            (Window::Month, leap_day + 1, leap_day + 1 + 31 * 86_400),
            (Window::Month, 1_735_689_599, 1_735_689_600),
            (Window::Month, 0, 31 * 86_400),
            (Window::Hour, -1, 0),
            (Window::Month, -1, 0),
        ] {
            assert_eq!(window.ends_at(now), ends_at, "{window:?} {now}");
        }
    }

    #[test]
    fn a_quota_holds_until_its_window_ends() {
        let quotas = Quotas::new(10);
        let (hour, key) = ((0, Window::Hour), quota_key("q", b"ann"));
        let take = |cost, now| quotas.take(hour, key, (cost, 3), now);
        assert_eq!(take(1, 10), Ok(2));
        assert_eq!(take(3, 10), Err(3_600));
        assert_eq!(take(2, 20), Ok(0));
        assert_eq!(take(1, 3_599), Err(3_600));
        quotas.give_back(0, key, 1);
        assert_eq!(take(1, 3_599), Ok(0));
        assert_eq!(take(1, 3_600), Ok(2));
        assert_eq!(take(u64::MAX, 3_600), Err(7_200));
        assert_eq!(quotas.take(hour, quota_key("q", b"bob"), (1, 3), 3_600), Ok(2));
        assert_ne!(quota_key("ab", b"c"), quota_key("a", b"bc"));
    }

    #[test]
    fn counts_survive_a_restart() {
        let (hour, month) = ((0, Window::Hour), (1, Window::Month));
        let (ann, bob) = (quota_key("q", b"ann"), quota_key("m", b"bob"));
        let quotas = Quotas::new(10);
        assert_eq!(quotas.take(hour, ann, (2, 3), 10), Ok(1));
        assert_eq!(quotas.take(month, bob, (5, 6), 10), Ok(1));
        let written = quotas.snapshot(20);
        assert_eq!(written.len(), 2);
        let quotas = Quotas::new(10);
        assert_eq!(quotas.take(hour, ann, (1, 3), 30), Ok(2));
        quotas.restore(&written, 30);
        assert_eq!(quotas.take(hour, ann, (1, 3), 40), Err(3_600));
        // What has ended meanwhile is not taken up.
        let quotas = Quotas::new(10);
        quotas.restore(&written, 4_000);
        assert_eq!(quotas.take(hour, ann, (1, 3), 4_000), Ok(2));
        assert_eq!(quotas.take(month, bob, (2, 6), 4_000), Err(31 * 86_400));
    }

    /// Whoever has used up a quota is not shut out for a year because the clock was ahead by one.
    #[test]
    fn a_clock_that_steps_ends_windows_and_opens_none_twice() {
        let quotas = Quotas::new(10);
        let (hour, key) = ((0, Window::Hour), quota_key("q", b"ann"));
        let take = |now| quotas.take(hour, key, (1, 1), now);
        let year = 365 * 86_400;
        assert_eq!(take(year), Ok(0));
        assert_eq!(take(3_599), Ok(0));
        assert_eq!(take(3_600), Ok(0));
        assert_eq!(take(3_599), Err(7_200), "a second back is no new hour");
        assert_eq!(take(3_600), Err(7_200));
        assert_eq!(take(7_200), Ok(0));
    }

    #[test]
    fn keys_without_room_share_a_count_and_ended_ones_make_room() {
        let quotas = Quotas::new(2);
        let hour = (0, Window::Hour);
        let take = |key: &str, now| quotas.take(hour, quota_key("q", key.as_bytes()), (1, 1), now);
        assert_eq!(take("a", 0), Ok(0));
        assert_eq!(take("b", 0), Ok(0));
        assert_eq!(take("c", 0), Ok(0));
        assert_eq!(take("d", 0), Err(3_600));
        assert_eq!(take("a", 0), Err(3_600));
        assert_eq!(take("d", 3_600), Ok(0));
        assert_eq!(take("e", 3_600), Ok(0));
        assert_eq!(quotas.snapshot(3_600).len(), 2);
    }
}
