//! Functions as a source: a schema in GraphQL's own language, and one Rust function a field.
//!
//! [`Schema`] takes functions and checks them against the schema; what it builds, [`Resolvers`], is a source like
//! a database. `plan` compiles a selection, `run` calls the functions level by level, `write` turns what they
//! answer into JSON bytes without a tree between, `look` finds the shapes of Rust types through serde.

mod answer;
mod check;
mod context;
mod contribution;
mod directive;
mod error;
mod event_field;
mod events;
mod example;
mod function;
mod input;
mod look;
mod plan;
mod rows;
mod run;
mod schema;
mod source;
mod write;

#[doc(hidden)]
pub use self::look::sample;
pub use self::{
    answer::{Answer, Concrete, Output},
    context::Context,
    error::{Error, Fault, Faults},
    events::{EVENTS_KEPT, Events, Lagged, Subscriber},
    function::{AsyncBatchFunction, AsyncFieldFunction, Batch, BatchFunction, FieldFunction},
    schema::{Schema, Settings},
    source::Resolvers,
};
