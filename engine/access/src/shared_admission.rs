//! Whether an operation is let in where servers share the counts of limits: limit after limit, each by what this server has taken
//! ahead, by asking the store, or, where that cannot be reached, as is configured for that.

use crate::{
    admission::{Asker, LimitStep, OperationRefusal, Operations, RuleId, Times},
    limits::{Attempt, SharedCounts, StoreCall, Verdict, WhenUnreachable},
};

/// An operation that is being let in. Dropping it before it is gives back what was taken.
#[derive(Debug)]
pub struct SharedAdmission<'a, W> {
    operations: &'a Operations,
    counts: &'a SharedCounts<W>,
    steps: Vec<LimitStep<'a>>,
    /// By step, as far as they are taken.
    taken: Vec<TakenFrom>,
    times: Times,
}

/// Where a step was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakenFrom {
    /// Of what servers share; also of the counts of this server, for the time when the store cannot be reached.
    Shared {
        is_noted: bool,
    },
    Local,
}

/// How far the admission of an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Admitted,
    /// The store has to be asked for this, or is asked already.
    Waits(Option<StoreCall>),
}

impl<'a, W> SharedAdmission<'a, W> {
    /// # Errors
    /// A scope is missing.
    pub fn new(
        operations: &'a Operations,
        counts: &'a SharedCounts<W>,
        rules: &[RuleId],
        asker: &Asker<'a>,
        times: Times,
    ) -> Result<Self, OperationRefusal> {
        let steps = operations.steps(rules, asker)?;
        Ok(Self { operations, counts, steps, taken: Vec::new(), times })
    }

    /// Goes on as far as that is possible without waiting. Where it waits, `waiter` is handed back by the counts once that is
    /// decided, for [`Self::decided`]; without one nothing waits.
    ///
    /// # Errors
    /// A limit is reached, or cannot be checked.
    pub fn advance(
        &mut self,
        mut waiter: Option<&mut dyn FnMut() -> W>,
    ) -> Result<Progress, OperationRefusal> {
        while let Some(step) = self.steps.get(self.taken.len()) {
            let limit = self.operations.shared_limit(step, self.times);
            let is_reachable = self.counts.is_reachable();
            let waiter: Option<&mut dyn FnMut() -> W> = match &mut waiter {
                Some(waiter) if is_reachable => Some(&mut **waiter),
                _ => None,
            };
            match self.counts.take(&limit, self.times.monotonic_ns, waiter) {
                Attempt::Taken { .. } => self.note_shared(),
                Attempt::Refused { wait_ns } => return Err(self.refusal(wait_ns)),
                Attempt::Waits(_) if !is_reachable => self.fall_back()?,
                Attempt::Waits(call) => return Ok(Progress::Waits(call)),
            }
        }
        Ok(Progress::Admitted)
    }

    /// It is decided what was waited for.
    ///
    /// # Errors
    /// A limit is reached, or cannot be checked.
    pub fn decided(&mut self, verdict: Verdict) -> Result<(), OperationRefusal> {
        match verdict {
            Verdict::Taken { .. } => {
                self.note_shared();
                Ok(())
            }
            Verdict::Refused { wait_ns } => Err(self.refusal(wait_ns)),
            Verdict::Unreachable => self.fall_back(),
        }
    }

    /// All of it is counted.
    pub fn finish(mut self) {
        self.taken.clear();
    }

    fn step(&self) -> &LimitStep<'a> {
        &self.steps[self.taken.len()]
    }

    fn note_shared(&mut self) {
        let is_noted = self.counts.settings.when_unreachable == WhenUnreachable::Local
            && self.operations.take(self.step(), self.times).is_ok();
        self.taken.push(TakenFrom::Shared { is_noted });
    }

    fn refusal(&self, wait_ns: u64) -> OperationRefusal {
        OperationRefusal::Limit(self.operations.state(self.step(), 0, wait_ns, self.times))
    }

    fn fall_back(&mut self) -> Result<(), OperationRefusal> {
        self.counts.note_fallback();
        if self.counts.settings.when_unreachable == WhenUnreachable::Refuse {
            return Err(OperationRefusal::Unreachable);
        }
        self.operations.take(self.step(), self.times).map_err(OperationRefusal::Limit)?;
        self.taken.push(TakenFrom::Local);
        Ok(())
    }
}

impl<W> Drop for SharedAdmission<'_, W> {
    fn drop(&mut self) {
        for (step, from) in self.steps.iter().zip(&self.taken) {
            if let TakenFrom::Shared { .. } = from {
                self.counts.give_back(&self.operations.shared_limit(step, self.times));
            }
            if *from != (TakenFrom::Shared { is_noted: false }) {
                self.operations.give_back(step);
            }
        }
    }
}
