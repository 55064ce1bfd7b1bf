//! From rows to JSON.

pub(crate) mod value;
pub(crate) mod write_level;
pub(crate) mod write_rows;
