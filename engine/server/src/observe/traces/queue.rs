//! Traces that wait to be sent, within a limit: what finds no room is dropped and counted, so that no request ever waits for it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::Thread,
    time::{Duration, Instant},
};

use prony_source::trace::{FinishedTrace, SpanSink};

use crate::observe::family::{Family, labels, single};

/// How often the end looks whether it may take its time still.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The requests' end.
#[derive(Debug)]
pub(super) struct SpanQueue {
    traces: SyncSender<FinishedTrace>,
    shared: Arc<QueueState>,
    /// Spans for which the sender is woken, and those that may wait.
    batch: usize,
    max: usize,
    sender: Thread,
    /// Told nothing, and closed when the sender has ended.
    ended: Mutex<Option<Receiver<()>>>,
}

/// What both ends know.
#[derive(Debug, Default)]
pub(super) struct QueueState {
    /// Spans that are not sent yet.
    pub(super) waiting: AtomicUsize,
    /// Nothing more comes, and it is to be sent by then.
    until: Mutex<Option<Instant>>,
    has_ended: AtomicBool,
    pub(super) sent: AtomicU64,
    /// Spans without room.
    pub(super) without_room: AtomicU64,
    /// Spans beyond those that one request may have.
    pub(super) beyond_limit: AtomicU64,
    /// Spans that the collector has refused, or has not taken for too long.
    pub(super) refused: AtomicU64,
    /// Requests to the collector without success.
    pub(super) failures: AtomicU64,
}

impl QueueState {
    /// Until when what is left must be sent; none as long as more may come.
    pub(super) fn until(&self) -> Option<Instant> {
        if !self.has_ended.load(Relaxed) {
            return None;
        }
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_by(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        self.has_ended.store(true, Relaxed);
    }
}

/// The sender's end of a queue that is about to begin.
pub(super) fn channel(max: usize) -> (SyncSender<FinishedTrace>, Receiver<FinishedTrace>) {
    // Each trace has a span.
    sync_channel(max)
}

impl SpanQueue {
    pub(super) fn new(
        traces: SyncSender<FinishedTrace>,
        shared: Arc<QueueState>,
        (batch, max): (usize, usize),
        sender: Thread,
        ended: Receiver<()>,
    ) -> Self {
        Self { traces, shared, batch, max, sender, ended: Mutex::new(Some(ended)) }
    }

    /// Has what is left sent, for at most this time.
    pub(super) fn finish(&self, limit: Duration, is_over: impl Fn() -> bool) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(ended) = ended else { return };
        let until = Instant::now() + limit;
        self.shared.end_by(until);
        self.sender.unpark();
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
            // The thread is left to itself: it ends with the process.
            if is_over() || Instant::now() >= until {
                break;
            }
        }
        let spans = self.shared.waiting.load(Relaxed);
        if spans > 0 {
            tracing::warn!(spans, "the last traces are lost: the collector did not take them before the end");
        }
    }

    pub(super) fn counters(&self) -> Vec<Family<f64>> {
        let state = &self.shared;
        let of = |count: &AtomicU64| count.load(Relaxed) as f64;
        let dropped =
            [("queue", &state.without_room), ("request", &state.beyond_limit), ("collector", &state.refused)];
        let dropped = dropped.map(|(reason, count)| (labels(&[("reason", reason)]), of(count)));
        let help =
            "Spans without room in the queue, beyond those of one request, or not taken by the collector";
        vec![
            single("prony_trace_spans_sent", "Spans that the collector has taken", of(&state.sent)),
            Family::new("prony_trace_spans_dropped", help, dropped.to_vec()),
            single(
                "prony_trace_export_failures",
                "Requests to the collector without success",
                of(&state.failures),
            ),
        ]
    }
}

impl SpanSink for SpanQueue {
    fn take(&self, trace: FinishedTrace) {
        let (spans, state) = (trace.spans.len(), &self.shared);
        if trace.left_out > 0 {
            state.beyond_limit.fetch_add(trace.left_out, Relaxed);
        }
        let before = state.waiting.fetch_add(spans, Relaxed);
        if before + spans > self.max || self.traces.try_send(trace).is_err() {
            state.waiting.fetch_sub(spans, Relaxed);
            state.without_room.fetch_add(spans as u64, Relaxed);
            return;
        }
        // The first is waited for without an end, later ones until a batch is full or due.
        let fills_batch = before < self.batch && before + spans >= self.batch;
        if before == 0 || fills_batch {
            self.sender.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use prony_source::trace::{Span, SpanId, SpanKind, TraceId};

    use super::*;

    fn trace(spans: usize, left_out: u64) -> FinishedTrace {
        let span = |number: usize| Span {
            id: SpanId(number as u64 + 1),
            parent: None,
            name: "GET".into(),
            kind: SpanKind::Server,
            began: Instant::now(),
            ended: Instant::now(),
            attributes: Vec::new(),
            has_failed: false,
        };
        let spans = (0..spans).map(span).collect();
        FinishedTrace { id: TraceId(1), state: None, spans, left_out, began_at: SystemTime::now() }
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let (traces, received) = channel(10);
        let (_open, ended) = sync_channel(0);
        let shared = Arc::<QueueState>::default();
        let queue = SpanQueue::new(traces, Arc::clone(&shared), (4, 10), std::thread::current(), ended);
        queue.take(trace(7, 0));
        queue.take(trace(4, 2));
        queue.take(trace(3, 0));
        queue.take(trace(1, 0));
        assert_eq!(received.try_iter().count(), 2);
        assert_eq!(shared.waiting.load(Relaxed), 10, "they wait until they are sent");
        assert_eq!((shared.without_room.load(Relaxed), shared.beyond_limit.load(Relaxed)), (5, 2));
    }
}
