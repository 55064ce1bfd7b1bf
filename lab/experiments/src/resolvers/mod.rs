//! Experiment `resolvers`: what does GraphQL by functions in process cost, and what does it carry? Re-runs the
//! performance study of GraphQL ASP.NET: micro-benchmarks, GraphQL beside a REST control in the same process, users that
//! join until something gives, subscriptions, and memory over many requests.
//!
//! The road: [`micro`], [`control`], [`throughput`], [`subscriptions`], [`memory`], each with an engine of its own
//! ([`crate::engine`]) → [`report`].

mod control;
mod memory;
mod micro;
mod outcome;
pub mod published;
mod report;
mod run;
mod study;
mod subscriptions;
mod throughput;

pub use micro::{COMMAND as MICRO_COMMAND, Executions, MicroRow};
pub use outcome::ResolversOutcome;
pub use run::{ResolversOptions, run};
pub use study::{Part, ResolversPace};
