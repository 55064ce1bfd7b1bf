//! GraphQL over series.

mod ask;
mod events;
mod names;
mod oracle;
mod permissions;
mod queries;
