//! What the run and the page know of each other: who looks, when the next result is wanted, the page as it is.

use bytes::Bytes;
use prony_model::Nanos;
use prony_model::program::StopFlag;
use prony_report::{LiveMoment, LivePage, NamedDocument};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Between two results at least; the run tells each second.
const INTERVAL: Nanos = Nanos::from_millis(900);
/// After a result, so many times the processor time that it took to gather and draw passes before the next: no more than a hundredth of
/// one processor's time is taken from the run.
const REST: u64 = 99;
/// Who has opened the page will ask for what follows within this time.
const OPENING: Duration = Duration::from_secs(10);

/// The page at a moment, as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) page: LivePage,
    /// As an event of `text/event-stream`.
    pub(crate) event: Bytes,
    pub(crate) is_last: bool,
}

impl Drawn {
    pub(crate) fn of(page: LivePage, is_last: bool) -> Self {
        // JSON has no line ends but those that it escapes.
        let event = Bytes::from(format!("event: page\ndata: {}\n\n", page.json()));
        Self { page, event, is_last }
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) title: String,
    pub(crate) label: String,
    pub(crate) token: String,
    /// The host that the user has named.
    pub(crate) host: String,
    pub(crate) stop: StopFlag,
    began: Instant,
    /// Open streams of events.
    pub(crate) readers: AtomicUsize,
    /// Nanoseconds from `began`: until then the page counts as looked at.
    opening_until: AtomicU64,
    next: AtomicU64,
    is_drawing: AtomicBool,
    elapsed: AtomicU64,
    duration: AtomicU64,
    last: Mutex<Option<NamedDocument>>,
    /// Which of many runs goes on.
    step: Mutex<String>,
    pub(crate) drawn: watch::Sender<Drawn>,
}

impl Shared {
    pub(crate) fn new(title: String, label: String, token: String, host: String, stop: StopFlag) -> Self {
        let moment = LiveMoment {
            title: title.clone(),
            elapsed: Nanos::ZERO,
            duration: Nanos::ZERO,
            step: String::new(),
            end: None,
        };
        let (drawn, _) = watch::channel(Drawn::of(LivePage::new(&[], &moment), false));
        Self {
            title,
            label,
            token,
            host,
            stop,
            began: Instant::now(),
            readers: AtomicUsize::new(0),
            opening_until: AtomicU64::new(0),
            next: AtomicU64::new(0),
            is_drawing: AtomicBool::new(false),
            elapsed: AtomicU64::new(0),
            duration: AtomicU64::new(0),
            last: Mutex::new(None),
            step: Mutex::default(),
            drawn,
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Somebody has opened the page.
    pub(crate) fn opened(&self) {
        self.opening_until.store(self.now() + OPENING.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn is_due(&self) -> bool {
        let now = self.now();
        let is_seen =
            self.readers.load(Ordering::Relaxed) > 0 || now < self.opening_until.load(Ordering::Relaxed);
        is_seen && !self.is_drawing.load(Ordering::Acquire) && now >= self.next.load(Ordering::Relaxed)
    }

    pub(crate) fn begin_drawing(&self, elapsed: Nanos, duration: Nanos) {
        self.is_drawing.store(true, Ordering::Release);
        self.next.store(self.now() + INTERVAL.0, Ordering::Relaxed);
        self.elapsed.store(elapsed.0, Ordering::Relaxed);
        self.duration.store(duration.0, Ordering::Relaxed);
    }

    /// `took`: the processor time of gathering and drawing together.
    pub(crate) fn drawn(&self, took: Nanos) {
        let rested = self.now() + took.0.saturating_mul(REST);
        self.next.fetch_max(rested, Ordering::Relaxed);
        self.is_drawing.store(false, Ordering::Release);
    }

    /// How far the run was when it was last drawn.
    pub(crate) fn moment(&self) -> (Nanos, Nanos) {
        (Nanos(self.elapsed.load(Ordering::Relaxed)), Nanos(self.duration.load(Ordering::Relaxed)))
    }

    pub(crate) fn begin_step(&self, step: String) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
    }

    pub(crate) fn step(&self) -> String {
        self.step.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_result(&self, document: NamedDocument) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(document);
    }

    pub(crate) fn last_result(&self) -> Option<NamedDocument> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        let text = String::new;
        Shared::new(text(), text(), text(), text(), StopFlag::default())
    }

    #[test]
    fn nothing_is_due_where_nobody_looks() {
        let shared = shared();
        assert!(!shared.is_due());
        shared.opened();
        assert!(shared.is_due());
        shared.opening_until.store(0, Ordering::Relaxed);
        assert!(!shared.is_due(), "it was opened long ago");
        shared.readers.store(1, Ordering::Relaxed);
        assert!(shared.is_due());
        shared.readers.store(0, Ordering::Relaxed);
        assert!(!shared.is_due());
    }

    #[test]
    fn the_run_that_goes_on_has_its_step() {
        let shared = shared();
        assert_eq!(shared.step(), "");
        shared.begin_step("A, run 1 of 10 of each".to_owned());
        assert_eq!(shared.step(), "A, run 1 of 10 of each");
    }

    #[test]
    fn one_result_at_a_time_is_drawn_and_the_next_waits_by_what_it_took() {
        let shared = shared();
        shared.readers.store(1, Ordering::Relaxed);
        shared.begin_drawing(Nanos::from_secs(3), Nanos::from_secs(60));
        shared.next.store(0, Ordering::Relaxed);
        assert!(!shared.is_due(), "it is being drawn");
        shared.drawn(Nanos::ZERO);
        assert!(shared.is_due());
        shared.drawn(Nanos::from_secs(1));
        assert!(!shared.is_due(), "it took long");
        assert!(shared.next.load(Ordering::Relaxed) >= Nanos::from_secs(99).0);
        assert_eq!(shared.moment(), (Nanos::from_secs(3), Nanos::from_secs(60)));
    }
}
