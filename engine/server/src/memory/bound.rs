//! At the bound of the process' memory new work is refused, and what is under way goes on: who is refused may ask again, and nobody
//! can ask a process again that the kernel has killed.

use std::{
    fs,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use prony_source::{Metric, Sample};

use super::{give_back, granted};

/// How often the memory is looked at. A look takes some microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// While the bound is reached, what is free is given back so often, and the log says so not more often: the C library keeps what
/// was used, and would have the server at its bound long after the work that took it there.
const RELIEVE_EVERY: Duration = Duration::from_secs(1);
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Without a bound of its own the process may have so many of ten parts of what it is granted; the rest is for the kernel's side of
/// its sockets and files, and for what comes between two looks.
const TENTHS: u64 = 9;

/// What the process may hold; clones share what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct MemoryBound {
    /// None where there is no bound, or nobody can say how much is held.
    max_bytes: Option<u64>,
    held: Arc<Held>,
}

/// What the last look has shown.
#[derive(Debug, Default)]
struct Held {
    bytes: AtomicU64,
    is_full: AtomicBool,
    refused: AtomicU64,
}

impl MemoryBound {
    /// Begins to look. `given` is the user's bound in bytes, 0 for none; without one it is a part of what the process is granted.
    pub(crate) fn start(given: Option<u64>) -> Self {
        let bound = given.or_else(|| granted::bytes().map(|bytes| bytes / 10 * TENTHS));
        let max_bytes = bound.filter(|&bytes| bytes > 0 && held_bytes().is_some());
        let held = Arc::<Held>::default();
        if let Some(max_bytes) = max_bytes {
            held.look(max_bytes);
            let watched = Arc::downgrade(&held);
            let started = thread::Builder::new()
                .name("memory".to_owned())
                .spawn(move || Watch::default().run(&watched, max_bytes));
            if let Err(error) = started {
                tracing::warn!(%error, "nobody looks at the memory of the process: max_memory_bytes has no effect");
            }
        }
        Self { max_bytes, held }
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.held.is_full.load(Relaxed)
    }

    /// Why something new is not begun, which is counted; none as long as there is memory.
    pub(crate) fn refuse(&self) -> Option<String> {
        let max_bytes = self.max_bytes.filter(|_| self.is_reached())?;
        self.held.refused.fetch_add(1, Relaxed);
        let bytes = self.held.bytes.load(Relaxed);
        Some(format!(
            "the server holds {bytes} bytes of memory, at its bound of {max_bytes} (max_memory_bytes): try again in a moment"
        ))
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let Some(max_bytes) = self.max_bytes else { return Vec::new() };
        let one = |value: u64| Sample::single(value as f64);
        let refused = self.held.refused.load(Relaxed);
        vec![
            Metric::gauge(
                "prony_memory_bytes",
                "Memory that counts against the bound",
                one(self.held.bytes.load(Relaxed)),
            ),
            Metric::gauge("prony_memory_bound_bytes", "The bound: max_memory_bytes", one(max_bytes)),
            Metric::counter(
                "prony_memory_refused",
                "Requests and operations refused at the bound of memory",
                one(refused),
            ),
        ]
    }
}

impl Held {
    /// Whether the bound is reached.
    fn look(&self, max_bytes: u64) -> bool {
        let Some(bytes) = held_bytes() else { return false };
        self.bytes.store(bytes, Relaxed);
        self.is_full.store(bytes >= max_bytes, Relaxed);
        bytes >= max_bytes
    }
}

/// Who looks, until the server has gone.
#[derive(Debug, Default)]
struct Watch {
    relieved: Option<Instant>,
    said: Option<Instant>,
}

impl Watch {
    fn run(&mut self, held: &Weak<Held>, max_bytes: u64) {
        while let Some(held) = held.upgrade() {
            if held.look(max_bytes) {
                self.relieve(&held, max_bytes);
            }
            drop(held);
            thread::sleep(LOOK_EVERY);
        }
    }

    fn relieve(&mut self, held: &Held, max_bytes: u64) {
        if is_due(&mut self.relieved, RELIEVE_EVERY) {
            give_back();
        }
        if held.look(max_bytes) && is_due(&mut self.said, SAY_EVERY) {
            let (bytes, refused) = (held.bytes.load(Relaxed), held.refused.load(Relaxed));
            tracing::warn!(
                bytes,
                max_bytes,
                refused,
                "the memory of the process is at its bound: what is new is refused with 503 until there is room; raise \
                 max_memory_bytes where the machine has more, or lower max_responses_bytes, max_unfinished_bodies_bytes or limits"
            );
        }
    }
}

/// Whether so long has passed since the last time that it was.
fn is_due(last: &mut Option<Instant>, every: Duration) -> bool {
    let is_due = last.is_none_or(|last| last.elapsed() >= every);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}

/// What of the process is in memory and is no page of a file, which the kernel could drop: `/proc/self/statm` (`proc(5)`). None
/// where there is no such file.
fn held_bytes() -> Option<u64> {
    parse(&fs::read_to_string("/proc/self/statm").ok()?, rustix::param::page_size() as u64)
}

fn parse(statm: &str, page_bytes: u64) -> Option<u64> {
    let mut pages = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(resident.saturating_sub(of_files) * page_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_do_not_count() {
        assert_eq!(parse("9000 2100 100 5 0 700 0\n", 4096), Some(2000 * 4096));
        assert_eq!(parse("9000", 4096), None);
        assert_eq!(parse("9000 x 1", 4096), None);
    }

    #[test]
    fn a_bound_below_what_is_held_is_reached_at_once() {
        let bound = MemoryBound::start(Some(1));
        let refusal = bound.refuse().expect("this process holds more than a byte");
        assert!(refusal.contains("at its bound of 1 (max_memory_bytes)"), "{refusal}");
        let refusals = &bound.metrics()[2].samples[0];
        assert!(refusals.value > 0.5, "{refusals:?}");
    }

    #[test]
    fn zero_is_no_bound() {
        let bound = MemoryBound::start(Some(0));
        assert_eq!((bound.refuse(), bound.metrics().len()), (None, 0));
    }
}
