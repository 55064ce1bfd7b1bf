//! The graph's bad days, through the binary and over HTTP: killed under load, a full disk, damaged files, clients that
//! go away. The longer forms are behind environment variables, which `docs/graph-files.md` lists.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod client;
mod clients;
mod damage;
mod disk;
mod hub;
mod kill;
mod model;
mod scrub;
mod serve;
