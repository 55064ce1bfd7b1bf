//! The flag that ends a run early, for whoever runs it and for programs that compute.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a run early from another thread: no request is started any more, and what was measured is returned.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    own: Arc<AtomicBool>,
    parent: Option<Box<StopFlag>>,
}

impl StopFlag {
    pub fn stop(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.own.load(Ordering::Relaxed) || self.parent.as_ref().is_some_and(|parent| parent.is_stopped())
    }

    /// One that is stopped where this one is, and can be stopped alone: by what ends one run of many.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { own: Arc::default(), parent: Some(Box::new(self.clone())) }
    }
}
