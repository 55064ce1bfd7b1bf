//! Whether the database's disk is full, as far as writes have shown it: how much space it has is seen where it runs, and that may be
//! another machine.

use std::{
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use prony_source::NotReady;

/// What the last write of any core has shown.
#[derive(Debug, Default)]
pub(crate) struct DiskSpace {
    /// When it was refused for want of space; none where it succeeded.
    refused_at: Mutex<Option<SystemTime>>,
}

impl DiskSpace {
    pub(crate) fn refused(&self, now: SystemTime) {
        *self.refused_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    pub(crate) fn written(&self) {
        *self.refused_at.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn readiness(&self, now: SystemTime) -> Result<(), NotReady> {
        let refused_at = *self.refused_at.lock().unwrap_or_else(PoisonError::into_inner);
        refused_at.and_then(|at| NotReady::of_refused_write(true, at, now)).map_or(Ok(()), Err)
    }
}
