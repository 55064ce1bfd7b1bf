//! A property graph in memory, durable through a log and snapshots: typed nodes and relationships with declared
//! properties, ids that stay, and links that cost the same however many a node has.
//!
//! The road of a write: checked ([`Write`]) → changes → memory → the log's thread → durable → its caller is told. Readers
//! ([`Read`]) never wait for writers. `docs/graph-files.md` describes the files. Knows neither HTTP nor JSON.

mod disk;
mod error;
mod events;
mod index;
mod log;
mod memory;
mod options;
mod read;
mod register;
mod snapshot;
mod store;
mod types;
mod write;
mod writer;

pub use disk::make_directory;
pub use error::{FileFault, OpenError, Refusal, WriteError};
pub use events::Event;
pub use log::format::VERSION as FORMAT_VERSION;
pub use log::settle::{Settled, Ticket, Unwritten};
pub use memory::links::Direction;
pub use options::{Options, SNAPSHOT_AT_LOG_BYTES};
pub use read::{Around, Node, Read, Relationship};
pub use register::Registration;
pub use snapshot::check::{CheckReport, check};
pub use snapshot::recover::{Loss, Recovery};
pub use snapshot::snapshotter::{SnapshotFailure, SnapshotState};
pub use snapshot::{SnapshotError, SnapshotReport};
pub use store::{Health, Store};
pub use types::change::Side;
pub use types::condition::{Condition, Test};
pub use types::id::{Ref, SHARDS, shard_of};
pub use types::kept::{KeptNode, KeptRelationship};
pub use types::schema::{Property, Schema, Type, Types};
pub use types::value::{Kind, Value};
pub use write::{Given, KEY_BYTES_MAX, Keep, NAME_BYTES_MAX, PROPERTIES_BYTES_MAX, Write};

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
