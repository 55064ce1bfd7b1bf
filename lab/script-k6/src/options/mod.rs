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
mod kind;
mod load;
mod notes;
mod requirements;
mod resolved;
mod scenario;
mod segment;
mod share;
pub(crate) mod table;
mod tier;
mod value;
mod written;

pub(crate) use consolidate::Tiers;
pub use duration::Span;
pub(crate) use executors::Executor;
pub use notes::Notes;
pub(crate) use notes::OptionsError;
pub(crate) use resolved::{HttpDebug, Options, TlsAuth};
pub(crate) use scenario::Scenario;
pub use tier::Tier;

#[cfg(test)]
mod tests;
