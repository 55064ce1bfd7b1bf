//! Where requests go and whether they go at all: a [`breaker`] for each address, the choice between addresses, and the [`budget`]
//! of retries. All cores share this.

mod breaker;
mod budget;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(crate) use self::{
    breaker::{Breaker, Permit},
    budget::RetryBudget,
};
use crate::settings::Choice;

/// Chooses an address among those that may be asked: by requests under way, or in turn. `tried` is not chosen again as long as
/// there is another.
#[derive(Debug, Default)]
pub(crate) struct Balancer {
    next: AtomicUsize,
}

impl Balancer {
    /// `pending` are requests under way by address; none where it may not be asked.
    pub(crate) fn choose(
        &self,
        choice: Choice,
        pending: &[Option<usize>],
        tried: Option<usize>,
    ) -> Option<usize> {
        let count = pending.len();
        let begin = if count == 1 { 0 } else { self.next.fetch_add(1, Relaxed) % count };
        let in_turn = (0..count).map(|offset| (begin + offset) % count);
        let usable = || in_turn.clone().filter(|index| pending[*index].is_some());
        let fresh = || usable().filter(|index| Some(*index) != tried);
        let chosen = match choice {
            Choice::RoundRobin => fresh().next(),
            Choice::LeastPending => fresh().min_by_key(|index| pending[*index]),
        };
        chosen.or_else(|| usable().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_with_the_fewest_requests_is_chosen() {
        let balancer = Balancer::default();
        let choose = |pending: &[Option<usize>], tried| balancer.choose(Choice::LeastPending, pending, tried);
        assert_eq!(choose(&[Some(3), Some(1), None], None), Some(1));
        assert_eq!(choose(&[Some(3), Some(1), None], Some(1)), Some(0));
        assert_eq!(choose(&[None, Some(1), None], Some(1)), Some(1), "there is no other");
        assert_eq!(choose(&[None, None], None), None);
    }

    #[test]
    fn addresses_take_turns() {
        let balancer = Balancer::default();
        let chosen: Vec<_> =
            (0..6).map(|_| balancer.choose(Choice::RoundRobin, &[Some(9), None, Some(0)], None)).collect();
        let count = |index| chosen.iter().filter(|chosen| **chosen == Some(index)).count();
        assert_eq!((count(0), count(2)), (2, 4), "{chosen:?}");
        let equal: Vec<_> =
            (0..4).map(|_| balancer.choose(Choice::LeastPending, &[Some(0), Some(0)], None)).collect();
        assert!(equal.windows(2).all(|pair| pair[0] != pair[1]), "{equal:?}");
    }
}
