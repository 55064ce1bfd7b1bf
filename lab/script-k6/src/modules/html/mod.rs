//! `k6/html`: pages, selections of their nodes as in jQuery, and what k6 says of single elements.
//!
//! A selection is a list of node numbers of a [`Document`]; everything here is a function of these. The JavaScript
//! classes `Selection` and `Element` hold the numbers.

mod bind;
mod data;
mod document;
mod facts;
mod form;
mod members;
mod query;
mod walk;
mod write;

pub(super) use bind::{MODULE, NATIVE};
pub(crate) use data::DataValue;
pub(crate) use document::{Document, NodeType, Number};
pub(crate) use form::FieldValue;
pub(crate) use query::Query;
pub(crate) use walk::{Step, Until};

#[cfg(test)]
mod tests;
