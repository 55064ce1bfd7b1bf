//! The graph's values: ids, types, properties, conditions on them, and the physical changes that the log is made of.

pub(crate) mod change;
pub(crate) mod condition;
pub(crate) mod filter;
pub(crate) mod id;
pub(crate) mod kept;
pub(crate) mod order;
pub(crate) mod schema;
pub(crate) mod sublist;
pub(crate) mod value;
