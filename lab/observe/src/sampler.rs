//! The threads of the observers: one each, woken at the run's seconds, and what they have noted.

use crate::book::{Book, Notes};
use crate::clock::RunClock;
use crate::error::SpecError;
use crate::observer::Observer;
use crate::spec::{ObserverSpecs, parse_all};
use prony_model::Nanos;
use prony_model::measurement::observation::Observation;
use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Observers that have made first contact; once started, they run until they are stopped or dropped.
pub struct Observers {
    waiting: Vec<(String, Box<dyn Observer>)>,
    watched: Vec<Watched>,
}

struct Watched {
    book: Arc<Mutex<Book>>,
    /// Closed to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Observers {
    /// Reads what stands behind `--observe` and in a plan's `observe`; every mistake at once.
    pub fn parse(texts: &[String]) -> Result<ObserverSpecs, Vec<SpecError>> {
        parse_all(texts)
    }

    /// Makes first contact with all that is to be watched. The lab itself is always watched too.
    pub fn open(specs: &ObserverSpecs) -> Result<Self, Vec<SpecError>> {
        Ok(Self { waiting: specs.open()?, watched: Vec::new() })
    }

    /// Starts a thread for each observer. Times count from `epoch`, the start of the run.
    pub fn start(&mut self, epoch: Instant) {
        let clock = RunClock::started_at(epoch);
        let waiting = self.waiting.drain(..);
        self.watched.extend(waiting.map(|(name, observer)| Watched::start(&name, observer, clock)));
    }

    /// All that was seen so far, in the order of the specs, the lab last.
    pub fn observations(&self) -> Vec<Observation> {
        self.watched.iter().flat_map(|watched| lock(&watched.book).observations()).collect()
    }

    /// Takes a last look and ends the threads; what was seen can still be asked for. Waits for a peer that is slow
    /// to answer for no longer than the limit that observers have.
    pub fn stop(&mut self) {
        for watched in &mut self.watched {
            watched.stop = None;
        }
        for thread in self.watched.iter_mut().filter_map(|watched| watched.thread.take()) {
            // A thread that panicked has printed why; what it saw before is kept.
            let _ = thread.join();
        }
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, watched) = (self.waiting.len(), self.watched.len());
        f.debug_struct("Observers").field("waiting", &waiting).field("watched", &watched).finish()
    }
}

impl Watched {
    fn start(name: &str, mut observer: Box<dyn Observer>, clock: RunClock) -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::clone(&book);
        let work = move || watch(observer.as_mut(), &clock, &receiver, &shared);
        let thread = thread::Builder::new().name("prony-observe".to_owned()).spawn(work);
        if let Err(cause) = &thread {
            let mut notes = Notes::default();
            notes.fault(name, clock.now(), format!("a thread to watch it could not be started: {cause}"));
            lock(&book).write(notes);
        }
        Self { book, stop: Some(sender), thread: thread.ok() }
    }
}

fn watch(observer: &mut dyn Observer, clock: &RunClock, stop: &Receiver<()>, book: &Mutex<Book>) {
    loop {
        look(observer, clock, book);
        let next = next_second(clock.now());
        let wait = clock.instant_of(next).saturating_duration_since(Instant::now());
        if stop.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return look(observer, clock, book);
        }
    }
}

fn look(observer: &mut dyn Observer, clock: &RunClock, book: &Mutex<Book>) {
    let mut notes = Notes::default();
    observer.look(clock, &mut notes);
    lock(book).write(notes);
}

/// Seconds that have passed during a slow look are not caught up with.
fn next_second(now: Nanos) -> Nanos {
    Nanos::from_secs(now.0 / 1_000_000_000 + 1)
}

/// Notes are whole also where a thread panicked between two of them.
fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_second_is_always_ahead() {
        for (now, next) in [(0, 1), (999_999_999, 1), (1_000_000_000, 2), (2_500_000_000, 3)] {
            assert_eq!(next_second(Nanos(now)), Nanos::from_secs(next));
        }
    }
}
