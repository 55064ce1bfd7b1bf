//! What searches and comparisons run again and again.

use prony_load::{RunError, RunOptions};
use prony_model::{Plan, ResultFile};
use std::fmt;

/// A plan, or a script with the plan that its options make.
pub trait Subject: fmt::Debug {
    /// Runs are made of it with another load or seed.
    fn plan(&self) -> &Plan;

    /// The same users with another plan, which was made of [`Self::plan`].
    fn with_plan(self: Box<Self>, plan: Plan) -> Box<dyn Subject>;

    /// One run of a plan that was made of [`Self::plan`], with whatever belongs before and after it.
    fn run(&self, plan: &Plan, options: RunOptions) -> Result<ResultFile, RunError>;
}

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
}
