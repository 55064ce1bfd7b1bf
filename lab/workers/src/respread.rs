//! The share of a worker that was lost, where the others take it over: each of them a part of its users, with their numbers, starts
//! and chances, from one whole second on. In between the share is missing, and that no user is there twice is more important than
//! how long that lasts.

use crate::coordinator::{Coordinator, Handing};
use crate::message::{CONTACT_MAX, Order, Reply};
use crate::roster::{Member, Stage};
use prony_load::Collector;
use prony_model::program::RunShare;
use prony_model::{Nanos, Plan};
use std::time::{Duration, Instant};

/// A worker that is cut off stops after [`CONTACT_MAX`]; so much later than that its users are begun elsewhere.
const MARGIN: Duration = Duration::from_secs(2);
/// From when others are told until they begin: far longer than a message takes.
const LEAD: Duration = Duration::from_secs(1);
/// Takers may fail too; after so many attempts the share stays missing.
const ATTEMPTS_MAX: u32 = 3;

/// Has shares of a run taken over.
#[derive(Debug)]
pub(crate) struct Respread<'a> {
    plan: &'a Plan,
    handing: Handing<'a>,
    /// Of the run.
    start: Instant,
    takeovers: Vec<Takeover>,
    attempts: u32,
}

/// A share that others are about to take over.
#[derive(Debug)]
struct Takeover {
    /// The member that was lost.
    lost: usize,
    /// The members that have its share.
    takers: Vec<usize>,
}

/// The parts of a share for so many takers, or for as many as it has users.
fn divided(share: RunShare, users: u32, takers: u32) -> Vec<RunShare> {
    let count = takers.min(share.users(0, users));
    let part = |number: u32| {
        let parts = share.parts().checked_mul(count)?;
        RunShare::new(share.number() + share.parts() * number, parts)
    };
    (0..count).map_while(part).collect()
}

impl<'a> Respread<'a> {
    pub(crate) const fn new(plan: &'a Plan, handing: Handing<'a>, start: Instant) -> Self {
        Self { plan, handing, start, takeovers: Vec::new(), attempts: 0 }
    }

    /// Finds takers for the share of a member that was lost, and has them prepare.
    pub(crate) fn spread(
        &mut self,
        coordinator: &mut Coordinator,
        collector: &mut Collector<'_>,
        lost: usize,
    ) {
        coordinator.send(lost, Order::Stop);
        let Member { name, share, .. } = &coordinator.members[lost];
        let (name, share) = (name.clone(), *share);
        self.attempts += 1;
        let own = coordinator.members.iter().enumerate();
        let can_take = |member: &Member| {
            member.takes_over.is_none() && !member.is_lost() && member.stage == Stage::Running
        };
        let takers: Vec<usize> = own.filter(|(_, member)| can_take(member)).map(|(index, _)| index).collect();
        let shares = divided(share, self.plan.users(), takers.len() as u32);
        if shares.is_empty() || self.attempts > ATTEMPTS_MAX * coordinator.settings.terms.workers {
            return coordinator.tell(&format!("nobody can take over the share of `{name}`"));
        }
        let mut members = Vec::new();
        for (taker, share) in takers.into_iter().zip(shares) {
            let Member { id, name: own, clock, .. } = &coordinator.members[taker];
            let (clock, own) = (*clock, format!("{own} for {name}"));
            let Some(worker) = coordinator.crew.iter().position(|recruit| recruit.id == *id) else {
                continue;
            };
            let member = coordinator.assign(self.handing, worker, share, &own, true);
            let assigned = &mut coordinator.members[member];
            (assigned.clock, assigned.takes_over) = (clock, Some(name.clone()));
            collector.add();
            members.push(member);
        }
        self.takeovers.push(Takeover { lost, takers: members });
    }

