//! `SharedArray`: one copy of its elements for all users and threads, as JSON text; whoever reads one parses it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// The elements of one array, each as JSON text.
pub(crate) type Elements = Arc<[Box<str>]>;

/// The arrays of a run by their names.
#[derive(Debug, Default)]
pub(crate) struct SharedArrays {
    by_name: Mutex<HashMap<Box<str>, SharedEntry>>,
    changed: Condvar,
}

#[derive(Debug)]
enum SharedEntry {
    /// This thread makes it; others wait.
    Being(ThreadId),
    Made(Elements),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    Made(Elements),
    /// The caller is to make it, and to say so with [`SharedArrays::keep`] or [`SharedArrays::give_up`].
    Yours,
    /// The caller is making it already.
    WithinItself,
}

impl SharedArrays {
    /// Waits while another thread makes the array: all are made in the init context, before any load.
    pub(crate) fn claim(&self, name: &str) -> Claim {
        let this = std::thread::current().id();
        let mut by_name = self.by_name();
        loop {
            match by_name.get(name) {
                Some(SharedEntry::Made(elements)) => return Claim::Made(Arc::clone(elements)),
                Some(SharedEntry::Being(thread)) if *thread == this => return Claim::WithinItself,
                Some(SharedEntry::Being(_)) => {
                    by_name = self.changed.wait(by_name).unwrap_or_else(PoisonError::into_inner);
                }
                None => {
                    by_name.insert(name.into(), SharedEntry::Being(this));
                    return Claim::Yours;
                }
            }
        }
    }

    pub(crate) fn keep(&self, name: &str, elements: Vec<Box<str>>) -> Elements {
        let elements: Elements = elements.into();
        self.by_name().insert(name.into(), SharedEntry::Made(Arc::clone(&elements)));
        self.changed.notify_all();
        elements
    }

    /// It could not be made; another may try.
    pub(crate) fn give_up(&self, name: &str) {
        self.by_name().remove(name);
        self.changed.notify_all();
    }

    /// Has what another script's init code has made, as k6 makes each array once, also where init code runs for the options.
    pub(crate) fn take_over(&self, of_first: &Self) {
        let of_first = of_first.by_name();
        let made = of_first.iter().filter_map(|(name, entry)| match entry {
            SharedEntry::Made(elements) => Some((name.clone(), SharedEntry::Made(Arc::clone(elements)))),
            SharedEntry::Being(_) => None,
        });
        self.by_name().extend(made);
    }

    fn by_name(&self) -> MutexGuard<'_, HashMap<Box<str>, SharedEntry>> {
        // A panic elsewhere leaves the map whole: entries are changed in one step.
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_thread_makes_what_all_share() {
        let (arrays, made) = (SharedArrays::default(), AtomicU32::new(0));
        let use_it = || match arrays.claim("users") {
            Claim::Yours => {
                made.fetch_add(1, Ordering::Relaxed);
                arrays.keep("users", vec!["1".into(), "2".into()])
            }
            Claim::Made(elements) => elements,
            Claim::WithinItself => unreachable!("each thread asks once"),
        };
        let all: Vec<Elements> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(use_it)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert_eq!(made.into_inner(), 1);
        assert!(all.iter().all(|elements| Arc::ptr_eq(elements, &all[0])));
    }

    #[test]
    fn what_was_made_is_taken_over_and_what_is_being_made_is_not() {
        let (first, next) = (SharedArrays::default(), SharedArrays::default());
        assert_eq!((first.claim("whole"), first.claim("begun")), (Claim::Yours, Claim::Yours));
        let elements = first.keep("whole", vec!["1".into()]);
        next.take_over(&first);
        assert_eq!(next.claim("whole"), Claim::Made(elements));
        assert_eq!(next.claim("begun"), Claim::Yours);
    }

    #[test]
    fn what_could_not_be_made_is_tried_again_and_nothing_is_made_within_itself() {
        let arrays = SharedArrays::default();
        assert_eq!(arrays.claim("a"), Claim::Yours);
        assert_eq!(arrays.claim("a"), Claim::WithinItself);
        arrays.give_up("a");
        assert_eq!(arrays.claim("a"), Claim::Yours);
    }
}
