//! Queries: what is asked, which rows that is, and how it is written.

mod aggregate;
mod cell;
pub(crate) mod entity;
pub(crate) mod fault;
mod fill;
pub(crate) mod measure;
pub(crate) mod page;
pub(crate) mod parameters;
mod parquet_rows;
pub(crate) mod pattern;
pub(crate) mod percentile;
pub(crate) mod result;
mod row_columns;
pub(crate) mod row_format;
pub(crate) mod shape;
pub(crate) mod spread;
pub(crate) mod value;
