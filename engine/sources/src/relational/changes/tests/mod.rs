//! Row changes against both databases.

mod events;
mod feed;
mod harness;
mod listen;
