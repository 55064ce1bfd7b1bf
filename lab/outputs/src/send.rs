//! The threads of outputs: each takes seconds from a queue with an end and sends them; what it cannot send is lost and counted.

use crate::second::{Second, Seconds};
use crate::spec::{SINKS_MAX, SinkError, SinkSpec};
use prony_model::measurement::snapshot::IntervalSnapshot;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Seconds that wait for a slow output; further ones are lost.
const QUEUED_SECONDS_MAX: usize = 30;
/// How long the end of a run waits for what outputs still have to send.
const FINISH_MAX: Duration = Duration::from_secs(6);

/// What the user should know at once: each output speaks up once when it fails first.
#[derive(Debug, Clone, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn say(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Those that nobody has taken yet.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The outputs of a run, open from before it begins until they are finished.
#[derive(Debug, Default)]
pub struct Sinks {
    sinks: Vec<Sink>,
    warnings: Warnings,
}

#[derive(Debug)]
struct Sink {
    name: String,
    queue: SyncSender<Arc<Second>>,
    /// Closed when the thread has sent all.
    ended: Receiver<()>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Seconds of the run, and the requests that ended in them.
    seconds: AtomicU64,
    requests: AtomicU64,
    /// Those of them that arrived.
    sent: AtomicU64,
    sent_requests: AtomicU64,
}

/// How an output ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkEnd {
    /// As it was asked for, without credentials.
    pub name: String,
    /// Seconds that arrived, and those that did not.
    pub sent: u64,
    pub lost: u64,
    /// That ended in the seconds that were lost.
    pub lost_requests: u64,
}

impl Sinks {
    /// Opens all of them; a target that is down is none of the errors.
    pub fn open(specs: &[SinkSpec]) -> Result<Self, SinkError> {
        if let Some(spec) = specs.get(SINKS_MAX) {
            return Err(SinkError::TooMany { name: spec.name.clone() });
        }
        let warnings = Warnings::default();
        let sinks = specs.iter().map(|spec| Sink::start(spec, &warnings)).collect::<Result<_, _>>()?;
        Ok(Self { sinks, warnings })
    }

    pub fn is_empty(&self) -> bool {
        self.sinks.is_empty()
    }

    pub fn warnings(&self) -> Warnings {
        self.warnings.clone()
    }

    /// What is to be called with each second of the run that begins now.
    pub fn listener(&self, run: &str) -> Box<dyn FnMut(&IntervalSnapshot)> {
        let mut seconds = Seconds::new(run, SystemTime::now());
        let sinks: Vec<_> =
            self.sinks.iter().map(|sink| (sink.queue.clone(), Arc::clone(&sink.counts))).collect();
        Box::new(move |snapshot| {
            let second = Arc::new(seconds.take(snapshot, SystemTime::now()));
            for (queue, counts) in &sinks {
                counts.seconds.fetch_add(1, Ordering::Relaxed);
                counts.requests.fetch_add(second.count(), Ordering::Relaxed);
                // One that a full queue has no room for is lost, as are those that still wait at the end.
                let _ = queue.try_send(Arc::clone(&second));
            }
        })
    }

    /// Waits until all is sent, but not for ever; listeners must be gone.
    pub fn finish(self) -> Vec<SinkEnd> {
        let until = Instant::now() + FINISH_MAX;
        self.sinks.into_iter().map(|sink| sink.finish(until)).collect()
    }
}

impl Sink {
    fn start(spec: &SinkSpec, warnings: &Warnings) -> Result<Self, SinkError> {
        let mut sender = spec.open()?;
        let (queue, seconds) = sync_channel::<Arc<Second>>(QUEUED_SECONDS_MAX);
        let (ending, ended) = channel::<()>();
        let counts = Arc::new(Counts::default());
        let (name, warnings, own) = (spec.name.clone(), warnings.clone(), Arc::clone(&counts));
        let work = move || {
            let mut has_failed = false;
            for second in seconds {
                match sender.send(&second) {
                    Ok(()) => {
                        own.sent.fetch_add(1, Ordering::Relaxed);
                        own.sent_requests.fetch_add(second.count(), Ordering::Relaxed);
                    }
                    Err(problem) if !has_failed => {
                        has_failed = true;
                        warnings.say(format!(
                            "--out {name}: {problem}; the run goes on, and what is not sent is counted"
                        ));
                    }
                    Err(_) => {}
                }
            }
            drop(ending);
        };
        let started = thread::Builder::new().name("prony-output".to_owned()).spawn(work);
        started.map_err(|cause| SinkError::Target {
            name: spec.name.clone(),
            problem: format!("the system gives it no thread: {cause}"),
            example: spec.kind.example,
        })?;
        Ok(Self { name: spec.name.clone(), queue, ended, counts })
    }

    fn finish(self, until: Instant) -> SinkEnd {
        let Self { name, queue, ended, counts } = self;
        drop(queue);
        // At the limit of time the thread is left to itself: it ends with the process.
        let _ = ended.recv_timeout(until.saturating_duration_since(Instant::now()));
        let sent = counts.sent.load(Ordering::Relaxed);
        let lost = counts.seconds.load(Ordering::Relaxed) - sent;
        let [requests, sent_requests] =
            [&counts.requests, &counts.sent_requests].map(|count| count.load(Ordering::Relaxed));
        // A second that arrives just now may be counted with one of the two only.
        SinkEnd { name, sent, lost, lost_requests: requests.saturating_sub(sent_requests) }
    }
}

impl fmt::Display for SinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, sent, lost, lost_requests } = self;
        write!(
            f,
            "--out {name}: {lost} seconds with {lost_requests} requests are missing there beside {sent} that were sent"
        )
    }
}
