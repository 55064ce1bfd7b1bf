//! What one server has of one key of a limit that servers share: units that it has taken ahead, who waits for some, and how many it
//! takes with the next call.

use std::collections::VecDeque;

use super::call::{SharedBound, StoreCall, StoreReply, Verdict};

/// Units of a limit that are taken ahead at most.
const MAX_AHEAD: u64 = 10_000;
/// After a refusal of a rate the store is asked again when it says that there is enough, after this part of the time in which the burst
/// comes back at the earliest,
const REFUSAL_PART: u64 = 16;
/// and after this time at the latest; after a refusal of a quota after this time at the earliest. Other servers give back what they do not
/// use.
const REFUSAL_NS: u64 = 100_000_000;

/// What has become of an attempt to take units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// With what is left here.
    Taken {
        left: u64,
    },
    Refused {
        wait_ns: u64,
    },
    /// The store has to be asked for this, or is asked already.
    Waits(Option<StoreCall>),
}

/// Units, and who waits for some.
#[derive(Debug)]
pub(super) struct Allowance<W> {
    key: [u8; 16],
    bound: SharedBound,
    /// Taken and not used.
    units: u64,
    /// When these, or those that were taken with them, are given back.
    expires_ns: u64,
    /// How many of the last call were ahead of need.
    granted_ahead: u64,
    /// How many are asked for ahead.
    ahead: u64,
    /// To be given back with the next call.
    unused: u64,
    is_asked: bool,
    refused: Option<LastRefusal>,
    waiters: VecDeque<(u64, W)>,
}

/// What the store has refused.
#[derive(Debug, Clone, Copy)]
struct LastRefusal {
    /// This cost and higher ones are refused without asking,
    cost: u64,
    /// until then.
    until_ns: u64,
    /// There is enough by then, where nobody gives anything back.
    enough_at_ns: u64,
}

/// One who waited, what it costs, and what has become of it.
pub(super) type Decided<W> = (W, u64, Verdict);

impl<W> Allowance<W> {
    pub(super) fn new(key: [u8; 16], bound: SharedBound) -> Self {
        Self {
            key,
            bound,
            units: 0,
            expires_ns: 0,
            granted_ahead: 0,
            ahead: 0,
            unused: 0,
            is_asked: false,
            refused: None,
            waiters: VecDeque::new(),
        }
    }

    /// Whether nothing is lost where it is forgotten.
    pub(super) fn is_idle(&self, now_ns: u64) -> bool {
        self.is_forgettable() && self.units == 0 && self.unused == 0 && self.expires_ns <= now_ns
    }

    /// Whether nobody waits. What it holds would be lost to all servers, which refuse more than they must then.
    pub(super) fn is_forgettable(&self) -> bool {
        !self.is_asked && self.waiters.is_empty()
    }

    /// Takes so many units, or has `waiter` wait for them, or finds that they would have to be waited for.
    pub(super) fn take(
        &mut self,
        id: u64,
        (bound, cost): (SharedBound, u64),
        now_ns: u64,
        waiter: Option<&mut dyn FnMut() -> W>,
    ) -> Attempt {
        self.follow(bound);
        self.expire(now_ns);
        if self.waiters.is_empty() && self.units >= cost {
            self.units -= cost;
            return Attempt::Taken { left: self.units };
        }
        if let Some(refused) = self.refused
            && cost >= refused.cost
            && now_ns < refused.until_ns
        {
            return Attempt::Refused { wait_ns: refused.enough_at_ns - now_ns };
        }
        let Some(waiter) = waiter else { return Attempt::Waits(None) };
        self.waiters.push_back((cost, waiter()));
        let call = if self.is_asked { None } else { Some(self.ask(id, now_ns)) };
        Attempt::Waits(call)
    }

    /// Units that were taken by this bound and not used after all; those of a window that is over are lost.
    pub(super) fn give_back(&mut self, (bound, cost): (SharedBound, u64)) {
        if window(bound) == window(self.bound) {
            self.units += cost;
        }
    }

    /// When units are to be given back, where there are some.
    pub(super) fn is_due_at(&self) -> Option<u64> {
        (self.units > 0).then_some(self.expires_ns)
    }

    /// What is given back of units whose time is over.
    pub(super) fn due(&mut self, id: u64, now_ns: u64) -> Option<StoreCall> {
        self.expire(now_ns);
        (!self.is_asked && self.unused > 0).then(|| self.call(id))
    }

    /// All that is not used is given back.
    pub(super) fn end(&mut self, id: u64) -> Option<StoreCall> {
        self.unused += std::mem::take(&mut self.units);
        (!self.is_asked && self.unused > 0).then(|| self.call(id))
    }

