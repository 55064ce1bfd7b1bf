//! GraphQL without input or output: from request text to a selection that sources can plan, and from their
//! bytes to a response. It leaves sockets, databases, files, clocks and threads to other crates.
//!
//! The road of a request, one module a stage: [`document`] parses and validates, [`variables`] coerces,
//! [`selection`] collects fields for one shape of the variables, a source plans and executes, and
//! [`response`] assembles. [`schema`] merges what sources contribute.

pub mod error;
pub mod json;
pub mod response;
pub mod schema;
pub mod selection;
pub mod variables;

pub use apollo_compiler::{self as compiler, Name};
