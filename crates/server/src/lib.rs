//! The server: takes settings, opens sources, and answers HTTP on one thread a core. It leaves reading
//! arguments, printing and exit codes to the binary, and what a field means to the sources.
//!
//! [`config`] turns what was typed into [`config::Settings`]; [`runtime`] owns sockets, threads and stopping;
//! [`http`] owns paths, limits and headers; [`graphql`] holds the road of a request, [`graph`] the calls on graphs; [`observe`] holds logs'
//! references, metrics and process figures.

pub mod config;
pub mod examples;
pub mod graph;
pub mod graphql;
pub mod http;
mod library;
pub mod observe;
pub mod runtime;
mod subscriptions;

pub use prony_sources::{outputs, resolvers};

pub use self::{http::Route, library::Server};
