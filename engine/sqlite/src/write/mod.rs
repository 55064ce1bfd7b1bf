//! Running mutations, and seeing what they change.

pub(crate) mod capture;
pub(crate) mod writer;