    /// A taker that prepares says something.
    pub(crate) fn hear(
        &mut self,
        coordinator: &mut Coordinator,
        collector: &mut Collector<'_>,
        index: usize,
        what: &Reply,
    ) {
        coordinator.prepare_further(self.handing.bundle, index, what);
        let is_ready = |takeover: &Takeover| {
            takeover.takers.iter().all(|taker| coordinator.members[*taker].stage == Stage::Ready)
        };
        if let Some(at) = self.takeovers.iter().position(is_ready) {
            let takeover = self.takeovers.remove(at);
            self.begin(coordinator, collector, &takeover);
        }
    }

    /// Tells the second from which on the share is theirs.
    fn begin(
        &self,
        coordinator: &mut Coordinator,
        collector: &mut Collector<'_>,
        Takeover { lost, takers }: &Takeover,
    ) {
        let from = self.second(&coordinator.members[*lost]);
        let name = coordinator.members[*lost].name.clone();
        if Nanos::from_secs(from) >= self.plan.duration() {
            coordinator.tell(&format!("the share of `{name}` is not taken over: the run is nearly over"));
            return give_up(coordinator, takers);
        }
        let others: Vec<u32> = takers.iter().map(|taker| *taker as u32).collect();
        collector.take_over(*lost as u32, &others, from);
        coordinator.members[*lost].taken_over_from = Some(from);
        for taker in takers {
            coordinator.members[*taker].from_second = from;
            coordinator.start_one(*taker, self.start, Nanos::from_secs(from));
        }
        let names: Vec<_> =
            takers.iter().map(|taker| format!("`{}`", coordinator.members[*taker].name)).collect();
        coordinator.tell(&format!(
            "from second {from} on the share of `{name}` is made again: {}; rows that it had are not given again",
            names.join(", ")
        ));
    }

    /// The first second in which it makes no load any more for sure, and which the others have not begun.
    fn second(&self, lost: &Member) -> u64 {
        let now = Instant::now();
        let quiet = if lost.stage == Stage::Ended { now } else { lost.heard() + CONTACT_MAX + MARGIN };
        let moment = quiet.max(now + LEAD).saturating_duration_since(self.start);
        moment.as_secs() + 1
    }

    /// A share that was about to be taken over and whose taker is gone goes to those that are left.
    pub(crate) fn retry(
        &mut self,
        coordinator: &mut Coordinator,
        collector: &mut Collector<'_>,
        gone: usize,
    ) {
        let Some(at) = self.takeovers.iter().position(|takeover| takeover.takers.contains(&gone)) else {
            return;
        };
        let Takeover { lost, takers } = self.takeovers.remove(at);
        give_up(coordinator, &takers);
        self.spread(coordinator, collector, lost);
    }

    /// Nothing is left to be taken over: the run ends.
    pub(crate) fn give_up_all(&mut self, coordinator: &mut Coordinator) {
        for Takeover { takers, .. } in std::mem::take(&mut self.takeovers) {
            give_up(coordinator, &takers);
        }
    }
}

fn give_up(coordinator: &mut Coordinator, takers: &[usize]) {
    for taker in takers {
        coordinator.send(*taker, Order::Leave);
        coordinator.members[*taker].give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Also of a share that was taken over before.
        #[test]
        fn each_user_of_a_lost_share_has_one_taker(
            users in 1_u32..200, parts in 1_u32..9, lost in 0_u32..9, takers in 1_u32..9, again in 1_u32..9
        ) {
            let share = RunShare::new(lost % parts, parts).unwrap();
            let first = divided(share, users, takers);
            let second: Vec<_> = first.iter().flat_map(|share| divided(*share, users, again)).collect();
            for (level, shares) in [(1, &first), (2, &second)] {
                for user in 0..users {
                    let owners = shares.iter().filter(|share| share.users(user, 1) == 1).count() as u32;
                    prop_assert_eq!(owners, share.users(user, 1), "user {} at level {}", user, level);
                }
                prop_assert!(shares.iter().all(|share| share.users(0, users) > 0), "none is for nothing");
            }
        }
    }
}
