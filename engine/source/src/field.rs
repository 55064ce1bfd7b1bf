//! A root field that a source has planned, for the plan cache.

use std::{any::Any, fmt::Debug, sync::Arc};

/// What a source has made of a root field: its statements, its walk, its calls.
pub trait FieldPlan: Any + Debug + Send + Sync {
    /// Bytes that the plan cache accounts for it.
    fn weight_bytes(&self) -> usize;

    /// Whether its answer may have to be waited for; where it never is, `SourceSession::try_answer` answers it.
    fn waits(&self) -> bool {
        true
    }
}

/// A planned root field of any source; clones share the plan.
#[derive(Debug, Clone)]
pub struct PreparedField(Arc<dyn FieldPlan>);

impl PreparedField {
    pub fn new(plan: impl FieldPlan) -> Self {
        Self(Arc::new(plan))
    }

    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        self.0.weight_bytes()
    }

    /// Whether its answer may have to be waited for.
    pub fn waits(&self) -> bool {
        self.0.waits()
    }

    /// The source's own plan.
    ///
    /// # Panics
    /// Where another kind of source has made it: the server gives each source its own plans.
    pub fn plan<P: FieldPlan>(&self) -> &P {
        let plan: &dyn Any = &*self.0;
        plan.downcast_ref().expect("a source is given its own plans")
    }

    /// As [`Self::plan`], to keep.
    ///
    /// # Panics
    /// As [`Self::plan`].
    pub fn shared<P: FieldPlan>(&self) -> Arc<P> {
        let plan = Arc::clone(&self.0);
        let plan: Arc<dyn Any + Send + Sync> = plan;
        plan.downcast().expect("a source is given its own plans")
    }
}
