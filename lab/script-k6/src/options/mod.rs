//! What a script, the environment and the command line ask for, as one checked set of options, and the load it makes.
//!
//! The road: each source is read into a [`Tier`] by one table ([`table`]) → [`Tiers::consolidate`] lays them over each
//! other, derives scenarios and checks them → [`Options`] → [`Options::scenario_drafts`]. All of it is pure; every
//! fault is reported, not the first alone.

mod consolidate;
mod describe;
mod duration;
mod executors;
mod json;
mod load;
mod notes;
mod requirements;
mod resolved;
mod scenario;
pub mod table;
mod tier;
mod value;

pub use consolidate::{Consolidated, Tiers};
pub use duration::Span;
pub use executors::{ArrivalUsers, Executor, ExecutorStage};
pub use notes::{Notes, OptionsError};
pub use requirements::Requirements;
pub use resolved::{Dns, HttpDebug, Options, TimeUnit, TlsAuth};
pub use scenario::{DEFAULT_FUNCTION, Scenario};
pub use tier::Tier;

#[cfg(test)]
mod tests;
