//! Which part of a run is one of several load generators': users by their numbers, and with them starts, iterations and rows.
//!
//! Nothing is divided, so nothing is rounded: user `n` belongs to part `n` modulo the number of parts, and whatever all users
//! draw from (starts, a budget of iterations, the rows of a feeder) is dealt out to users in turn, *k* to user *k* modulo their
//! number. Each user and each start is that of the run on one machine: with its number, at its moment, with its chance.

use super::ThreadPlace;
use serde::{Deserialize, Serialize};

/// One of the parts that a run is made of; [`RunShare::WHOLE`] where it is not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunShare {
    /// From 0, below `parts`.
    number: u32,
    parts: u32,
}

impl RunShare {
    /// A run on one machine.
    pub const WHOLE: Self = Self { number: 0, parts: 1 };

    /// Part `number`, from 0, of `parts`; nothing where there is no such part.
    pub const fn new(number: u32, parts: u32) -> Option<Self> {
        if number < parts { Some(Self { number, parts }) } else { None }
    }

    pub const fn number(self) -> u32 {
        self.number
    }

    pub const fn parts(self) -> u32 {
        self.parts
    }

    /// The place of one of this part's threads among all threads of the run, as if each part had as many.
    pub const fn thread(self, number: u32, threads: u32) -> ThreadPlace {
        ThreadPlace { number: self.number + self.parts * number, threads: self.parts * threads }
    }

    /// How many of the users from number `first` on, `users` of them, are this part's.
    pub const fn users(self, first: u32, users: u32) -> u32 {
        (self.below(first as u64 + users as u64) - self.below(first as u64)) as u32
    }

    /// How many numbers below this one are this part's; as many of so many things that are numbered from 0.
    pub const fn below(self, number: u64) -> u64 {
        (number + self.parts as u64 - 1 - self.number as u64) / self.parts as u64
    }

    /// The first of the users from number `first` on that is this part's, counted from there.
    const fn offset(self, first: u32) -> u64 {
        ((self.number + self.parts - first % self.parts) % self.parts) as u64
    }

    /// Of what `users` users from number `first` on draw from in turn, the position that this part's draw `number` (from 0) has.
    /// Nothing where none of these users is this part's.
    pub const fn position(self, number: u64, first: u32, users: u32) -> Option<u64> {
        let own = self.users(first, users) as u64;
        if own == 0 {
            return None;
        }
        Some(number / own * users as u64 + self.offset(first) + number % own * self.parts as u64)
    }

    /// How many of the first `total` positions are this part's.
    pub const fn positions(self, total: u64, first: u32, users: u32) -> u64 {
        if users == 0 {
            return 0;
        }
        let (rounds, rest) = (total / users as u64, total % users as u64);
        rounds * self.users(first, users) as u64 + self.users(first, rest as u32) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadModel, RateStage, Spacing, Stage, StartShare, Starts};
    use crate::units::Nanos;
    use proptest::prelude::*;

    fn all(parts: u32) -> Vec<RunShare> {
        (0..parts).map(|number| RunShare::new(number, parts).unwrap()).collect()
    }

    #[test]
    fn there_is_no_part_beyond_the_last() {
        assert_eq!(RunShare::new(3, 3), None);
        assert_eq!(RunShare::new(0, 0), None);
        assert_eq!(RunShare::new(0, 1), Some(RunShare::WHOLE));
    }

    proptest! {
        /// Whatever the numbers of threads, which may differ from part to part.
        #[test]
        fn each_user_lives_on_one_thread_of_one_part(
            parts in 1_u32..9, threads in prop::collection::vec(1_u32..5, 8), first in 0_u32..40, users in 0_u32..60
        ) {
            for user in first..first + users {
                let of_part = |share: &RunShare| {
                    let threads = threads[share.number() as usize];
                    (0..threads).filter(|number| share.thread(*number, threads).has(user)).count()
                };
                prop_assert_eq!(all(parts).iter().map(of_part).sum::<usize>(), 1);
            }
            let counts = all(parts).into_iter().map(|share| share.users(first, users));
            prop_assert_eq!(counts.clone().sum::<u32>(), users);
            prop_assert!(counts.clone().max().unwrap() - counts.min().unwrap() <= 1, "no part has two more than another");
        }

        #[test]
        fn positions_are_dealt_out_once_and_without_a_gap(
            parts in 1_u32..9, first in 0_u32..40, users in 1_u32..60, total in 0_u64..500
        ) {
            let mut dealt = Vec::new();
            for share in all(parts) {
                let count = share.positions(total, first, users);
                for number in 0..count {
                    let position = share.position(number, first, users).unwrap();
                    // The user whose turn it is.
                    let user = first + (position % u64::from(users)) as u32;
                    prop_assert_eq!(user % parts, share.number());
                    dealt.push(position);
                }
                let next = share.position(count, first, users);
                prop_assert!(next.is_none_or(|next| next >= total), "{next:?} of {total} was left");
            }
            dealt.sort_unstable();
            prop_assert_eq!(dealt, (0..total).collect::<Vec<_>>());
        }

        /// At each instant of each stage the users that are active on all parts are those of one machine.
        #[test]
        fn active_users_of_all_parts_are_those_of_the_whole(
            stages in prop::collection::vec((0_u64..50, 0_u32..12), 1..6), parts in 1_u32..6, first in 0_u32..9, time in 0_u64..300
        ) {
            let stages = stages.into_iter().map(|(length, users)| Stage::new(Nanos(length), users)).collect();
            let (load, time) = (LoadModel::closed(stages), Nanos(time));
            let active_on = |share: RunShare| {
                let own = (0..load.users_max()).filter(|user| share.users(first + user, 1) == 1);
                let is_active = |user: &u32| {
                    load.activities_of(*user).iter().any(|span| span.start <= time && time < span.stop)
                };
                own.filter(is_active).count() as u32
            };
            prop_assert_eq!(all(parts).into_iter().map(active_on).sum::<u32>(), load.users_active_at(time));
        }

        /// The starts of all parts are those of one machine to the nanosecond: a constant rate stays a constant rate, and a
        /// Poisson process that Poisson process.
        #[test]
        fn starts_of_all_parts_are_those_of_the_whole(
            seed: u64, rates in prop::collection::vec((0_u64..5, 0.0_f64..200.0), 1..5), is_poisson: bool,
            parts in 1_u32..6, threads in prop::collection::vec(1_u32..4, 6), first in 0_u32..9, users in 1_u32..9,
        ) {
            let stages = rates.iter().map(|(s, rate)| RateStage::new(Nanos::from_secs(*s), *rate)).collect();
            let spacing = if is_poisson { Spacing::Poisson } else { Spacing::Even };
            let load = LoadModel::arrivals(stages, spacing, users, Nanos::ZERO);
            let mut split = Vec::new();
            for share in all(parts) {
                let threads = threads[share.number() as usize];
                for number in 0..threads {
                    let place = share.thread(number, threads);
                    let own = StartShare::of_users(place.number, place.threads, first, users);
                    split.extend(Starts::new(&load, seed, own));
                }
            }
            split.sort_unstable();
            let whole: Vec<_> = Starts::new(&load, seed, StartShare::ALL).collect();
            prop_assert_eq!(split, whole);
        }
    }
}
