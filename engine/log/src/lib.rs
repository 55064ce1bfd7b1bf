//! What durable stores share: a log of checked frames with group commit, the files beneath it, and a disk for tests that loses
//! its power between any two steps.
//!
//! A store has a state ([`commit::Logged`]) and a [`commit::CommitQueue`] around it: writers add to the frame that is being gathered,
//! the log's thread writes and syncs it and says so to those who wait. A start reads the log with [`recover::Recovering`]. What a frame
//! means is the store's alone.

pub mod backup;
pub mod codec;
pub mod commit;
pub mod disk;
mod durability;
pub mod error;
#[cfg(feature = "power-loss")]
pub mod faults;
pub mod file;
pub mod frame_log;
pub mod frame_reader;
pub mod frame_writer;
pub mod frames;
mod group_commit;
#[cfg(feature = "power-loss")]
mod holds;
pub mod lock;
pub mod log_state;
#[cfg(feature = "power-loss")]
pub mod losses;
mod mutex;
pub mod positions;
#[cfg(feature = "power-loss")]
pub mod power_loss;
pub mod read_fence;
pub mod read_only_log;
pub mod recover;
pub mod register;
pub mod reserve;
mod restorer;
pub mod set_aside;
mod sizes;
mod step;
pub mod ticket;
pub mod trigger;
pub mod waiting;
pub mod write_pause;

pub use durability::{Durability, durability, durability_text};
