//! Running mutations, and seeing what they change.

pub(crate) mod capture;
mod times;
pub(crate) mod writer;
