//! What a load test is and what it showed, as values: scenarios, schedules, records, histograms, verdicts, findings.
//!
//! Pure: no sockets, files, clocks, threads or global randomness. Times and generators of random numbers come in
//! as arguments. The runner (`prony-load`) drives it; `prony-report` shows what leaves it.

pub mod answer;
pub mod call;
pub mod capture;
pub mod check;
pub mod clock;
pub mod comparison;
pub mod counts;
pub mod figures;
pub mod findings;
pub mod histogram;
pub mod hosts;
pub mod load;
pub mod observation;
pub mod offer;
pub mod pattern;
pub mod plan;
pub mod pointer;
pub mod program;
pub mod record;
pub mod request;
pub mod result;
pub mod rows;
pub mod scenario;
pub mod search;
mod series;
pub mod statistics;
pub mod subscription;
pub mod table;
pub mod tally;
pub mod target;
pub mod template;
pub mod threshold;
pub mod units;
mod values;
pub mod variable;
pub mod verdict;
pub mod windows;
pub mod wire;

pub use load::{LoadModel, Pacing, RateStage, Rates, Spacing, Stage, Starts, ThinkTime};
pub use plan::{NamedTarget, Plan, PlanDraft, PlanFaults};
pub use record::{Outcome, Record, TransportError};
pub use request::{BodyDraft, ExpectedStatus, RequestDraft};
pub use result::ResultFile;
pub use scenario::{FlowDraft, ScenarioDraft, StepDraft};
pub use target::{Scheme, Target};
pub use threshold::Threshold;
pub use units::Nanos;
pub use variable::Variable;
pub use windows::{WindowKind, Windows};
pub use wire::WireOptions;
