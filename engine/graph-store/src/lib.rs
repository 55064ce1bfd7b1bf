//! A property graph in memory, durable through a log and snapshots: typed nodes and relationships with declared
//! properties, ids that stay, and links that cost the same however many a node has.
//!
//! The road of a write: checked ([`Write`]) → changes → memory → the log's thread → durable → its caller is told. Readers
//! ([`Read`]) never wait for writers. `docs/graph-files.md` describes the files. Knows neither HTTP nor JSON.

mod apply;
mod bulk;
mod cell;
mod change;
mod check;
mod codec;
mod commit;
mod company;
mod condition;
mod disk;
mod error;
mod events;
mod frames;
mod free;
mod id;
mod index;
mod keeper;
mod kept;
mod links;
mod log;
mod memory;
mod pace;
#[cfg(test)]
mod power_loss;
mod property_index;
mod read;
mod recover;
mod register;
mod schema;
mod settle;
mod slab;
mod snapshot;
mod store;
mod undo;
mod value;
mod write;
mod writer;

pub use change::Side;
pub use check::{CheckReport, check};
pub use condition::{Condition, Test};
pub use disk::make_directory;
pub use error::{FileFault, OpenError, Refusal, WriteError};
pub use events::Event;
pub use frames::VERSION as FORMAT_VERSION;
pub use id::{Ref, SHARDS, shard_of};
pub use keeper::{SnapshotFailure, SnapshotState};
pub use kept::{KeptNode, KeptRelationship};
pub use links::Direction;
pub use read::{Around, Node, Read, Relationship};
pub use recover::{Loss, Recovery};
pub use register::Registration;
pub use schema::{Property, Schema, Type, Types};
pub use settle::{Settled, Ticket, Unwritten};
pub use snapshot::{SnapshotError, SnapshotReport};
pub use store::{Health, Options, SNAPSHOT_AT_LOG_BYTES, Store};
pub use value::{Kind, Value};
pub use write::{Given, Keep, NAME_BYTES_MAX, PROPERTIES_BYTES_MAX, Write};

use std::time::Duration;

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Once its log record is on the disk; writes that wait at the same time share one sync.
    Sync,
    /// Once the system has its log record, which reaches the disk within this time: a killed process loses nothing, a
    /// machine that loses power the last of it.
    Interval(Duration),
    /// At once; the log follows when it can.
    Off,
}
