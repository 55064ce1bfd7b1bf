//! How many connections each core has.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How many connections a core has; the acceptor reads it, places change it.
#[derive(Debug, Default)]
pub(crate) struct Load(AtomicUsize);

impl Load {
    pub(crate) fn open_connections(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take_place(self: &Arc<Self>) -> LoadPlace {
        self.0.fetch_add(1, Ordering::Relaxed);
        LoadPlace(Arc::clone(self))
    }
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct LoadPlace(Arc<Load>);

impl Drop for LoadPlace {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
