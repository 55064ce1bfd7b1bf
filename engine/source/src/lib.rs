//! The seam between the server and sources of data. A source contributes types and root fields, plans the fields that a
//! request selects from it, and answers them as JSON bytes; the traits here are all that the server knows of it. What
//! several kinds of sources share is in [`dialect`]; how a kind is configured, and how it makes itself known, in [`config`]; an
//! HTTP API that a source may bring in [`http_api`]; functions of the operator's that are called around fields in [`interceptors`]; spans of
//! requests that are traced in [`trace`]; who is next where many wait in [`fair_queue`]; the log of what took
//! long in [`slow_statements`]; whom a thread gives way to in [`threads`]. It leaves sockets, drivers and stores to other crates.

mod coding;
pub mod config;
pub mod dialect;
mod explanation;
pub mod fair_queue;
mod field;
pub mod http_api;
pub mod interceptors;
mod metric;
mod operation;
pub mod permissions;
mod readiness;
mod request_record;
mod reserved;
pub mod slow_statements;
pub mod threads;
pub mod trace;
mod traits;

pub use self::{
    coding::{AcceptedCodings, ContentCoding},
    config::CommonSettings,
    explanation::{ExplainedStatement, Explanation, PlanHint, Runs, ValueShape},
    field::{FieldPlan, PreparedField},
    metric::{Metric, MetricKind, Sample},
    operation::{OperationRequest, OperationResult},
    readiness::NotReady,
    request_record::{
        AskerRecord, Entered, OperationRecord, Recorded, RequestRecord, current_request, enter_request,
        for_this_request, traced_request,
    },
    reserved::ReservedNames,
    traits::{
        ChangeSignal, DataVersion, Events, FieldRequest, Reconfigured, Reconfiguring, Source, SourceSchema,
        SourceSession,
    },
};
