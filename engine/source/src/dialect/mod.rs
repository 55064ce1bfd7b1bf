//! What all sources with filters, orders, aggregates and mutations have in common, so that clients learn it once: names,
//! operators, scalars, patterns, the bounds of lists.

mod described;
mod filters;
pub mod inflection;
mod like;
pub mod names;
mod numbers;
mod outputs;
mod values;

pub use self::{
    described::{
        AGGREGATE, CONDITIONS, ORDER, aggregate_members, filter_argument, logical_inputs,
        operations_argument, page_arguments, sort_argument,
    },
    filters::{EQUALITY_OPERATORS, filter_input, filter_names, scalar_names, shared_type},
    like::{LikePattern, PatternTooLong},
    numbers::{NotFinite, write_float, write_integer},
    outputs::{AggregateFunction, ResultKind, ResultOutput, result_object, row_refused, taken_back},
    values::{RowCount, abbreviated, json, limit, limit_of, offset},
};
