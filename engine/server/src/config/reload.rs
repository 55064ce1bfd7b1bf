//! Reading the configuration again while the server runs: who may do what changes, and nothing else.

use std::{fmt, sync::Arc, time::SystemTime};

use prony_access::AccessSettings;

/// How who may do what is read again.
#[derive(Clone)]
pub struct Reload {
    read: Arc<dyn Fn() -> Result<Arc<AccessSettings>, String> + Send + Sync>,
    stamp: Arc<dyn Fn() -> Option<SystemTime> + Send + Sync>,
}

impl Reload {
    /// `read` reads all of the configuration, or says what is wrong with it; `stamp` is when it was last changed, none where it
    /// is not there.
    pub fn new(
        read: impl Fn() -> Result<Arc<AccessSettings>, String> + Send + Sync + 'static,
        stamp: impl Fn() -> Option<SystemTime> + Send + Sync + 'static,
    ) -> Self {
        Self { read: Arc::new(read), stamp: Arc::new(stamp) }
    }

    pub(crate) fn read(&self) -> Result<Arc<AccessSettings>, String> {
        (self.read)()
    }

    pub(crate) fn stamp(&self) -> Option<SystemTime> {
        (self.stamp)()
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reload").finish_non_exhaustive()
    }
}
