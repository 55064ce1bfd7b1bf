//! Spans that have not ended: opened by whoever works for the request that the thread is at.

use std::{borrow::Cow, future::poll_fn, pin::pin, rc::Rc, time::Instant};

use super::{
    collector::Trace,
    context::{SpanId, TraceId, TraceParent},
    span::{AttributeValue, CANCELLED, Draft, SpanKind},
};
use crate::{RequestRecord, traced_request};

/// A span that has begun. Dropped before its end it counts as cancelled.
#[derive(Debug)]
pub struct OpenSpan {
    record: Rc<RequestRecord>,
    /// None once it has ended.
    draft: Option<Box<Draft>>,
}

/// Begins a span below the present one of the request that this thread is at; none where that is not traced.
#[inline]
pub fn begin_span(name: &'static str, kind: SpanKind) -> Option<OpenSpan> {
    Some(OpenSpan::begin(traced_request()?, name, kind))
}

/// A span that was noted elsewhere, such as on another thread.
pub fn record_span(
    name: &'static str,
    kind: SpanKind,
    (began, ended): (Instant, Instant),
    describe: impl FnOnce(&mut OpenSpan),
) {
    let Some(mut span) = begin_span(name, kind) else { return };
    if let Some(draft) = &mut span.draft {
        draft.began = began;
    }
    describe(&mut span);
    span.end_at(ended);
}

impl OpenSpan {
    #[cold]
    fn begin(record: Rc<RequestRecord>, name: &'static str, kind: SpanKind) -> Self {
        let draft = record
            .trace
            .as_ref()
            .map(|trace| Box::new(Draft::new(trace.next_id(), Some(trace.current()), name.into(), kind)));
        Self { record, draft }
    }

    fn trace(&self) -> Option<&Trace> {
        self.record.trace.as_ref()
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<AttributeValue>) {
        if let Some(draft) = &mut self.draft {
            draft.set(name, value);
        }
    }

    pub fn rename(&mut self, name: impl Into<Cow<'static, str>>) {
        if let Some(draft) = &mut self.draft {
            draft.name = name.into();
        }
    }

    /// It counts as failed. `kind` is of a small number of words, and says nothing of values.
    pub fn fail(&mut self, kind: impl Into<AttributeValue>) {
        if let Some(draft) = &mut self.draft {
            draft.fail(kind);
        }
    }

    /// What others are told whom it asks: `traceparent`, and the `tracestate` that the request came with.
    pub fn context(&self) -> Option<(TraceParent, Option<&str>)> {
        let (trace, draft) = (self.trace()?, self.draft.as_ref()?);
        Some((trace.context(draft.id), trace.state()))
    }

    pub fn end(self) {
        self.end_at(Instant::now());
    }

    pub fn end_at(mut self, ended: Instant) {
        if let (Some(draft), Some(trace)) = (self.draft.take(), self.record.trace.as_ref()) {
            trace.push(draft.ended(ended));
        }
    }

    /// The span without its request, to wait in a future that may change threads.
    pub fn detach(mut self) -> Option<DetachedSpan> {
        let trace = self.trace()?.id();
        Some(DetachedSpan { trace, draft: Some(self.draft.take()?) })
    }

    /// Spans that begin in this thread until this is dropped are parts of it.
    pub fn enter(&self) -> EnteredSpan {
        let before =
            self.trace().zip(self.draft.as_ref()).map(|(trace, draft)| trace.replace_current(draft.id));
        EnteredSpan { record: Rc::clone(&self.record), before }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        if let (Some(mut draft), Some(trace)) = (self.draft.take(), self.record.trace.as_ref()) {
            draft.fail(CANCELLED);
            trace.push(draft.ended(Instant::now()));
        }
    }
}

/// A span that has begun, away from its request, which stays on its thread. Dropped there it counts as cancelled; dropped elsewhere nothing
/// is told of it.
#[derive(Debug)]
pub struct DetachedSpan {
    trace: TraceId,
    /// None once it is attached.
    draft: Option<Box<Draft>>,
}

impl DetachedSpan {
    /// The span of the request that this thread is at; none where that is another one than it was begun for.
    pub fn attach(mut self) -> Option<OpenSpan> {
        self.take()
    }

