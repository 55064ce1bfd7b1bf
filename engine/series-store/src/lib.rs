//! Time series in a directory: rows of values by entity and time, durable through a log, in memory until they are enough for a
//! segment, compressed by column on the disk.
//!
//! A write ([`Write`]) adds to the frame of the log that is gathered; once it is durable, the log's thread makes it visible
//! (`memory.rs`) and those who wait are told. The sealer takes what is in memory into segments (`segment.rs`) and puts these together.
//! Readers ([`Read`]) see the store as it was at one moment. `docs/series-files.md` describes the files. Knows neither HTTP nor JSON.

mod aggregates;
mod backup;
mod block;
pub mod calendar;
mod catalog;
mod codes;
mod columns;
mod elsewhere;
mod engine;
#[cfg(feature = "engine-tests")]
pub mod engine_tests;
mod error;
mod format;
mod head;
mod ids;
#[cfg(feature = "engine-tests")]
pub mod integer_tests;
mod listen;
#[cfg(test)]
mod losses;
mod manifest;
mod memory;
mod op;
mod options;
mod page;
mod read;
mod recover;
mod removal;
mod retention;
mod rows;
mod sealer;
mod segment;
mod select;
mod state;
mod store;
mod summary;
mod tombstones;
mod value;
mod write;
mod write_queue;

pub use backup::{Backup, backup};
pub use catalog::{Attribute, Catalog, Series, Table, same_name, small_letters};
pub use elsewhere::{WritesElsewhere, WrittenByOthers, ops};
pub use engine::{
    Capabilities, Engine, EngineHealth, Figure, PagedRows, Read, RowSource, SeriesRows, Snapshot,
};
pub use error::{ReadError, Refusal, SealError, Unwritten, WriteError};
pub use format::{VERSION as FORMAT_VERSION, is_store};
pub use ids::{AttributeId, SeriesId, TableId, TimeMs, TimeRange};
pub use listen::{Event, Events, Listener, RowEvent};
pub use op::{Cells, Deleted, Op};
pub use options::{Aggregates, Options, Retention, SEAL_AT_LOG_BYTES};
pub use page::Page;
pub use prony_log::{
    Durability,
    backup::{BackupError, part_path},
    durability, durability_text,
    error::{FileFault, LogError, OpenError},
    frame_log::FrameLog,
    recover::{Loss, Recovery},
    register::Registration,
    ticket::{Settled, Ticket},
    waiting::{Inbox, Waiting, WaitingQueues, WaitingWrites},
};
pub use removal::Removal;
pub use rows::{OnDuplicate, Rows};
pub use sealer::SealState;
pub use store::{CheckReport, Health, Store, check};
pub use summary::{ExactFigures, Summary};
pub use value::{Column, Kind, Value};
pub use write::{
    ATTRIBUTES_MAX, Limits, NAME_BYTES_MAX, Operation, SERIES_MAX, TEXT_BYTES_MAX, TYPES_MAX,
    WRITE_BYTES_MAX, Write,
};
