//! The states of all keys of all rate limits, bounded in number. A key is forgotten only when that makes no difference: one that
//! is still throttled stays, and keys without room share one state a limit.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, hash_map::RandomState},
    fmt,
    hash::{BuildHasher, BuildHasherDefault, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::rate::{Cell, RateLimit};

/// What was kept and what was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimiterStatistics {
    /// Keys that are kept.
    pub keys: u64,
    /// Requests of keys without room, which shared a state.
    pub overflowed: u64,
}

/// What a key is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many more could come at once.
    pub(crate) remaining: u64,
}

/// How long a key must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) retry_after_ns: u64,
}

/// Shared by all cores. A power of two.
const SHARDS: usize = 64;
/// Keys looked at to make room for one: each was throttled when it was looked at before.
const MAX_STEPS: usize = 8;

/// All states.
pub(crate) struct RateLimiter {
    shards: Box<[Mutex<Shard>]>,
    /// Its seeds are random, so that nobody can choose keys that meet.
    hasher: RandomState,
}

/// A hash of a limit and a key of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct StateKey(u64);

#[derive(Default)]
struct Shard {
    states: HashMap<StateKey, u64, BuildHasherDefault<HashOfHash>>,
    /// Each key once, with a state that it had. Its own may be later; after a request was given back it may be earlier, and the key
    /// stays longer than it needs to.
    order: BinaryHeap<Reverse<(u64, u64)>>,
    /// Of keys without room, by limit.
    shared: HashMap<u32, u64>,
    max_keys: usize,
    overflowed: u64,
}

/// Keys are hashes already.
#[derive(Default)]
struct HashOfHash(u64);

