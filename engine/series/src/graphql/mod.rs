//! Series as GraphQL: an object type for each entity type, whose fields are the attributes over time.
//!
//! [`model`] says what is served under which names, [`contribution`] makes types of it, [`lower`] makes a [`plan`] of what is selected,
//! [`respond`] finds and writes it, [`events`] tells of new rows.

mod contribution;
mod descriptions;
mod events;
mod execute;
mod lower;
mod model;
mod names;
mod objects;
mod pace;
mod plan;
mod respond;
mod schema;
mod served;
mod session;
mod types;

pub(crate) use self::{
    model::Model,
    schema::{SchemaOf, SeriesSchema},
    served::ServedSeries,
    session::SeriesSession,
};