    fn take(&mut self) -> Option<OpenSpan> {
        let record = traced_request()?;
        let is_it = record.trace.as_ref().is_some_and(|trace| trace.id() == self.trace);
        let draft = self.draft.take().filter(|_| is_it)?;
        Some(OpenSpan { record, draft: Some(draft) })
    }
}

impl Drop for DetachedSpan {
    fn drop(&mut self) {
        if self.draft.is_some() {
            drop(self.take());
        }
    }
}

/// Work of a future that may change threads, as a span that ends with it; `describe` says what has become of it. Spans that begin in the
/// work are not parts of it.
pub async fn in_detached_span<T>(
    span: Option<DetachedSpan>,
    work: impl Future<Output = T>,
    describe: impl FnOnce(&mut OpenSpan, &T),
) -> T {
    let done = work.await;
    if let Some(mut span) = span.and_then(DetachedSpan::attach) {
        describe(&mut span, &done);
        span.end();
    }
    done
}

/// Work that is a part of a span.
#[derive(Debug)]
pub struct EnteredSpan {
    record: Rc<RequestRecord>,
    before: Option<SpanId>,
}

impl Drop for EnteredSpan {
    fn drop(&mut self) {
        if let (Some(trace), Some(before)) = (&self.record.trace, self.before) {
            trace.replace_current(before);
        }
    }
}

