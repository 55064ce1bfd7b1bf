//! What engines of series have in common that keep rows in a database which speaks PostgreSQL's protocol: connections, what can go wrong
//! with them, what a group of writes asks for, values as the protocol has them. Statements are each engine's own.

mod column;
mod condition;
mod database;
mod fault;
mod frame;
mod kinds;
mod loaded;
mod moment;

/// Where passwords stand in an address.
pub use prony_postgres_connect::secrets;

pub use crate::{
    column::{Column, list_of, plain, push_row, quoted},
    condition::Condition,
    database::{Database, Listening, Session, SessionSettings},
    fault::{Fault, FaultKind, OpenError},
    frame::{Gathered, NewRow, Step, steps, submit},
    kinds::{kind_name, kind_of},
    loaded::{LoadedRows, summarize_rows, visit_pieces},
    moment::{Moment, TIMES, now_ms},
};
