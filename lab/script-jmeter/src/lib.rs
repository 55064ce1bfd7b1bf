//! JMeter plans: .jmx files run unchanged as the program of a load test.
//!
//! A plan is read ([`tree`]) → compiled to groups with their scopes resolved ([`compile`], [`plan`]) → its groups' loads are
//! made load models ([`loads`]) → run by users ([`run`]) → samples ([`prony_jtl`]). What is not run is refused before the start.

mod compile;
mod condition;
mod encodings;
mod error;
mod js;
mod json;
mod loads;
mod outline;
mod patterns;
mod plan;
mod properties;
mod run;
mod session;
mod share;
mod text;
mod tree;
mod variables;
mod xpath;

pub use error::{ElementFault, JmeterError, PlanError, PlanErrorKind};
pub use run::shared::Logged;
pub use session::{Given, JmeterPlan, JmeterWorkload, Part, Session, SessionClock, SessionLog};
pub use share::{Counted, SharedLife};