impl Hasher for HashOfHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl RateLimiter {
    /// For so many keys.
    pub(crate) fn new(max_keys: usize) -> Self {
        let max_keys = max_keys.div_ceil(SHARDS).max(1);
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard { max_keys, ..Shard::default() }));
        Self { shards: shards.collect(), hasher: RandomState::new() }
    }

    /// Takes a request of this cost from a key, where its limit allows it.
    pub(crate) fn take(
        &self,
        (index, limit): (u32, RateLimit),
        key: &[u8],
        cost: u64,
        now_ns: u64,
    ) -> Result<Taken, Refused> {
        let hash = self.hash(index, key);
        self.shard(hash).take(hash, (index, limit), cost, now_ns)
    }

    /// Gives a request back that was taken and then not let in.
    pub(crate) fn give_back(&self, (index, limit): (u32, RateLimit), key: &[u8], cost: u64) {
        let hash = self.hash(index, key);
        let mut shard = self.shard(hash);
        let shard = &mut *shard;
        let state = shard.states.get_mut(&hash).or_else(|| shard.shared.get_mut(&index));
        if let Some(state) = state {
            *state = limit.without(*state, cost);
        }
    }

    pub(crate) fn statistics(&self) -> LimiterStatistics {
        let mut statistics = LimiterStatistics::default();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            statistics.keys += shard.states.len() as u64;
            statistics.overflowed += shard.overflowed;
        }
        statistics
    }

    fn hash(&self, index: u32, key: &[u8]) -> StateKey {
        StateKey(self.hasher.hash_one((index, key)))
    }

    /// The table of a shard goes by the lower bits.
    fn shard(&self, hash: StateKey) -> MutexGuard<'_, Shard> {
        let index = (hash.0 >> 32) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn take(
        &mut self,
        hash: StateKey,
        (index, limit): (u32, RateLimit),
        cost: u64,
        now_ns: u64,
    ) -> Result<Taken, Refused> {
        let known = self.states.get(&hash).copied();
        let has_room = known.is_some() || self.make_room(now_ns);
        let state = match known {
            Some(state) => state,
            None if has_room => 0,
            None => {
                self.overflowed += 1;
                self.shared.get(&index).copied().unwrap_or(0)
            }
        };
        match limit.judge(state, cost, now_ns) {
            Cell::Conforms { state_ns, remaining } => {
                if has_room {
                    if self.states.insert(hash, state_ns).is_none() {
                        self.order.push(Reverse((state_ns, hash.0)));
                    }
                } else {
                    self.shared.insert(index, state_ns);
                }
                Ok(Taken { remaining })
            }
            Cell::Exceeds { retry_after_ns } => Err(Refused { retry_after_ns }),
        }
    }

    /// Whether there is room for another key, once one that makes no difference any more is forgotten.
    fn make_room(&mut self, now_ns: u64) -> bool {
        for _ in 0..MAX_STEPS {
            if self.states.len() < self.max_keys {
                return true;
            }
            let Some(Reverse((recorded_ns, hash))) = self.order.peek().copied() else { return false };
            if recorded_ns > now_ns {
                return false;
            }
            self.order.pop();
            let state = self.states.get(&StateKey(hash)).copied().unwrap_or(0);
            if state > now_ns {
                self.order.push(Reverse((state, hash)));
            } else {
                self.states.remove(&StateKey(hash));
            }
        }
        self.states.len() < self.max_keys
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statistics().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn limit(text: &str, burst: u64) -> RateLimit {
        RateLimit { rate: text.parse().expect("it is a rate"), burst }
    }

    #[test]
    fn keys_and_limits_have_states_of_their_own() {
        let limiter = RateLimiter::new(1000);
        let one = (0, limit("1/s", 1));
        let other = (1, limit("1/s", 2));
        assert!(limiter.take(one, b"ann", 1, 1).is_ok());
        assert!(limiter.take(one, b"ann", 1, 1).is_err());
        assert!(limiter.take(one, b"bob", 1, 1).is_ok());
        assert_eq!(limiter.take(other, b"ann", 1, 1), Ok(Taken { remaining: 1 }));
        assert_eq!(limiter.take(other, b"ann", 1, 1), Ok(Taken { remaining: 0 }));
        assert_eq!(limiter.take(other, b"ann", 1, 1), Err(Refused { retry_after_ns: 1_000_000_000 }));
        limiter.give_back(other, b"ann", 1);
        assert_eq!(limiter.take(other, b"ann", 1, 1), Ok(Taken { remaining: 0 }));
        assert_eq!(
            limiter.take(other, b"ann", 3, 1_000_000_000_000),
            Err(Refused { retry_after_ns: 1_000_000_000 })
        );
    }

    #[test]
    fn a_throttled_key_is_not_forgotten_when_many_others_come() {
        let limiter = RateLimiter::new(SHARDS * 10);
        let slow = (0, limit("1/h", 1));
        let now = 1_000_000_000;
        assert!(limiter.take(slow, b"attacker", 1, now).is_ok());
        let mut let_in = 0;
        for number in 0..10_000_u32 {
            let_in += u32::from(limiter.take(slow, &number.to_le_bytes(), 1, now).is_ok());
            assert!(limiter.take(slow, b"attacker", 1, now).is_err());
        }
        let statistics = limiter.statistics();
        assert!(statistics.keys <= (SHARDS * 10) as u64, "{statistics:?}");
        assert!(statistics.overflowed > 0);
        // Those without room shared a state each shard, and were not let in for nothing.
        assert!(let_in <= (SHARDS * 11) as u32, "{let_in}");
        // An hour later all are as if they had never come.
        let later = now + 3_600_000_000_001;
        for number in 20_000..30_000_u32 {
            limiter
                .take(
                    (0, limit("1000/s", 1)),
                    &number.to_le_bytes(),
                    1,
                    later + u64::from(number) * 1_000_000,
                )
                .expect("there is room again");
        }
        assert!(limiter.statistics().keys <= (SHARDS * 10) as u64);
    }

    /// The order of keys knows an earlier state of it, at which it would have been forgotten.
    #[test]
    fn a_key_that_came_again_is_not_forgotten_for_its_first_request() {
        let limiter = RateLimiter::new(SHARDS);
        let limit = (0, limit("1/s", 10));
        let take = |key: &[u8], second: u64| limiter.take(limit, key, 1, second * 1_000_000_000).is_ok();
        assert_eq!((0..20).filter(|_| take(b"attacker", 1)).count(), 10);
        for number in 0..1_000_u32 {
            take(&number.to_le_bytes(), 6);
        }
        assert_eq!((0..20).filter(|_| take(b"attacker", 6)).count(), 5);
    }

    #[test]
    fn memory_stays_flat_over_many_keys() {
        let limiter = RateLimiter::new(1_000);
        for number in 0..200_000_u64 {
            let now = number * 1_000_000;
            limiter.take((0, limit("100/s", 5)), &number.to_le_bytes(), 1, now).expect("there is room");
        }
        let statistics = limiter.statistics();
        assert!(statistics.keys <= 1_024 && statistics.overflowed == 0, "{statistics:?}");
    }

    proptest! {
        /// As if each key had a state of its own for ever, as long as there is room.
        #[test]
        fn forgetting_makes_no_difference(
            takes in prop::collection::vec((0_u8..40, 0_u64..30_000_000), 1..400),
            burst in 1_u64..4,
        ) {
            let limit = limit("100/s", burst);
            let small = RateLimiter::new(SHARDS * 40);
            let tiny = RateLimiter::new(SHARDS);
            let (mut oracle, mut now) = (HashMap::new(), 1);
            for (key, gap) in takes {
                now += gap;
                let state = oracle.entry(key).or_insert(0);
                let expected = match limit.judge(*state, 1, now) {
                    Cell::Conforms { state_ns, .. } => {
                        *state = state_ns;
                        true
                    }
                    Cell::Exceeds { .. } => false,
                };
                prop_assert_eq!(small.take((0, limit), &[key], 1, now).is_ok(), expected);
                // Where there is no room, some wait that need not.
                let _ = tiny.take((0, limit), &[key], 1, now);
            }
            prop_assert_eq!(small.statistics().overflowed, 0);
            prop_assert!(tiny.statistics().keys <= SHARDS as u64);
        }
    }
}
