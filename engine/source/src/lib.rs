//! The seam between the server and sources of data. A source contributes types and root fields, plans the fields that a
//! request selects from it, and answers them as JSON bytes; the traits here are all that the server knows of it. What
//! several kinds of sources share is in [`dialect`]. It leaves HTTP, drivers and stores to other crates.

pub mod dialect;
mod field;
mod metric;
mod reserved;
mod settings;
mod traits;

pub use self::{
    field::{FieldPlan, PreparedField},
    metric::{Metric, MetricKind, Sample},
    reserved::ReservedNames,
    settings::CommonSettings,
    traits::{ChangeSignal, Events, FieldRequest, Source, SourceSchema, SourceSession},
};
