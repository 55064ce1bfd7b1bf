//! What the pipeline of a request needs of where it runs: the seam between a request's stages and the engine.

use std::{ops::Deref, sync::Arc};

use prony_graphql::{response::FieldResult, schema::SourceId, selection::Field, variables::Variables};
use prony_source::{AcceptedCodings, OperationResult, PreparedField};

use super::{
    context::RequestContext,
    engine::Engine,
    outcome::RequestError,
    prepared::{Finished, Prepared},
    served::Served,
    stages::StageClock,
};
use crate::{config::Settings, joins::JoinNode, observe::CoreMetrics, site::Site};

/// What the pipeline of a request needs: a core's part of the engine, or the engine inside another program's server.
pub(crate) trait ExecutionContext {
    type Served: Deref<Target = Served>;

    fn site(&self) -> &Site;

    /// What is served now to those who ask so; a request asks once and uses that to its end.
    fn served(&self, context: &RequestContext) -> Self::Served;

    /// The same for another thread.
    fn share(served: &Self::Served) -> Arc<Served>;

    fn metrics(&self) -> &CoreMetrics;

    /// Answers a root field that does not [wait](PreparedField::waits).
    fn answer(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult;

    fn query(
        &self,
        source: SourceId,
        field: &PreparedField,
        variables: &Variables,
    ) -> impl Future<Output = FieldResult>;

    /// All root fields of one source.
    fn query_all(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    fn mutate(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    /// An operation that its source executes as a whole, for a client who takes these codings.
    fn execute(
        &self,
        source: SourceId,
        operation: &PreparedField,
        variables: &Variables,
        accepted: AcceptedCodings,
    ) -> impl Future<Output = OperationResult>;

    /// Completes the result of a root field with what is joined to it.
    fn join(
        &self,
        field: &Field,
        node: &JoinNode,
        variables: &Variables,
        result: &mut FieldResult,
    ) -> impl Future<Output = ()>;

    /// Executes an operation that has rules.
    fn finish_by_rules(
        &self,
        prepared: &Prepared<Self::Served>,
        clock: &mut StageClock,
    ) -> impl Future<Output = Result<Finished, RequestError>>;

    fn settings(&self) -> &Settings {
        &self.site().settings
    }

    fn engine(&self) -> &Engine {
        &self.site().engine
    }
}

/// Why [`ExecutionContext::answer`] has an answer.
pub(crate) const DOES_NOT_WAIT: &str = "a field that does not wait has its answer";
