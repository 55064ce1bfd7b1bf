//! Running statements that read: in place on a core, or by a pool of blocking readers.

pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod reader;
pub(crate) mod session;
pub(crate) mod slot;
mod turn;
pub(crate) mod watch;
