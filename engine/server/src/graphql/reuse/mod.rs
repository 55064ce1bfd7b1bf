//! Responses that serve more than one request: kept for a time, or executed once for all who ask the same at the same time.

pub(crate) mod control;
mod kept_response;
mod response_cache;
mod shared_executions;
mod versions;

pub(crate) use self::{
    kept_response::KeptResponse,
    response_cache::ResponseCache,
    shared_executions::SharedExecutions,
    versions::{Mutations, Versions},
};