    /// The store has responded to a call; `hold_ns` is how long units are kept. Returns what has become of those who waited, and
    /// what else is asked for.
    pub(super) fn replied(
        &mut self,
        call: &StoreCall,
        reply: StoreReply,
        (now_ns, hold_ns): (u64, u64),
    ) -> (Vec<Decided<W>>, Option<StoreCall>) {
        self.is_asked = false;
        let is_current = window(call.bound) == window(self.bound);
        // Units of a window that is over are for those who waited, and for nobody else.
        let mut units = reply.granted + if is_current { std::mem::take(&mut self.units) } else { 0 };
        let mut decided = Vec::new();
        while self.waiters.front().is_some_and(|(cost, _)| *cost <= units) {
            let Some((cost, waiter)) = self.waiters.pop_front() else { break };
            units -= cost;
            decided.push((waiter, cost, Verdict::Taken { left: units + reply.left }));
        }
        if is_current {
            self.units = units;
            self.granted_ahead = reply.granted.saturating_sub(call.need);
            // Who came before this and goes on only now has an earlier time, and takes nothing ahead either.
            self.expires_ns = if hold_ns == 0 { 0 } else { now_ns + hold_ns };
        }
        if reply.granted < call.need {
            self.refuse(call, reply, (now_ns, hold_ns), &mut decided);
        }
        let next = (!self.waiters.is_empty()).then(|| self.ask(call.id, now_ns));
        (decided, next)
    }

    /// The store could not be asked. What a call has given back or taken is not known: it is lost.
    pub(super) fn failed(&mut self) -> Vec<Decided<W>> {
        self.is_asked = false;
        self.waiters.drain(..).map(|(cost, waiter)| (waiter, cost, Verdict::Unreachable)).collect()
    }

    /// Refuses those for whom neither this server nor the store has enough.
    fn refuse(
        &mut self,
        call: &StoreCall,
        reply: StoreReply,
        (now_ns, hold_ns): (u64, u64),
        decided: &mut Vec<Decided<W>>,
    ) {
        let pause_ns = match self.bound {
            SharedBound::Rate(limit) => {
                let whole_ns = limit.interval_ns().saturating_mul(limit.burst);
                (whole_ns / REFUSAL_PART).min(REFUSAL_NS)
            }
            SharedBound::Quota { .. } => hold_ns.max(REFUSAL_NS),
        };
        let mut refused = Vec::new();
        for (cost, waiter) in std::mem::take(&mut self.waiters) {
            if cost <= self.units {
                self.units -= cost;
                decided.push((waiter, cost, Verdict::Taken { left: self.units }));
            } else if cost > reply.left {
                refused.push((cost, waiter));
            } else {
                self.waiters.push_back((cost, waiter));
            }
        }
        let Some(least) = refused.iter().map(|(cost, _)| *cost).min() else { return };
        // The time that the store gives is for `least` of the call.
        let known_ns = if least >= call.least { reply.wait_ns } else { 0 };
        let wait_ns = known_ns.max(pause_ns);
        self.refused = Some(LastRefusal {
            cost: least,
            until_ns: now_ns + wait_ns.min(pause_ns.max(REFUSAL_NS)),
            enough_at_ns: now_ns + wait_ns,
        });
        decided
            .extend(refused.into_iter().map(|(cost, waiter)| (waiter, cost, Verdict::Refused { wait_ns })));
    }

    /// The bound may be another than before: of another window, or after a reload.
    fn follow(&mut self, bound: SharedBound) {
        if window(bound) != window(self.bound) {
            (self.units, self.unused, self.refused) = (0, 0, None);
        }
        self.bound = bound;
    }

    /// Units whose time is over are to be given back; fewer are asked for ahead then.
    fn expire(&mut self, now_ns: u64) {
        if self.units > 0 && now_ns >= self.expires_ns {
            self.ahead = self.granted_ahead.saturating_sub(self.units);
            self.unused += std::mem::take(&mut self.units);
        }
    }

    /// Asks for what is waited for; more ahead than before where what was taken ahead is used up before its time.
    fn ask(&mut self, id: u64, now_ns: u64) -> StoreCall {
        if now_ns < self.expires_ns {
            self.ahead = (2 * self.ahead).clamp(1, MAX_AHEAD);
        }
        self.unused += std::mem::take(&mut self.units);
        self.call(id)
    }

    fn call(&mut self, id: u64) -> StoreCall {
        self.is_asked = true;
        let need = self.waiters.iter().map(|(cost, _)| cost).sum();
        StoreCall {
            id,
            key: self.key,
            bound: self.bound,
            unused: std::mem::take(&mut self.unused),
            least: self.waiters.front().map_or(0, |(cost, _)| *cost),
            need,
            ahead: if need == 0 { 0 } else { self.ahead },
        }
    }
}

/// What units are of: those of one window are of no use in another.
fn window(bound: SharedBound) -> Option<i64> {
    match bound {
        SharedBound::Rate(_) => None,
        SharedBound::Quota { ends_at, .. } => Some(ends_at),
    }
}
