//! Experiments: each re-runs one published performance study end to end, with the engine as a process of its
//! own, and prints its table beside the published one.

mod ask;
mod choice;
pub mod clock;
mod databases;
mod disk;
mod display;
mod durability;
pub mod engine;
mod error;
mod folder;
mod frame;
pub mod gateway;
pub mod graph;
pub mod markdown;
mod medians;
pub mod processors;
pub mod relational;
pub mod resolvers;
mod runs;
pub mod selftest;
pub mod series;
mod shares;
mod statistics;

pub use ask::AnswerError;
pub use databases::DatabaseError;
pub use disk::sync_cost;
pub use durability::{Durability, DurabilityError};
pub use error::LabError;
pub use frame::{Head, Report};

/// An experiment as `prony lab` lists it.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    pub name: &'static str,
    pub summary: &'static str,
}

/// All experiments of this version.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "relational",
        summary: "how many users GraphQL over a relational database serves (Phrag's performance study)",
    },
    Experiment {
        name: "graph",
        summary: "how many nodes and relationships a second a property graph makes and reads (RageDB's study)",
    },
    Experiment {
        name: "gateway",
        summary: "what a GraphQL gateway carries with tokens, TLS and limits, and what each layer costs (an API gateway's study)",
    },
    Experiment {
        name: "series",
        summary: "how many notifications a second a store of time series takes, and how fast it reads them (QuantumLeap's study)",
    },
    Experiment {
        name: "resolvers",
        summary: "what GraphQL by functions costs over REST, and what it carries (GraphQL ASP.NET's study)",
    },
];
