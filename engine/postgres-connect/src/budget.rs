//! One bound on connections for the whole process, whichever threads and pools they belong to. Where all are taken, whoever has
//! none says that it starves, and those who have idle connections give them back.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// How many connections there may be, and how many there are.
#[derive(Debug)]
pub struct Budget {
    max: usize,
    taken: AtomicUsize,
    starving: AtomicUsize,
}

impl Budget {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max: max.max(1), taken: AtomicUsize::new(0), starving: AtomicUsize::new(0) })
    }

    /// Room for one connection more; `None` where all is taken.
    pub fn try_take(self: &Arc<Self>) -> Option<Slot> {
        let more = |taken| (taken < self.max).then_some(taken + 1);
        self.taken.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Slot(Arc::clone(self)))
    }

    /// Says that somebody has no connection and cannot have one, as long as the value lives.
    pub fn starve(self: &Arc<Self>) -> Starving {
        self.starving.fetch_add(1, Relaxed);
        Starving(Arc::clone(self))
    }

    /// Whether an idle connection should be given back.
    pub fn is_wanted(&self) -> bool {
        self.starving.load(Relaxed) > 0
    }

    pub fn max(&self) -> usize {
        self.max
    }

    /// Connections open or being opened.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

/// Room for one connection; dropped with it.
#[derive(Debug)]
pub struct Slot(Arc<Budget>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

/// Somebody waits for room.
#[derive(Debug)]
pub struct Starving(Arc<Budget>);

impl Drop for Starving {
    fn drop(&mut self) {
        self.0.starving.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_given_than_there_may_be() {
        let budget = Budget::new(2);
        let (one, two) = (budget.try_take().unwrap(), budget.try_take().unwrap());
        assert!(budget.try_take().is_none() && budget.taken() == 2);
        let starving = budget.starve();
        assert!(budget.is_wanted());
        drop((one, starving));
        assert!(!budget.is_wanted());
        let _three = budget.try_take().unwrap();
        drop(two);
        assert_eq!(budget.taken(), 1);
    }

    #[test]
    fn threads_never_take_too_many_together() {
        let budget = Budget::new(7);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let slot = budget.try_take();
                        assert!(budget.taken() <= 7);
                        drop(slot);
                    }
                });
            }
        });
        assert_eq!(budget.taken(), 0);
    }
}
