//! Running plans on the store, and writing what they find.

pub(crate) mod aggregate;
pub(crate) mod answer;
pub(crate) mod bind;
pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod json_value;
pub(crate) mod mutate;
pub(crate) mod searched;
pub(crate) mod slow;
pub(crate) mod thing;
pub(crate) mod view;
pub(crate) mod walk;
pub(crate) mod write_access;
