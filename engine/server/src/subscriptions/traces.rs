//! Traces of what comes over connections that stay. The request that opens one has ended by then, so that each operation over a socket
//! is traced by itself, and so is each answer of a live query; the start of an operation over server-sent events is a part of its request.

use std::rc::Rc;

use prony_graphql::{schema::SourceId, selection::OperationKind};
use prony_source::{
    Recorded, RequestRecord, current_request, for_this_request,
    trace::{IncomingContext, SpanKind},
};

use crate::graphql::{CoreEngine, ExecutionContext as _, RequestContext, kind_word};

/// The record of an operation that is traced by itself; below what the opening of its connection says, where that is known.
pub(super) fn begin(core: &CoreEngine, context: &RequestContext) -> Option<Rc<RequestRecord>> {
    let tracer = &core.site().tracer;
    if !tracer.is_on() || current_request().is_some() {
        return None;
    }
    let headers = context.headers.iter().flat_map(|headers| headers.iter());
    let parent = IncomingContext::of(headers.map(|(name, value)| (&**name, &**value)));
    let trace = tracer.begin(parent, SpanKind::Server, || "operation".into())?;
    Some(RequestRecord::traced(Box::default(), Some(trace)))
}

/// A subscription has begun, or was refused; a query or mutation goes on, and has its own end.
pub(super) fn started(record: &RequestRecord, kind: Option<OperationKind>, has_begun: bool) {
    let Some(trace) = &record.trace else { return };
    if let Some(kind) = kind {
        trace.rename(kind_word(kind));
    }
    if kind == Some(OperationKind::Subscription) || !has_begun {
        trace.end(false);
    }
}

/// Work for the operation that begins, which ends with it.
pub(super) fn to_its_end(work: impl Future<Output = ()>) -> impl Future<Output = ()> {
    let record = current_request();
    let work = for_this_request(work);
    async move {
        work.await;
        if let Some(trace) = record.as_ref().and_then(|record| record.trace.as_ref()) {
            trace.end(false);
        }
    }
}

/// An answer of a live query, which many may wait for and nobody has asked for by itself.
pub(super) async fn live_answer<T>(
    core: &CoreEngine,
    source: SourceId,
    answer: impl Future<Output = T>,
) -> T {
    let trace = core.site().tracer.begin(None, SpanKind::Internal, || "live query".into());
    let Some(trace) = trace else { return answer.await };
    trace.set("prony.source", core.engine().sources()[usize::from(source.0)].name.clone());
    let record = RequestRecord::traced(Box::default(), Some(trace));
    let answered = Recorded::new(Rc::clone(&record), answer).await;
    if let Some(trace) = &record.trace {
        trace.end(false);
    }
    answered
}
