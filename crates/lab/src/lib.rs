//! Experiments: each re-runs one published performance study end to end, with the engine as a process of its
//! own, and prints its table beside the published one.

pub mod clock;
pub mod engine;
pub mod k6;
pub mod markdown;
pub mod observe;
pub mod processors;
pub mod relational;
pub mod selftest;

/// An experiment as `prony lab` lists it.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    pub name: &'static str,
    pub summary: &'static str,
}

/// All experiments of this version.
pub const EXPERIMENTS: &[Experiment] = &[Experiment {
    name: "relational",
    summary: "how many users GraphQL over a relational database serves (Phrag's performance study)",
}];
