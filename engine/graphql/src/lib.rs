//! GraphQL without input or output: from request text to a selection that sources can plan, and from their
//! bytes to a response. It leaves sockets, databases, files, clocks and threads to other crates.
//!
//! The pipeline of a request, one module a stage: [`request`] reads the parameters, [`document`] parses and
//! validates, [`variables`] coerces and takes their shape, [`selection`] holds the fields collected for one
//! shape, a source plans and executes, and [`response`] assembles. [`completion`] writes values that others have changed, [`cache`] keeps operations and plans,
//! [`introspection`] answers from the schema, [`budget`] bounds the bytes of responses, [`requirements`] says what fields want to know of who asks, and [`schema`] merges what sources contribute.

pub mod budget;
pub mod cache;
pub mod completion;
pub mod document;
pub mod error;
pub mod introspection;
pub mod json;
pub mod request;
pub mod requirements;
pub mod response;
pub mod schema;
pub mod selection;
pub mod variables;

pub use apollo_compiler::{self as compiler, Name};
