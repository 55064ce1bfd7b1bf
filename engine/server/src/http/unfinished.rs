//! Bodies of requests that have not come to their end: all together are bounded, since each is held until then.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use http::StatusCode;
use prony_source::http_api::BodyError;

/// What the bodies of all requests have, of which the end has not come.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedBodies(AtomicUsize);

/// What one of them has. Dropping it gives the bytes back.
pub(super) struct Unfinished<'a> {
    all: &'a UnfinishedBodies,
    own_bytes: usize,
    max_bytes: usize,
}

impl UnfinishedBodies {
    /// One more, of which nothing has come.
    pub(super) const fn begin(&self, max_bytes: usize) -> Unfinished<'_> {
        Unfinished { all: self, own_bytes: 0, max_bytes }
    }
}

impl Unfinished<'_> {
    /// More of it has come.
    ///
    /// # Errors
    /// Together they have more than `max_bytes`.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.own_bytes += bytes;
        if self.all.0.fetch_add(bytes, Relaxed) + bytes <= self.max_bytes {
            return Ok(());
        }
        let message = format!(
            "the bodies that are being received have more than {} bytes together (max_unfinished_bodies_bytes): try again",
            self.max_bytes
        );
        Err(BodyError { status: StatusCode::SERVICE_UNAVAILABLE, message })
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.own_bytes, Relaxed);
    }
}
