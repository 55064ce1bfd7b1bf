//! Functions as a source: a schema in GraphQL's own language, and one Rust function a field.
//!
//! [`Schema`] takes functions and checks them against the schema; what it builds, [`Resolvers`], is a source like
//! a database. `planner` compiles a selection, `run` calls the functions level by level, `write` turns what they
//! answer into JSON bytes without a tree between, `reflect` finds the shapes of Rust types through serde.

mod api;
mod definition;
mod execute;
mod reflect;
mod source;
mod write;

#[doc(hidden)]
pub use crate::reflect::sample;
pub use crate::{
    api::{
        answer::{Answer, Concrete, Output},
        context::Context,
        error::{Error, Fault, Faults},
        events::{EVENTS_KEPT, Events, Lagged, Subscriber},
        function::{AsyncBatchFunction, AsyncFieldFunction, Batch, BatchFunction, FieldFunction},
    },
    definition::{schema::Schema, settings::Settings},
    source::Resolvers,
};
