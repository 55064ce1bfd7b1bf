//! Mutexes whose content is whole whatever has panicked with them.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
