//! Who draws what many users share, where they run on several machines: rows of files, numbers of counters, moments of timers.
//!
//! All of it is dealt out to the users in turn, each machine knows which turns are its own, and nobody asks anybody.

use prony_model::program::RunShare;
use std::sync::Arc;

/// The turns of one machine's users among those of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turns {
    /// Within a round, rising; never empty.
    own: Arc<[u64]>,
    /// How many users there are.
    round: u64,
}

impl Default for Turns {
    /// On one machine all turns are its own.
    fn default() -> Self {
        Self { own: Arc::new([0]), round: 1 }
    }
}

impl Turns {
    /// One in each round for each machine: where nobody knows which users draw.
    pub(crate) fn of_machines(share: RunShare) -> Self {
        Self { own: Arc::new([share.number().into()]), round: share.parts().into() }
    }

    /// Of users in groups, each by the number of its first user and how many it has.
    pub(crate) fn of_users(share: RunShare, groups: &[(u32, u32)]) -> Self {
        if share == RunShare::WHOLE {
            return Self::default();
        }
        let users = groups.iter().flat_map(|(first, users)| *first..first + users);
        let own: Arc<[u64]> =
            (0..).zip(users).filter(|(_, user)| share.users(*user, 1) == 1).map(|(turn, _)| turn).collect();
        if own.is_empty() {
            // None of its users draws.
            return Self::of_machines(share);
        }
        Self { own, round: groups.iter().map(|(_, users)| u64::from(*users)).sum() }
    }

    /// What this machine draws as its draw `number`, from 0, is this of all.
    pub(crate) fn position(&self, number: u64) -> u64 {
        let own = self.own.len() as u64;
        let place = self.own[(number % own) as usize];
        (number / own).saturating_mul(self.round).saturating_add(place)
    }

    /// True where what is drawn as this one of all is drawn here.
    pub(crate) fn has(&self, position: u64) -> bool {
        self.own.binary_search(&(position % self.round)).is_ok()
    }

    /// How many of the first `total` draws are made here.
    pub(crate) fn count(&self, total: u64) -> u64 {
        let (rounds, rest) = (total / self.round, total % self.round);
        rounds * self.own.len() as u64 + self.own.partition_point(|turn| *turn < rest) as u64
    }

    /// How many draws all make while this machine makes one, on average.
    pub(crate) fn all_of(&self, own: u32) -> u32 {
        (u64::from(own) * self.round).div_ceil(self.own.len() as u64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: u32, groups: &[(u32, u32)]) -> Vec<Turns> {
        (0..parts).map(|number| Turns::of_users(RunShare::new(number, parts).unwrap(), groups)).collect()
    }

    #[test]
    fn each_turn_is_one_machines() {
        // Two groups that do not begin with the first machine's user; neither 5 nor 7 is a multiple of 3.
        for (parts, groups) in [(3, &[(4, 5)][..]), (3, &[(1, 2), (8, 5)]), (2, &[(0, 7)]), (1, &[(3, 4)])] {
            let machines = all(parts, groups);
            for total in [0, 1, 6, 23] {
                let mut drawn = Vec::new();
                for turns in &machines {
                    let count = turns.count(total);
                    drawn.extend((0..count).map(|number| turns.position(number)));
                    assert!(
                        turns.position(count) >= total,
                        "{parts} {groups:?}: a draw below {total} was left"
                    );
                }
                drawn.sort_unstable();
                assert_eq!(drawn, (0..total).collect::<Vec<_>>(), "{parts} {groups:?}");
                let owners = |position| machines.iter().filter(|turns| turns.has(position)).count();
                assert!((0..total).all(|position| owners(position) == 1));
            }
        }
    }

    #[test]
    fn machines_draw_as_often_as_they_have_users() {
        let machines = all(3, &[(4, 5)]);
        // Users 4 to 8: 6 is the first machine's, 4 and 7 are the second's, 5 and 8 the third's.
        assert_eq!(machines.iter().map(|turns| turns.count(5)).collect::<Vec<_>>(), [1, 2, 2]);
        assert_eq!(
            [1, 2, 2].iter().zip(&machines).map(|(own, turns)| turns.all_of(*own)).collect::<Vec<_>>(),
            [5, 5, 5]
        );
    }

    #[test]
    fn machines_without_a_user_have_turns_of_their_own() {
        let none = Turns::of_users(RunShare::new(2, 3).unwrap(), &[(0, 2)]);
        assert_eq!(none, Turns::of_machines(RunShare::new(2, 3).unwrap()));
        assert_eq!((0..3).map(|number| none.position(number)).collect::<Vec<_>>(), [2, 5, 8]);
    }
}
