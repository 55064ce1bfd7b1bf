//! Traces of requests (OpenTelemetry): who is traced, and the thread that sends what was traced to a collector. What is traced of a
//! request is opened where it happens, by `prony_source::trace`.

mod export;
mod message;
mod numbers;
mod queue;
mod sampler;

use std::{borrow::Cow, sync::Arc, time::Duration};

use prony_source::trace::{IncomingContext, SpanKind, SpanSink, Trace, TraceParent, TraceStart};

use self::{
    numbers::{new_span_id, new_trace_id},
    queue::SpanQueue,
    sampler::Sampler,
};
use super::family::Family;
use crate::{config::TracesSettings, tls::TlsError};

/// Of all cores.
#[derive(Debug)]
pub(crate) struct Tracer(Option<Active>);

#[derive(Debug)]
struct Active {
    sampler: Sampler,
    queue: Arc<SpanQueue>,
}

impl Tracer {
    /// Nobody is traced where the settings say nothing of a collector.
    ///
    /// # Errors
    /// The certificates that are trusted for the collector cannot be read.
    pub(crate) fn start(settings: &TracesSettings) -> Result<Self, TlsError> {
        for note in &settings.notes {
            tracing::warn!("{note}");
        }
        let queue = if settings.is_on() { export::start(settings)? } else { None };
        let sampler = Sampler::new(settings.sample_ratio(), settings.follows_parent);
        Ok(Self(queue.map(|queue| Active { sampler, queue })))
    }

    /// Whether anybody may be traced.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The trace of work that begins now, where it is traced; `parent` is what a client says of it.
    pub(crate) fn begin(
        &self,
        parent: Option<IncomingContext>,
        kind: SpanKind,
        name: impl FnOnce() -> Cow<'static, str>,
    ) -> Option<Trace> {
        let Active { sampler, queue } = self.0.as_ref()?;
        let above = parent.as_ref().map(|parent| &parent.parent);
        let id = above.map_or_else(new_trace_id, |above| above.trace);
        if !sampler.samples(above, id) {
            return None;
        }
        let sink: Arc<dyn SpanSink> = Arc::<SpanQueue>::clone(queue);
        Some(Trace::begin(TraceStart { id, span: new_span_id(), parent, name: name(), kind, sink }))
    }

    /// What servers are told that are asked for a request which is not traced, and of which its client says nothing: that they need
    /// not trace it either.
    pub(crate) fn untraced_parent(&self) -> Option<TraceParent> {
        self.0.as_ref()?;
        Some(TraceParent { trace: new_trace_id(), span: new_span_id(), is_sampled: false })
    }

    /// Sends what is left, for at most this time; `is_over` says that there is no time at all.
    pub(crate) fn finish(&self, limit: Duration, is_over: impl Fn() -> bool) {
        if let Some(Active { queue, .. }) = &self.0 {
            queue.finish(limit, is_over);
        }
    }

    /// For `/metrics`.
    pub(super) fn counters(&self) -> Vec<Family<f64>> {
        self.0.as_ref().map(|active| active.queue.counters()).unwrap_or_default()
    }
}
