//! GraphQL in the server: what is served ([`Engine`]), one core's part of it ([`CoreEngine`]), and the pipeline of a request
//! ([`pipeline`]) from its [`RequestContext`] to its [`outcome`].

mod context;
pub(crate) mod control;
mod core;
mod documents;
mod engine;
mod export;
pub(crate) mod interception;
mod merging;
mod notes;
pub(crate) mod outcome;
pub(crate) mod pipeline;
pub(crate) mod plan;
mod prepared;
mod renewal;
mod response_cache;
mod roles;
mod served;
mod shared_executions;
mod stages;
mod versions;

pub(crate) use self::{
    context::RequestContext,
    core::{CoreEngine, DOES_NOT_WAIT, ExecutionContext},
    renewal::follow,
    response_cache::{KeptResponse, ResponseCache},
    roles::{Asker, RoleSchemas, monotonic_ns},
    served::Served,
    shared_executions::SharedExecutions,
    stages::{STAGES, StageClock, StageTimes},
    versions::Mutations,
};
pub use self::{
    documents::{DocumentSettings, DocumentsError},
    engine::{Engine, OpenError},
};
