//! What a load test is and what it showed, as values: scenarios, schedules, records, histograms, verdicts, findings.
//!
//! Pure: no sockets, files, clocks, threads or global randomness. Times and generators of random numbers come in
//! as arguments. The runner (`prony-load`) drives it; `prony-report` shows what leaves it.

pub mod comparison;
pub mod data;
pub mod load;
pub mod measurement;
pub mod plan;
pub mod program;
pub mod response;
pub mod result;
pub mod search;
pub mod subscription;
pub mod sweep;
pub mod units;
pub mod verdict;

pub use data::variable::Variable;
pub use load::windows::{WindowKind, Windows};
pub use load::{LoadModel, Pacing, RateStage, Rates, Spacing, Stage, StartShare, Starts, ThinkTime};
pub use measurement::record::{Outcome, Record, TransportError};
pub use plan::request::{BodyDraft, ExpectedStatus, RequestDraft};
pub use plan::scenario::{FlowDraft, ScenarioDraft, StepDraft};
pub use plan::target::{NamedTarget, Scheme, Target};
pub use plan::wire::WireOptions;
pub use plan::{Plan, PlanDraft, PlanFaults};
pub use result::ResultFile;
pub use units::Nanos;
pub use verdict::conclusion::Conclusion;
pub use verdict::threshold::Threshold;
