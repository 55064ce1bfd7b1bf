//! What the server tells of itself: metrics, figures of its process, and references that join a client's error
//! with the log.

pub mod allocations;
mod audit;
mod family;
mod histogram;
mod metrics;
mod operations;
mod process;
mod reference;

pub(crate) use self::{
    audit::{Audit, AuditEntry, AuditField, AuditOutcome},
    metrics::{CachesStatistics, CoreMetrics, Counted, Metrics, OutcomeKind},
    operations::{OperationLabel, OperationLabels, RefusalReason},
    reference::References,
};
