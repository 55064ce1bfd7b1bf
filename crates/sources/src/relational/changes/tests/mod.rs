//! Row changes against both databases.

mod feed;
mod harness;
