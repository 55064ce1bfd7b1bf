//! Sources of data behind the GraphQL schema. A source contributes types and root fields, plans the fields
//! that a request selects from it, and answers them as JSON bytes. It leaves HTTP, configuration files and
//! everything of the load side to other crates.

pub mod graph;
pub mod relational;
pub mod resolvers;
