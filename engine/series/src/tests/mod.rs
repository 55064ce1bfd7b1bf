//! The API as its clients see it: requests in, responses out, without a server.

mod aggregates;
mod deletes;
mod further_queries;
mod graphql;
pub(crate) mod harness;
mod hidden;
mod incoming;
mod notify;
mod on_databases;
mod on_postgres;
mod on_questdb;
mod queries;
mod row_formats;
mod temporal;
