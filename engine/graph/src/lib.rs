//! A property graph as a source: its declared types as GraphQL types, neighbours as nested fields, writes as mutations.
//!
//! [`model`] says what is served of the store's types and under which names, [`contribution`] writes the GraphQL types of
//! it, `lower` makes a [`plan`] of a root field, `bind` fills in the variables, and `walk` writes the answer as JSON
//! straight from the store. `mutate` writes. [`http_api`] has the calls over HTTP beside GraphQL. How values compare is the store's business alone.

pub mod databases;
mod events;
mod execute;
mod graph;
mod http_api;
mod kind;
mod planning;
mod schema;
mod settings;
mod slow_log;
mod source;
#[cfg(test)]
mod tests;

pub use crate::kind::GraphKind;
pub use crate::settings::{GraphIndex, GraphSettings, Reads, graph_index};
pub use crate::source::GraphSource;
pub use prony_graph_store::{durability, durability_text};
