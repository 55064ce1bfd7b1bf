//! References: short words that stand both in a client's error and in the log's line with the details.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU32, Ordering},
};

/// Hands out references that differ within a process, and most likely between processes.
#[derive(Debug)]
pub(crate) struct References {
    process: u16,
    next: AtomicU32,
}

impl Default for References {
    fn default() -> Self {
        Self { process: RandomState::new().hash_one(std::process::id()) as u16, next: AtomicU32::new(1) }
    }
}

impl References {
    pub(crate) fn next(&self) -> Box<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{:04x}-{number:x}", self.process).into_boxed_str()
    }
}
