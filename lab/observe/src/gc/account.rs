//! What the events of a log amount to on the run's time line: series of pauses and heaps, figures of the whole run.

use super::event::{Event, EventKind, Heap, Stamp};
use crate::book::Notes;
use crate::clock::RunClock;
use crate::observer::INTERVAL_MIN;
use prony_model::Nanos;
use prony_model::measurement::observation::ObservedUnit::{self, Bytes, Count, Nanoseconds, Share};
use prony_model::measurement::observation::PAUSE;

/// Dates of events that are just being written are this far from the clock only where clocks differ.
const CLOCK_DIFFERENCE_MAX_NS: i128 = 60_000_000_000;

/// Where uptimes stand on the run's line.
#[derive(Debug, Default)]
pub(super) struct Uptime {
    /// On the run's line: when the JVM began, at the latest. A line is in the file after it happened, so that the
    /// smallest of all differences is the nearest to the truth.
    began_ns: Option<i128>,
    last_ns: i128,
}

impl Uptime {
    /// `written_ns` is when the file was last written to, on the line where times are to stand.
    pub(super) fn learn(&mut self, event: &Event, written_ns: i128) {
        let Some(uptime_ns) = event.at.uptime_ns else { return };
        let ended_ns = uptime_ns + i128::from(event.kind.length_ns());
        // Another JVM writes to the file now; within one, nested pauses end in another order than they begin.
        if ended_ns < self.last_ns - 1_000_000_000 {
            self.began_ns = None;
        }
        self.last_ns = ended_ns;
        let began_ns = written_ns - ended_ns;
        self.began_ns = Some(self.began_ns.map_or(began_ns, |known| known.min(began_ns)));
    }
}

#[derive(Debug, Default)]
pub(super) struct Account {
    paused_ns: i128,
    pauses: u64,
    longest_ns: u64,
    full_count: u64,
    full_heap: Option<u64>,
    committed_max: Option<u64>,
    cycles: u64,
    placed: u64,
    placed_by_date: u64,
    /// A full collection that a lesser pause may enclose: when it began, how long it was.
    enclosed: Option<(i128, u64)>,
    /// A pause of JDK 8's G1 whose heap stands on a later line.
    waits_for_heap: Option<(Nanos, bool)>,
    points: Vec<(Nanos, &'static str, ObservedUnit, f64)>,
    faults: Vec<&'static str>,
}

impl Account {
    /// `now` is when the event was read; what ended before the run is not the run's.
    pub(super) fn enter(&mut self, event: &Event, clock: &RunClock, uptime: &Uptime) {
        if let EventKind::HeapOfPause { heap } = event.kind {
            if let Some((at, is_full)) = self.waits_for_heap.take() {
                self.heap(at, heap, is_full);
            }
            return;
        }
        self.waits_for_heap = None;
        let length_ns = event.kind.length_ns();
        let now_ns = i128::from(clock.now().0);
        let (began_ns, has_date) =
            place(event.at, clock, uptime).unwrap_or((now_ns - i128::from(length_ns), false));
        self.compare_clocks(began_ns + i128::from(length_ns), now_ns);
        let ended_ns = (began_ns + i128::from(length_ns)).min(now_ns);
        if ended_ns < 0 {
            return;
        }
        self.placed += 1;
        self.placed_by_date += u64::from(has_date);
        let at = Nanos(u64::try_from(began_ns.clamp(0, now_ns)).unwrap_or_default());
        match event.kind {
            EventKind::Pause { is_full, heap, .. } => {
                self.pause(at, (began_ns, length_ns), is_full);
                self.paused_ns += (ended_ns - began_ns.max(0)).max(0);
                self.waits_for_heap = heap.is_none().then_some((at, is_full));
                self.heaps(at, heap, is_full);
            }
            EventKind::Cycle { is_full, heap } => {
                self.cycles += 1;
                self.full_count += u64::from(is_full);
                self.heaps(at, heap, is_full);
            }
            EventKind::HeapOfPause { .. } => {}
        }
    }

