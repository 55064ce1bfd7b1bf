//! How operations are executed by a core: each root field by the core's own session with its source.

use std::sync::Arc;

use prony_graphql::{response::FieldResult, schema::SourceId, selection::Field, variables::Variables};
use prony_source::{AcceptedCodings, OperationResult, PreparedField, trace::in_span};

use super::{
    context::RequestContext,
    core::CoreEngine,
    execution::{DOES_NOT_WAIT, ExecutionContext},
    outcome::RequestError,
    prepared::{Finished, Prepared},
    reuse::control,
    served::{CoreServed, Served},
    spans,
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

    fn share(served: &CoreServed) -> Arc<Served> {
        served.share()
    }

    fn metrics(&self) -> &CoreMetrics {
        self.site.metrics.core(self.index)
    }

    fn answer(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        let Some(mut span) = spans::of_source(&self.site, "query", source) else {
            return self.session(source).try_answer(field, variables).expect(DOES_NOT_WAIT);
        };
        let entered = span.enter();
        let result = self.session(source).try_answer(field, variables).expect(DOES_NOT_WAIT);
        drop(entered);
        spans::describe(&mut span, [&result]);
        span.end();
        result
    }

    async fn query(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        let span = spans::of_source(&self.site, "query", source);
        in_span(span, self.session(source).query(field, variables), |span, result| {
            spans::describe(span, [result]);
        })
        .await
    }

    async fn query_all(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        let span = spans::of_source(&self.site, "query", source);
        in_span(span, self.session(source).query_all(fields, variables), |span, all| {
            spans::describe(span, all);
        })
        .await
    }

    async fn mutate(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        let span = spans::of_source(&self.site, "mutate", source);
        in_span(span, self.session(source).mutate(fields, variables), |span, all| spans::describe(span, all))
            .await
    }

    async fn execute(
        &self,
        source: SourceId,
        operation: &PreparedField,
        variables: &Variables,
        accepted: AcceptedCodings,
    ) -> OperationResult {
        let span = spans::of_source(&self.site, "forward", source);
        let work = self.session(source).execute(operation, variables, accepted);
        in_span(span, work, spans::describe_operation).await
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
