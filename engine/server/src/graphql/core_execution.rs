//! How operations are executed by a core: each root field by the core's own session with its source.

use prony_graphql::{response::FieldResult, schema::SourceId, selection::Field, variables::Variables};
use prony_source::{AcceptedCodings, OperationResult, PreparedField};

use super::{
    context::RequestContext,
    core::CoreEngine,
    execution::{DOES_NOT_WAIT, ExecutionContext},
    outcome::RequestError,
    prepared::{Finished, Prepared},
    reuse::control,
    served::CoreServed,
    stages::StageClock,
};
use crate::{
    joins::{self, JoinNode},
    observe::CoreMetrics,
    site::Site,
};

impl ExecutionContext for CoreEngine {
    type Served = CoreServed;

    fn site(&self) -> &Site {
        &self.site
    }

    fn served(&self, context: &RequestContext) -> CoreServed {
        context.asker.as_ref().map_or_else(|| self.current(), |asker| self.served_to(asker))
    }

    fn metrics(&self) -> &CoreMetrics {
        self.site.metrics.core(self.index)
    }

    fn answer(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        self.session(source).try_answer(field, variables).expect(DOES_NOT_WAIT)
    }

    async fn query(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        self.session(source).query(field, variables).await
    }

    async fn query_all(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.session(source).query_all(fields, variables).await
    }

    async fn mutate(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.session(source).mutate(fields, variables).await
    }

    async fn execute(
        &self,
        source: SourceId,
        operation: &PreparedField,
        variables: &Variables,
        accepted: AcceptedCodings,
    ) -> OperationResult {
        self.session(source).execute(operation, variables, accepted).await
    }

    async fn join(&self, field: &Field, node: &JoinNode, variables: &Variables, result: &mut FieldResult) {
        joins::resolve(self, field, node, variables, result).await;
    }

    async fn finish_by_rules(
        &self,
        prepared: &Prepared,
        clock: &mut StageClock,
    ) -> Result<Finished, RequestError> {
        control::finish(self, prepared, clock).await
    }
}
