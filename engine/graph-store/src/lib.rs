//! A property graph in memory, durable through a log and snapshots: typed nodes and relationships with declared
//! properties, ids that stay, and links that cost the same however many a node has.
//!
//! The road of a write: checked ([`Write`]) → changes → memory → the log's thread → durable → its caller is told. Readers
//! ([`Read`]) never wait for writers, and see what is not durable yet; [`Store::read_fenced`] tells when it is. `docs/graph-files.md`
//! describes the files. Knows neither HTTP nor JSON.

mod backup;
mod chain;
mod detach;
mod error;
mod events;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fences;
mod format;
mod index;
#[cfg(test)]
mod losses;
mod make_index;
mod memory;
mod options;
mod read;
mod scrub;
mod snapshot;
mod state;
mod store;
mod types;
mod write;
mod writer;

pub use backup::{Backup, backup};
pub use chain::{ChainError, ChainLink, ChainLinkKind, Moment, Restored, Taken, Until, restore, take_backup};
pub use detach::Detached;
pub use error::{Refusal, WriteError};
pub use events::Event;
pub use format::{CHAIN_MANIFEST, VERSION as FORMAT_VERSION, is_store, may_be_store};
pub use memory::links::Direction;
pub use options::{Options, SNAPSHOT_AT_LOG_BYTES};
pub use prony_log::{
    Durability,
    backup::BackupError,
    disk::make_directory,
    durability, durability_text,
    error::{FileFault, LogError, OpenError},
    read_fence::{BegunRead, Overtaken, ReadFence},
    recover::{Loss, Recovery},
    register::Registration,
    ticket::{Settled, Ticket},
    waiting::{Inbox, Waiting, WaitingQueues, WaitingWrites},
};
pub use read::{Around, ManyNamed, Node, Read, Relationship};
pub use scrub::{ScrubReport, scrub};
pub use snapshot::check::{CheckReport, check};
pub use snapshot::snapshotter::{SnapshotFailure, SnapshotState};
pub use snapshot::{SnapshotError, SnapshotReport};
pub use store::{Health, RESTORED_WITHIN, Store, Unwritten};
pub use types::change::Side;
pub use types::condition::{Condition, Test};
pub use types::id::{Ref, SHARDS, shard_of};
pub use types::kept::{KeptNode, KeptRelationship};
pub use types::schema::{Property, Schema, Type, Types};
pub use types::value::{Kind, Value};
pub use write::{Given, KEY_BYTES_MAX, Keep, NAME_BYTES_MAX, PROPERTIES_BYTES_MAX, Write};
