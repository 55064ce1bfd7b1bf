//! GraphQL in the server: what is served ([`Engine`]), one core's part of it ([`CoreEngine`]), and the pipeline of a request
//! ([`pipeline`]) from its [`RequestContext`] to its [`outcome`].

mod admission;
mod candidates;
mod context;
mod contributions;
mod core;
mod core_execution;
mod documents;
mod engine;
mod execution;
pub(crate) mod explain;
mod export;
pub(crate) mod interception;
mod long_documents;
mod merging;
mod notes;
pub(crate) mod outcome;
pub(crate) mod pipeline;
pub(crate) mod plan;
mod planning;
mod prepared;
mod reconfiguration;
mod renewal;
pub(crate) mod reuse;
mod roles;
mod root_fields;
mod served;
mod spans;
mod stages;
mod withdrawal;

pub(crate) use self::{
    context::RequestContext,
    core::CoreEngine,
    execution::{DOES_NOT_WAIT, ExecutionContext},
    renewal::follow,
    reuse::{KeptResponse, Mutations, ResponseCache, SharedExecutions},
    roles::{Asker, Renewal, RoleSchemas},
    served::{Description, Served},
    spans::word as kind_word,
    stages::{ClockKind, STAGES, StageClock, StageTimes},
    withdrawal::Withdrawal,
};
pub use self::{
    documents::{DocumentSettings, DocumentsError},
    engine::{Engine, OpenError, SourceOutline},
};
