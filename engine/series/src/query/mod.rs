//! Queries: what is asked, which rows that is, and how it is written.

mod cell;
pub(crate) mod fault;
pub(crate) mod parameters;
mod parquet_rows;
pub(crate) mod pattern;
pub(crate) mod result;
pub(crate) mod row_format;
pub(crate) mod shape;
pub(crate) mod value;
