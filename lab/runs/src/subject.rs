//! What searches, comparisons and sweeps run again and again.

use prony_load::{RunError, RunOptions};
use prony_model::{Plan, ResultFile};
use prony_workers::{Recruited, WorkersError};
use std::fmt;

/// A plan, or a script with the plan that its options make, and what makes runs of it.
#[derive(Debug)]
pub struct Subject {
    plan: Plan,
    runner: Box<dyn Runner>,
}

/// Makes runs of one kind of thing.
pub(crate) trait Runner: fmt::Debug {
    /// One run of a plan that was made of the subject's, with whatever belongs before and after it. Its load is on workers where there
    /// are any, else on this machine.
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError>;
}

/// Why a run cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
}

impl Subject {
    pub(crate) fn new(plan: Plan, runner: impl Runner + 'static) -> Self {
        Self { plan, runner: Box::new(runner) }
    }

    /// Runs are made of it with another load or seed.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The same users with another plan, which was made of [`Self::plan`].
    #[must_use]
    pub fn with_plan(self, plan: Plan) -> Self {
        Self { plan, ..self }
    }

    /// One run of a plan that was made of [`Self::plan`].
    pub(crate) fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        self.runner.run(plan, options, workers)
    }
}

/// A plan that a program has made, as experiments do.
impl From<Plan> for Subject {
    fn from(plan: Plan) -> Self {
        Self::new(plan, PlanAlone)
    }
}

#[derive(Debug)]
struct PlanAlone;

impl Runner for PlanAlone {
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        if workers.is_some() {
            let message = format!("the plan `{}` has no file; write it to one and run that", plan.name());
            return Err(WorkersError::Handed(message).into());
        }
        Ok(prony_load::run(plan, options)?)
    }
}
