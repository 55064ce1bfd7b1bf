//! Experiment `gateway`: what does a GraphQL gateway carry, and what does each of its layers cost? Re-runs a published study of an
//! API gateway: three operations of one, four and nine root fields, 50 to 1,000 users, tokens, TLS and limits by operation.
//!
//! Three processes: the backend (`prony example starwars`), the gateway (`prony serve` with an upstream) on processors of its own, and
//! the lab, which shares its processors with the backend.

mod credential_error;
mod credentials;
mod gateways;
mod layer_runs;
mod layers;
mod outcome;
mod page;
mod published;
mod report;
mod run;
mod steps;
mod study;
mod tables;
mod token_key;

pub use credential_error::CredentialError;
pub use layer_runs::LayerRun;
pub use layers::Layer;
pub use outcome::GatewayOutcome;
pub use run::{GatewayOptions, run};
pub use steps::UserStep;
pub use study::{GatewayPace, GatewayPart, Query};
pub use token_key::TokenKey;
