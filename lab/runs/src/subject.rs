//! What searches, comparisons and sweeps run again and again.

use prony_load::{RunError, RunOptions};
use prony_model::{Plan, ResultFile};
use prony_workers::{Recruited, WorkersError};
use std::fmt;

/// A plan, or a script with the plan that its options make.
pub trait Subject: fmt::Debug {
    /// Runs are made of it with another load or seed.
    fn plan(&self) -> &Plan;

    /// The same users with another plan, which was made of [`Self::plan`].
    fn with_plan(self: Box<Self>, plan: Plan) -> Box<dyn Subject>;

    /// One run of a plan that was made of [`Self::plan`], with whatever belongs before and after it.
    fn run(&self, plan: &Plan, options: RunOptions) -> Result<ResultFile, RunError>;

    /// The same, with the load on workers.
    fn run_shared(
        &self,
        plan: &Plan,
        workers: &mut Recruited,
        options: RunOptions,
    ) -> Result<ResultFile, SharedRunError>;
}

/// Why a run whose load is on workers cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SharedRunError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
}

/// A plan that a program has made, as experiments do.
impl Subject for Plan {
    fn plan(&self) -> &Plan {
        self
    }

    fn with_plan(self: Box<Self>, plan: Plan) -> Box<dyn Subject> {
        Box::new(plan)
    }

    fn run(&self, plan: &Plan, options: RunOptions) -> Result<ResultFile, RunError> {
        prony_load::run(plan, options)
    }

    fn run_shared(
        &self,
        plan: &Plan,
        _workers: &mut Recruited,
        _options: RunOptions,
    ) -> Result<ResultFile, SharedRunError> {
        let message = format!("the plan `{}` has no file; write it to one and run that", plan.name());
        Err(WorkersError::Handed(message).into())
    }
}
