//! A property graph as a source: its declared types as GraphQL types, neighbours as nested fields, writes as mutations.
//!
//! [`model`] says what is served of the store's types and under which names, [`contribution`] writes the GraphQL types of
//! it, `lower` makes a [`plan`] of a root field, `bind` fills in the variables, and `walk` writes the answer as JSON
//! straight from the store. `mutate` writes. How values compare is the store's business alone.

mod aggregate;
mod answer;
mod bind;
mod contribution;
mod events;
mod filter;
mod find;
mod json_value;
mod lower;
mod lower_filter;
mod lower_mutation;
mod model;
mod mutate;
mod naming;
mod plan;
mod source;
mod walk;

#[cfg(test)]
mod tests;

pub use self::source::GraphSource;
