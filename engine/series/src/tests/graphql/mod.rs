//! GraphQL over series.

mod ask;
pub(crate) mod events;
mod names;
mod oracle;
pub(crate) mod permissions;
pub(crate) mod queries;
