//! Row changes against both databases.

#![allow(clippy::unwrap_used, reason = "a test says where it fails")]

mod events;
mod feed;
mod harness;
mod listen;
