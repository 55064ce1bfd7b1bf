//! Traces of requests as OpenTelemetry has them: a request that is traced has a [`Trace`], in which whoever works for it opens spans.
//! The collector belongs to one request and stays on its thread; a request that is not traced has none, and costs each place that
//! would open a span one look at the thread's own request. Who is traced, and where spans go, is the server's business.

mod collector;
mod context;
mod open;
mod span;

/// The span in which a write waits until it is durable.
pub const COMMIT: &str = "commit";

pub use self::{
    collector::{FinishedTrace, SPANS_MAX, SpanSink, Trace, TraceStart},
    context::{IncomingContext, SpanId, TRACE_PARENT, TRACE_STATE, TraceId, TraceParent},
    open::{DetachedSpan, EnteredSpan, OpenSpan, begin_span, in_detached_span, in_span, record_span},
    span::{Attribute, AttributeValue, Span, SpanKind, TEXT_BYTES_MAX, bounded},
};
