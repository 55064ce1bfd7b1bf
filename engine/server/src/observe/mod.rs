//! What the server tells of itself: metrics, figures of its process, and references that join a client's error
//! with the log.

pub mod allocations;
mod histogram;
mod metrics;
mod process;
mod reference;

pub(crate) use self::{
    metrics::{CoreMetrics, Counted, Metrics, OutcomeKind},
    reference::References,
};
