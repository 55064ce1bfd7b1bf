//! GraphQL in the server: what is served ([`Engine`]), one core's part of it ([`CoreEngine`]), and the road that
//! each request travels ([`road`]). It knows nothing of HTTP but the answer's kind.

mod core;
mod documents;
mod engine;
mod export;
pub(crate) mod plan;
pub(crate) mod road;
mod served;
mod stages;

pub(crate) use self::{
    core::{CoreEngine, Lane},
    engine::follow,
    served::Served,
    stages::{STAGES, StageClock, StageTimes},
};
pub use self::{
    documents::{DocumentSettings, DocumentsError},
    engine::{Engine, OpenError},
};
