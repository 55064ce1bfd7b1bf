//! The plan of a root field below which something must be known of who asks: one for each set of what does not hold.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use prony_graphql::{error::GraphqlError, requirements::Unmet, selection::Field, variables::Variables};

use crate::{
    definition::{catalog::Catalog, role::Visible},
    execute::{plan::CallPlan, planner::Planner},
};

/// Plans that are kept beside the one for whom everything holds; there are as many as sets of scopes that differ here.
const MAX_VARIANTS: usize = 64;

/// The plan of a root field.
pub(crate) struct RootPlan {
    /// For whom everything holds.
    pub(crate) call: Arc<CallPlan>,
    /// None where nothing must be known.
    pub(crate) guarded: Option<Box<GuardedPlan>>,
}

/// The plans for others.
pub(crate) struct GuardedPlan {
    field: Field,
    /// Types that a role sees; none where all are seen.
    visible: Option<Arc<Visible>>,
    variants: Mutex<Vec<(Unmet, Arc<CallPlan>)>>,
}

impl GuardedPlan {
    pub(crate) fn new(field: &Field, visible: Option<&Arc<Visible>>) -> Self {
        Self { field: field.clone(), visible: visible.cloned(), variants: Mutex::default() }
    }

    /// The plan for who asks; none where that is the one for whom everything holds.
    ///
    /// # Errors
    /// The root field itself is refused.
    pub(crate) fn variant(
        &self,
        catalog: &Catalog,
        variables: &Variables,
    ) -> Result<Option<Arc<CallPlan>>, GraphqlError> {
        let Some(unmet) = catalog.requirements.unmet(variables) else { return Ok(None) };
        let planner = Planner { catalog, visible: self.visible.as_deref(), unmet: Some(&unmet) };
        if let Some(error) = planner.refusal(&self.field.parent_type, &self.field) {
            return Err(error.of_field(&self.field.response_key, self.field.position));
        }
        let known = |variants: &[(Unmet, Arc<CallPlan>)]| {
            variants.iter().find(|(of, _)| *of == unmet).map(|(_, plan)| Arc::clone(plan))
        };
        if let Some(plan) = known(&self.variants.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(Some(plan));
        }
        let plan = Arc::new(planner.call(&self.field)?);
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if variants.len() < MAX_VARIANTS {
            variants.push((unmet, Arc::clone(&plan)));
        }
        Ok(Some(plan))
    }
}

impl fmt::Debug for RootPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RootPlan").field(&self.call).finish()
    }
}
