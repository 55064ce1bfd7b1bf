//! Row changes against both databases, and what is told of those that are taken back.

#![allow(clippy::unwrap_used, reason = "a test says where it fails")]

mod events;
mod feed;
mod harness;
mod listen;
mod taken_back;
