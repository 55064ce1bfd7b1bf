//! Connections: where they lead, their pool, and statements pipelined over them.

pub(crate) mod config;
pub(crate) mod disk_space;
pub(crate) mod link;
pub(crate) mod load;
pub(crate) mod opener;
pub(crate) mod pool;
pub(crate) mod reachability;
pub(crate) mod session_setup;
pub(crate) mod single;
pub(crate) mod slow;
mod spans;
mod turns;
