//! A schema with its functions, put together and checked.

pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod contribution;
pub(crate) mod directive;
pub(crate) mod example;
pub(crate) mod role;
pub(crate) mod schema;
pub(crate) mod settings;
