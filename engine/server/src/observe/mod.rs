//! What the server tells of itself: metrics, figures of its process, and references that join a client's error
//! with the log.

mod access_log;
pub mod allocations;
mod audit;
mod cpu_profile;
mod family;
mod histogram;
mod line_file;
mod metrics;
mod operations;
mod process;
mod reference;
mod traces;

pub(crate) use self::{
    access_log::{AccessLog, Noted, REQUEST_ID},
    audit::{Audit, AuditEntry, AuditField, AuditOutcome},
    cpu_profile::{CpuProfile, ProfileFault},
    metrics::{CachesStatistics, CoreMetrics, Counted, Metrics, OutcomeKind},
    operations::{OperationLabel, OperationLabels, RefusalReason},
    reference::References,
    traces::Tracer,
};
