//! GraphQL in the server: what is served ([`Engine`]), one core's part of it ([`CoreEngine`]), and the pipeline of a request
//! ([`pipeline`]) from its [`RequestContext`] to its [`outcome`].

mod context;
mod core;
mod documents;
mod engine;
mod export;
pub(crate) mod interception;
mod merging;
pub(crate) mod outcome;
pub(crate) mod pipeline;
pub(crate) mod plan;
mod renewal;
mod roles;
mod served;
mod stages;

pub(crate) use self::{
    context::RequestContext,
    core::{CoreEngine, DOES_NOT_WAIT, ExecutionContext},
    renewal::follow,
    roles::{Asker, RoleSchemas},
    served::Served,
    stages::{STAGES, StageClock, StageTimes},
};
pub use self::{
    documents::{DocumentSettings, DocumentsError},
    engine::{Engine, OpenError},
};