/// Work of which all spans are parts of this one, which ends with it; `describe` says what has become of it.
pub async fn in_span<T>(
    span: Option<OpenSpan>,
    work: impl Future<Output = T>,
    describe: impl FnOnce(&mut OpenSpan, &T),
) -> T {
    let Some(mut span) = span else { return work.await };
    let mut work = pin!(work);
    let done = poll_fn(|context| {
        let _entered = span.enter();
        work.as_mut().poll(context)
    })
    .await;
    describe(&mut span, &done);
    span.end();
    done
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        task::{Context, Poll, Waker},
    };

    use super::*;
    use crate::{
        Recorded, enter_request,
        trace::{FinishedTrace, IncomingContext, SPANS_MAX, Span, SpanSink, TraceId, TraceStart},
    };

    #[derive(Debug, Default)]
    struct Kept(Mutex<Vec<FinishedTrace>>);

    impl SpanSink for Kept {
        fn take(&self, trace: FinishedTrace) {
            self.0.lock().expect("no test has panicked with it").push(trace);
        }
    }

    fn traced(kept: &Arc<Kept>) -> Rc<RequestRecord> {
        let parent = TraceParent { trace: TraceId(7), span: SpanId(1), is_sampled: true };
        let start = TraceStart {
            id: TraceId(7),
            span: SpanId(9),
            parent: Some(IncomingContext { parent, state: Some("a=1".into()) }),
            name: "GET".into(),
            kind: SpanKind::Server,
            sink: Arc::<Kept>::clone(kept),
        };
        Rc::new(RequestRecord { trace: Some(Trace::begin(start)), ..RequestRecord::default() })
    }

    /// `name<parent's name`, in the order in which they ended.
    fn tree(trace: &FinishedTrace) -> Vec<String> {
        let name_of = |id: Option<SpanId>| {
            let above = trace.spans.iter().find(|span| Some(span.id) == id);
            above.map_or("?", |span| &span.name).to_owned()
        };
        let line = |span: &Span| {
            let failed = if span.has_failed { "!" } else { "" };
            format!("{}{failed}<{}", span.name, name_of(span.parent))
        };
        trace.spans.iter().map(line).collect()
    }

    fn only(kept: &Kept) -> FinishedTrace {
        let mut all = kept.0.lock().expect("no test has panicked with it");
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn work_that_takes_turns_has_its_own_parts() {
        let kept = Arc::<Kept>::default();
        let record = traced(&kept);
        let part = |name: &'static str, inner: &'static str| async move {
            let span = begin_span(name, SpanKind::Internal);
            let work = async {
                let mut is_second = false;
                poll_fn(|_| {
                    if std::mem::replace(&mut is_second, true) { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                begin_span(inner, SpanKind::Client).expect("it is traced").end();
            };
            in_span(span, work, |_, ()| ()).await;
        };
        let both = async { futures_util::future::join(part("a", "in a"), part("b", "in b")).await };
        let mut both = Box::pin(Recorded::new(Rc::clone(&record), both));
        let mut context = Context::from_waker(Waker::noop());
        while both.as_mut().poll(&mut context).is_pending() {}
        drop(both);
        record.trace.as_ref().expect("it has one").end(false);
        assert!(
            kept.0.lock().expect("no test has panicked with it").is_empty(),
            "somebody may still work for it"
        );
        drop(record);
        let trace = only(&kept);
        assert_eq!(tree(&trace), ["in a<a", "a<GET", "in b<b", "b<GET", "GET<?"]);
        assert_eq!((trace.id, trace.state.as_deref()), (TraceId(7), Some("a=1")));
        assert_eq!(trace.spans[4].parent, Some(SpanId(1)));
    }

    #[test]
    fn what_is_stopped_is_told_so() {
        let kept = Arc::<Kept>::default();
        let record = traced(&kept);
        let entered = enter_request(&record);
        record.trace.as_ref().expect("it has one").begin_execution();
        drop(begin_span("SELECT", SpanKind::Client));
        drop((entered, record));
        assert_eq!(tree(&only(&kept)), ["SELECT!<execute", "execute!<GET", "GET!<?"]);
    }

    #[test]
    fn spans_have_a_limit_and_what_is_beyond_is_counted() {
        let kept = Arc::<Kept>::default();
        let record = traced(&kept);
        let entered = enter_request(&record);
        for _ in 0..SPANS_MAX + 3 {
            begin_span("SELECT", SpanKind::Client).expect("it is traced").end();
        }
        drop((entered, record));
        let trace = only(&kept);
        assert_eq!((trace.spans.len(), trace.left_out), (SPANS_MAX + 1, 3));
        let mut ids: Vec<u64> = trace.spans.iter().map(|span| span.id.0).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), SPANS_MAX + 1, "each has its own number");
    }

    fn detached(name: &'static str) -> Option<DetachedSpan> {
        begin_span(name, SpanKind::Client).and_then(OpenSpan::detach)
    }

    fn may_change_threads<T: Send>(work: T) -> T {
        work
    }

    #[test]
    fn a_detached_span_waits_where_threads_change_and_ends_in_its_request() {
        let (kept, other) = (Arc::<Kept>::default(), Arc::<Kept>::default());
        let record = traced(&kept);
        let entered = enter_request(&record);
        let span = detached("GET");
        drop(entered);
        let work = poll_fn(|_| Poll::Ready(7));
        let mut work = Box::pin(may_change_threads(in_detached_span(span, work, |span, seven| {
            span.set("seven", u64::from(*seven == 7));
        })));
        let mut context = Context::from_waker(Waker::noop());
        let entered = enter_request(&record);
        assert_eq!(work.as_mut().poll(&mut context), Poll::Ready(7));
        let lost = detached("lost").expect("it is traced");
        drop(entered);
        // Of a request that is traced, and another one.
        let start = |kept: &Arc<Kept>| TraceStart {
            id: TraceId(8),
            span: SpanId(3),
            parent: None,
            name: "GET".into(),
            kind: SpanKind::Server,
            sink: Arc::<Kept>::clone(kept),
        };
        let stranger = RequestRecord::traced(Box::default(), Some(Trace::begin(start(&other))));
        let entered = enter_request(&stranger);
        assert!(lost.attach().is_none());
        drop(entered);
        drop((work, record, stranger));
        assert_eq!(tree(&only(&kept)), ["GET<GET", "GET!<?"]);
        assert_eq!(tree(&only(&other)), ["GET!<?"]);
    }

    #[test]
    fn a_detached_span_that_is_dropped_with_its_request_is_cancelled() {
        let kept = Arc::<Kept>::default();
        let record = traced(&kept);
        let work =
            async { in_detached_span(detached("who asks"), std::future::pending::<()>(), |_, ()| ()).await };
        let mut work = Box::pin(Recorded::new(Rc::clone(&record), work));
        assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop((work, record));
        assert_eq!(tree(&only(&kept)), ["who asks!<GET", "GET!<?"]);
    }

    #[test]
    fn nothing_is_opened_for_who_is_not_traced() {
        assert!(begin_span("SELECT", SpanKind::Client).is_none());
        let record = RequestRecord::new("id".into());
        let _entered = enter_request(&record);
        assert!(begin_span("SELECT", SpanKind::Client).is_none());
    }
}
