//! What one server has of all keys of all limits that servers share, bounded in number; shared by all cores.

use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    fmt,
    hash::BuildHasher,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use super::{
    allowance::{Allowance, Attempt, Decided},
    call::{SharedBound, StoreCall, StoreReply, Verdict},
};
use crate::limits::quota::quota_key;

/// What is done where the store cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUnreachable {
    /// Each server counts for itself.
    Local,
    /// Operations that have limits are refused.
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedSettings {
    pub when_unreachable: WhenUnreachable,
    /// How long units are kept that were taken ahead; none are taken where it is 0.
    pub hold_ns: u64,
}

/// A limit, for a key of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedLimit<'s> {
    /// Of this server.
    pub(crate) number: u32,
    /// The same at all servers.
    pub(crate) name: &'s str,
    pub(crate) key: &'s [u8],
    pub(crate) cost: u64,
    pub(crate) bound: SharedBound,
}

/// Keys of all limits; each takes some 200 bytes.
const MAX_KEYS: usize = 200_000;
const SHARDS: usize = 64;

/// What this server has taken, and who waits: a `W` each.
pub struct SharedCounts<W> {
    shards: Box<[Mutex<AllowanceShard<W>>]>,
    /// Its seeds are random, so that nobody can choose keys that meet.
    hasher: RandomState,
    pub settings: SharedSettings,
    is_reachable: AtomicBool,
    fallbacks: AtomicU64,
}

struct AllowanceShard<W> {
    allowances: HashMap<u64, Allowance<W>>,
    /// When units that were taken ahead are over, and of which keys.
    due: VecDeque<(u64, u64)>,
}

impl<W> SharedCounts<W> {
    /// Of a store that is not reached yet.
    pub fn new(settings: SharedSettings) -> Self {
        let shard = || Mutex::new(AllowanceShard { allowances: HashMap::new(), due: VecDeque::new() });
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            hasher: RandomState::new(),
            settings,
            is_reachable: AtomicBool::new(false),
            fallbacks: AtomicU64::new(0),
        }
    }

    pub fn set_reachable(&self, is_reachable: bool) {
        self.is_reachable.store(is_reachable, Relaxed);
    }

    pub fn is_reachable(&self) -> bool {
        self.is_reachable.load(Relaxed)
    }

    /// How many limits were decided without the store.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks.load(Relaxed)
    }

    pub(crate) fn note_fallback(&self) {
        self.fallbacks.fetch_add(1, Relaxed);
    }

    /// Takes units of a limit. Where that must wait, `waiter` is what is handed back once it is decided; nothing is taken where
    /// there is none.
    pub(crate) fn take(
        &self,
        limit: &SharedLimit<'_>,
        now_ns: u64,
        waiter: Option<&mut dyn FnMut() -> W>,
    ) -> Attempt {
        let id = self.hasher.hash_one((limit.number, limit.key));
        let mut shard = self.shard(id);
        if !shard.allowances.contains_key(&id) {
            if waiter.is_none() {
                return Attempt::Waits(None);
            }
            shard.make_room(now_ns);
        }
        let allowance = shard.allowances.entry(id);
        let allowance =
            allowance.or_insert_with(|| Allowance::new(quota_key(limit.name, limit.key), limit.bound));
        allowance.take(id, (limit.bound, limit.cost), now_ns, waiter)
    }

    /// Gives back units that were taken, to be taken by others here.
    pub(crate) fn give_back(&self, limit: &SharedLimit<'_>) {
        self.give_back_to(self.hasher.hash_one((limit.number, limit.key)), (limit.bound, limit.cost));
    }

    /// The same of who waited for a call and has gone.
    pub fn give_back_of(&self, call: &StoreCall, cost: u64) {
        self.give_back_to(call.id, (call.bound, cost));
    }

    fn give_back_to(&self, id: u64, units: (SharedBound, u64)) {
        let mut shard = self.shard(id);
        if let Some(allowance) = shard.allowances.get_mut(&id) {
            allowance.give_back(units);
            shard.note_due(id);
        }
    }

    /// The store has responded to a call, or could not be asked. Returns what has become of those who waited, and what each costs,
    /// and what else the store is to be asked for.
    pub fn replied(
        &self,
        call: &StoreCall,
        reply: Option<StoreReply>,
        now_ns: u64,
    ) -> (Vec<(W, u64, Verdict)>, Option<StoreCall>) {
        let mut shard = self.shard(call.id);
        let Some(allowance) = shard.allowances.get_mut(&call.id) else { return (Vec::new(), None) };
        let Some(reply) = reply else { return (allowance.failed(), None) };
        let hold_ns = self.settings.hold_ns;
        let decided: (Vec<Decided<W>>, _) = allowance.replied(call, reply, (now_ns, hold_ns));
        shard.note_due(call.id);
        decided
    }

    /// What is to be given back of units whose time is over.
    pub fn due(&self, now_ns: u64) -> Vec<StoreCall> {
        let mut calls = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some((_, id)) = shard.due.front().copied().filter(|(at_ns, _)| *at_ns <= now_ns) {
                shard.due.pop_front();
                let allowance = shard.allowances.get_mut(&id);
                calls.extend(allowance.and_then(|allowance| allowance.due(id, now_ns)));
            }
        }
        calls
    }

    /// All that is not used, to be given back at the end.
    pub fn end(&self) -> Vec<StoreCall> {
        let mut calls = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            calls.extend(shard.allowances.iter_mut().filter_map(|(id, allowance)| allowance.end(*id)));
        }
        calls
    }

    /// The table of a shard goes by the lower bits.
    fn shard(&self, id: u64) -> MutexGuard<'_, AllowanceShard<W>> {
        let index = (id >> 32) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> AllowanceShard<W> {
    /// Has units that are there now given back later.
    fn note_due(&mut self, id: u64) {
        let at_ns = self.allowances.get(&id).and_then(Allowance::is_due_at);
        self.due.extend(at_ns.map(|at_ns| (at_ns, id)));
    }

    /// Makes room for another key: those without units go first, then all of which nobody waits. So many go at once that this is
    /// rare.
    fn make_room(&mut self, now_ns: u64) {
        const MAX: usize = MAX_KEYS / SHARDS;
        if self.allowances.len() < MAX {
            return;
        }
        self.allowances.retain(|_, allowance| !allowance.is_idle(now_ns));
        if self.allowances.len() > MAX / 4 * 3 {
            self.allowances.retain(|_, allowance| !allowance.is_forgettable());
        }
    }
}

impl<W> fmt::Debug for SharedCounts<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SharedCounts")
            .field("settings", &self.settings)
            .field("is_reachable", &self.is_reachable)
            .finish_non_exhaustive()
    }
}
