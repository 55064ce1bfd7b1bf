//! How much room an answer is given before it is written.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that the last answer took, so that the next needs no growing.
#[derive(Debug)]
pub(crate) struct ExpectedBytes(AtomicUsize);

impl Default for ExpectedBytes {
    fn default() -> Self {
        const BEFORE_THE_FIRST: usize = 256;
        Self(AtomicUsize::new(BEFORE_THE_FIRST))
    }
}

impl ExpectedBytes {
    /// An answer that once was large is not expected to be so for ever.
    const MAX: usize = 64 << 10;

    pub(crate) fn get(&self) -> usize {
        self.0.load(Relaxed)
    }

    pub(crate) fn set(&self, bytes: usize) {
        let bytes = bytes.min(Self::MAX);
        // A line that all cores read is written only when it must be.
        if self.get() < bytes || self.get() / 4 > bytes {
            self.0.store(bytes + bytes / 8, Relaxed);
        }
    }
}