    fn pause(&mut self, at: Nanos, (began_ns, length_ns): (i128, u64), is_full: bool) {
        self.pauses += 1;
        self.full_count += u64::from(is_full);
        self.longest_ns = self.longest_ns.max(length_ns);
        self.points.push((at, PAUSE, Nanoseconds, length_ns as f64));
        // Serial logs a young collection that turns into a full one as both, the full one first.
        if let Some((inner_began_ns, inner_length_ns)) = self.enclosed.take()
            && began_ns <= inner_began_ns
            && length_ns >= inner_length_ns
        {
            self.paused_ns -= i128::from(inner_length_ns);
        }
        self.enclosed = is_full.then_some((began_ns, length_ns));
    }

    fn heaps(&mut self, at: Nanos, heap: Option<Heap>, is_full: bool) {
        if let Some(heap) = heap {
            self.heap(at, heap, is_full);
        }
    }

    fn heap(&mut self, at: Nanos, heap: Heap, is_full: bool) {
        self.points.push((at, "heap before collection", Bytes, heap.before as f64));
        self.points.push((at, "heap after collection", Bytes, heap.after as f64));
        if let Some(committed) = heap.committed {
            self.committed_max = self.committed_max.max(Some(committed));
            self.points.push((at, "heap committed", Bytes, committed as f64));
        }
        if is_full {
            self.full_heap = Some(heap.after);
            self.points.push((at, "heap after full collection", Bytes, heap.after as f64));
        }
    }

    fn compare_clocks(&mut self, ended_ns: i128, now_ns: i128) {
        if ended_ns > now_ns + CLOCK_DIFFERENCE_MAX_NS {
            self.faults
                .push("its dates are more than a minute ahead of this machine's clock; set both clocks");
        } else if ended_ns < -CLOCK_DIFFERENCE_MAX_NS {
            self.faults.push(
                "lines that came during the run have dates of more than a minute before it; set both clocks",
            );
        }
    }

    /// Hands on what is new, and the figures as they are now.
    pub(super) fn note(&mut self, label: &str, now: Nanos, notes: &mut Notes) {
        // Nested pauses are logged in the order of their ends.
        self.points.sort_by_key(|point| point.0);
        for (at, series, unit, value) in self.points.drain(..) {
            notes.event(label, series, unit, at, value);
        }
        for fault in self.faults.drain(..) {
            notes.fault(label, now, fault);
        }
        if self.cycles > 0 && self.pauses == 0 {
            let text =
                "it tells of collections but not of their pauses; start the JVM with -Xlog:gc*:file=FILE";
            notes.fault(label, now, text);
        } else {
            self.note_pauses(label, now, notes);
        }
        notes.figure(label, "full collections", Count, self.full_count as f64);
        if let Some(bytes) = self.full_heap {
            notes.figure(label, "heap after the last full collection", Bytes, bytes as f64);
        }
        if let Some(bytes) = self.committed_max {
            notes.figure(label, "heap committed, highest seen", Bytes, bytes as f64);
        }
        if self.placed > 0 {
            let share = self.placed_by_date as f64 / self.placed as f64;
            notes.figure(label, "aligned by dates", Share, share);
            if self.placed_by_date < self.placed {
                let text = "lines without dates are aligned by uptime and by when they came; \
                            add `time` to the decorations of -Xlog, or -XX:+PrintGCDateStamps";
                notes.fault(label, now, text);
            }
        }
    }

    fn note_pauses(&self, label: &str, now: Nanos, notes: &mut Notes) {
        if now >= INTERVAL_MIN {
            let share = 1.0 - self.paused_ns as f64 / now.0 as f64;
            notes.figure(label, "GC throughput", Share, share.clamp(0.0, 1.0));
        }
        notes.figure(label, "pauses", Count, self.pauses as f64);
        if self.pauses > 0 {
            notes.figure(label, "paused in all", Nanoseconds, self.paused_ns as f64);
            notes.figure(label, "longest pause", Nanoseconds, self.longest_ns as f64);
        }
    }
}

/// Nanoseconds on the run's line, and whether a date tells them.
fn place(at: Stamp, clock: &RunClock, uptime: &Uptime) -> Option<(i128, bool)> {
    match (at.wall_ns, at.uptime_ns, uptime.began_ns) {
        (Some(wall_ns), ..) => Some((clock.of_wall(wall_ns), true)),
        (None, Some(uptime_ns), Some(began_ns)) => Some((clock.of_wall(began_ns + uptime_ns), false)),
        _ => None,
    }
}
