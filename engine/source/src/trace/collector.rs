//! The spans of one request, from its first byte until nobody works for it any more.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    fmt::Debug,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{
    context::{IncomingContext, SpanId, TraceId, TraceParent},
    span::{AttributeValue, CANCELLED, Draft, Span, SpanKind},
};

/// Spans of one request; further ones are counted and left out.
pub const SPANS_MAX: usize = 1000;

/// The stage of an operation below which its sources' spans are.
const EXECUTION: &str = "execute";

/// Takes traces that have ended. It must not wait: requests call it.
pub trait SpanSink: Debug + Send + Sync {
    fn take(&self, trace: FinishedTrace);
}

/// What is known of a trace when it begins.
#[derive(Debug)]
pub struct TraceStart {
    pub id: TraceId,
    /// The number of its first span, from which those of the others are made.
    pub span: SpanId,
    /// What the request said of the trace that it belongs to.
    pub parent: Option<IncomingContext>,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub sink: Arc<dyn SpanSink>,
}

/// The spans of one request that is traced. They are handed on when it is dropped, with whatever has worked for the request.
#[derive(Debug)]
pub struct Trace {
    id: TraceId,
    state: Option<Box<str>>,
    began_at: SystemTime,
    /// The span of the whole, and when that has ended.
    root: RefCell<Draft>,
    ended: Cell<Option<Instant>>,
    /// Below which spans begin.
    current: Cell<SpanId>,
    /// The stage of the execution, which is told only when it has ended.
    execution: Cell<Option<SpanId>>,
    numbers: Cell<u64>,
    spans: RefCell<Vec<Span>>,
    left_out: Cell<u64>,
    /// The first error that a client is told, by its code.
    error: Cell<Option<&'static str>>,
    /// Nothing of it is told.
    is_abandoned: Cell<bool>,
    sink: Arc<dyn SpanSink>,
}

/// All spans of a request.
#[derive(Debug)]
pub struct FinishedTrace {
    pub id: TraceId,
    /// `tracestate`, as it came.
    pub state: Option<Box<str>>,
    /// The last one is that of the whole.
    pub spans: Vec<Span>,
    /// How many more there were.
    pub left_out: u64,
    /// When the last span began, by the clock of the calendar.
    pub began_at: SystemTime,
}

impl Trace {
    pub fn begin(start: TraceStart) -> Self {
        let TraceStart { id, span, parent, name, kind, sink } = start;
        let above = parent.as_ref().map(|parent| parent.parent.span);
        Self {
            id,
            state: parent.and_then(|parent| parent.state),
            began_at: SystemTime::now(),
            root: RefCell::new(Draft::new(span, above, name, kind)),
            ended: Cell::new(None),
            current: Cell::new(span),
            execution: Cell::new(None),
            numbers: Cell::new(span.0),
            spans: RefCell::default(),
            left_out: Cell::new(0),
            error: Cell::new(None),
            is_abandoned: Cell::new(false),
            sink,
        }
    }

    pub fn id(&self) -> TraceId {
        self.id
    }

    /// `tracestate` of the request.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// What others are told who are asked for all of it.
    pub fn root_context(&self) -> TraceParent {
        self.context(self.root.borrow().id)
    }

    /// What others are told whom a span asks.
    pub fn context(&self, span: SpanId) -> TraceParent {
        TraceParent { trace: self.id, span, is_sampled: true }
    }

    /// An attribute of the span of the whole.
    pub fn set(&self, name: &'static str, value: impl Into<AttributeValue>) {
        self.root.borrow_mut().set(name, value);
    }

    pub fn rename(&self, name: impl Into<Cow<'static, str>>) {
        self.root.borrow_mut().name = name.into();
    }

    /// A client is told of an error with this code.
    pub fn note_error(&self, code: &'static str) {
        self.error.set(self.error.get().or(Some(code)));
    }

    /// The span of the whole ends, and counts as failed or not, for the first time; others may go on.
    pub fn end(&self, has_failed: bool) {
        if self.ended.get().is_some() {
            return;
        }
        self.ended.set(Some(Instant::now()));
        let mut root = self.root.borrow_mut();
        root.has_failed = has_failed;
        if let Some(code) = self.error.get() {
            root.set("error.type", code);
        }
    }

    /// Nothing is told of it: the request is begun anew elsewhere.
    pub fn abandon(&self) {
        self.is_abandoned.set(true);
    }

    /// Spans that begin from now on are parts of an operation's execution.
    pub fn begin_execution(&self) {
        let id = self.next_id();
        self.execution.set(Some(id));
        self.current.set(id);
    }

    /// The stages of an operation, one behind the other, of which the last has ended now.
    pub fn end_stages(&self, stages: impl Iterator<Item = (&'static str, Duration)> + Clone) {
        let now = Instant::now();
        let total: Duration = stages.clone().map(|(_, took)| took).sum();
        let mut began = now.checked_sub(total).unwrap_or(now);
        let above = self.root.borrow().id;
        for (name, took) in stages {
            let execution = self.execution.get().filter(|_| name == EXECUTION);
            let id = execution.unwrap_or_else(|| self.next_id());
            let mut draft = Draft::new(id, Some(above), name.into(), SpanKind::Internal);
            draft.began = began;
            if let Some(error) = self.error.get().filter(|_| name == EXECUTION) {
                draft.fail(error);
            }
            began += took;
            self.push(draft.ended(began));
        }
        self.execution.set(None);
        self.current.set(above);
    }

    /// Another number for a span: a permutation of all numbers (D. Lea, G. Steele, C. Flood: Fast splittable pseudorandom number
    /// generators, 2014), so that those of one trace differ.
    pub(super) fn next_id(&self) -> SpanId {
        loop {
            let state = self.numbers.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.numbers.set(state);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let id = mixed ^ mixed >> 31;
            if id != 0 {
                return SpanId(id);
            }
        }
    }

    pub(super) fn current(&self) -> SpanId {
        self.current.get()
    }

    /// The one before.
    pub(super) fn replace_current(&self, span: SpanId) -> SpanId {
        self.current.replace(span)
    }

    pub(super) fn push(&self, span: Span) {
        let mut spans = self.spans.borrow_mut();
        if spans.len() < SPANS_MAX {
            spans.push(span);
        } else {
            self.left_out.set(self.left_out.get() + 1);
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.is_abandoned.get() {
            return;
        }
        let mut spans = self.spans.take();
        let mut root = self.root.get_mut().clone();
        // An execution that was stopped has left its parts behind.
        if let Some(id) = self.execution.get()
            && let Some(first) = spans.iter().find(|span| span.parent == Some(id))
        {
            let mut draft = Draft::new(id, Some(root.id), EXECUTION.into(), SpanKind::Internal);
            draft.began = first.began;
            draft.fail(CANCELLED);
            spans.push(draft.ended(Instant::now()));
        }
        let ended = self.ended.get().unwrap_or_else(|| {
            root.fail(CANCELLED);
            Instant::now()
        });
        spans.push(root.ended(ended));
        let (state, left_out) = (self.state.take(), self.left_out.get());
        self.sink.take(FinishedTrace { id: self.id, state, spans, left_out, began_at: self.began_at });
    }
}
