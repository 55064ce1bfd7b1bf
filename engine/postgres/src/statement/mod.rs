//! From the plan of a root field to statements whose rows are JSON, and the values that they are bound to.

mod aggregate;
pub(crate) mod bound;
pub(crate) mod dialect;
pub(crate) mod json_sql;
pub(crate) mod keys;
pub(crate) mod levels;
pub(crate) mod mutation;
pub(crate) mod returning;
pub(crate) mod select;
pub(crate) mod text;
