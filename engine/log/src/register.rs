//! Those who want to be called: a list that grows and shrinks while others go through it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Entries<F> = Vec<(u64, Arc<F>)>;

/// Calls under numbers.
pub struct Register<F: ?Sized>(Arc<Mutex<(u64, Entries<F>)>>);

/// Whoever was registered is called until this is dropped.
#[must_use = "the calls end when this is dropped"]
pub struct Registration(Box<dyn Fn() + Send + Sync>);

impl<F: ?Sized> Default for Register<F> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((0, Vec::new()))))
    }
}

impl<F: ?Sized> fmt::Debug for Register<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Register")
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registration")
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<F: ?Sized + Send + Sync + 'static> Register<F> {
    pub fn add(&self, call: Arc<F>) -> Registration {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0 += 1;
        let number = inner.0;
        inner.1.push((number, call));
        let entries = Arc::downgrade(&self.0);
        Registration(Box::new(move || {
            if let Some(entries) = entries.upgrade() {
                let mut inner = entries.lock().unwrap_or_else(PoisonError::into_inner);
                inner.1.retain(|(of, _)| *of != number);
            }
        }))
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.is_empty()
    }

    /// Without the lock while they are called, so that they may end their own registration.
    pub fn each(&self, call: impl Fn(&F)) {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        for (_, entry) in &entries {
            call(entry);
        }
    }
}
