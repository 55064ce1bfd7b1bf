//! Tests of the SQLite source: GraphQL text in, JSON out, through all three resolver models.

mod bad_days;
mod chinook;
mod harness;
mod journals;
mod mutations;
mod properties;
mod queries;
mod restrictions;
mod roles;
mod slow;
mod values;
