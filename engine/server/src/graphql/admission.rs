//! What lets an operation that is prepared begin: its rules, and a part of what responses may take.

use std::sync::Arc;

use prony_access::OperationRefusal;
use prony_graphql::budget::{ResponseBudget, ResponseLimit};

use super::{execution::ExecutionContext, outcome::RequestError, prepared::Prepared};
use crate::access::Places;

/// What the response of an operation may have, of what all of its kind may.
pub(super) fn operation_budget(
    core: &impl ExecutionContext,
    whole: &Arc<ResponseBudget>,
) -> Arc<ResponseBudget> {
    whole.part(ResponseLimit::Operation, core.settings().max_operation_bytes)
}

impl<S> Prepared<S> {
    /// The same as a part of what a connection's operations may have.
    pub(crate) fn within(self, core: &impl ExecutionContext, connection: &Arc<ResponseBudget>) -> Self {
        let budget = operation_budget(core, connection);
        Self { variables: self.variables.with_budget(Some(budget)), ..self }
    }

    /// Counts it by its rules, as far as that needs no waiting: [`Self::admit`] does the rest.
    pub(super) fn try_admit(self, core: &impl ExecutionContext) -> Result<Self, RequestError> {
        let admitted = match self.rules() {
            Some((asker, rules)) => asker.try_admit(&rules).map_err(RequestError::Denied),
            None => Ok(true),
        };
        match admitted {
            Ok(is_admitted) => Ok(Self { is_admitted, ..self }),
            Err(error) => {
                self.note_refusal(core, &error, false);
                Err(error)
            }
        }
    }

    /// Counts it by its rules, where that is not done yet.
    pub(crate) async fn admit(&self, core: &impl ExecutionContext) -> Result<(), RequestError> {
        let Some((asker, rules)) = self.rules().filter(|_| !self.is_admitted) else { return Ok(()) };
        let admitted = asker.admit(&rules).await.map_err(RequestError::Denied);
        admitted.inspect_err(|error| self.note_refusal(core, error, false))
    }

    /// What it needs to live as a subscription.
    pub(crate) fn places_of_subscription(
        &self,
        core: &impl ExecutionContext,
    ) -> Result<Places, RequestError> {
        let Some((asker, rules)) = self.rules() else { return Ok(Places::default()) };
        let places = asker.places_of_subscription(&rules);
        let places = places.map_err(|state| RequestError::Denied(OperationRefusal::Limit(state)));
        places.inspect_err(|error| self.note_refusal(core, error, true))
    }
}
