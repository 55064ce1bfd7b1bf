//! What of an operation becomes spans of a request that is traced: its stages, and what each source is asked.

use std::time::Duration;

use prony_graphql::{
    Name, document::Operation, response::FieldResult, schema::SourceId, selection::OperationKind,
};
use prony_source::{
    OperationResult,
    interceptors::InterceptorPhase,
    trace::{DetachedSpan, OpenSpan, SpanKind, Trace, begin_span},
    traced_request,
};

use super::{
    roles::Asker,
    stages::{ClockKind, STAGES, StageClock},
};
use crate::site::Site;

/// Of the name of an operation, which clients choose.
const NAME_BYTES_MAX: usize = 256;

/// The code of an operation that has failed in a way that was told nobody here: its source has written the response.
const UNTOLD: &str = "FIELD_ERRORS";

pub(crate) const fn word(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Query => "query",
        OperationKind::Mutation => "mutation",
        OperationKind::Subscription => "subscription",
    }
}

/// It is known which operation is asked for; what begins from here on belongs to its execution.
pub(super) fn begin_operation(trace: &Trace, operation: &Operation, asker: Option<&Asker>, clock: ClockKind) {
    trace.set("graphql.operation.type", word(operation.kind()));
    if let Some(name) = operation.name().map(Name::as_str) {
        let mut end = name.len().min(NAME_BYTES_MAX);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        trace.set("graphql.operation.name", name[..end].to_owned());
    }
    if let Some(asker) = asker {
        // As far as proxies are trusted.
        trace.set("client.address", asker.address.to_string());
    }
    // Who asks for processor time has no other.
    if clock == ClockKind::Monotonic {
        trace.begin_execution();
    }
}

/// It was executed, or its response was kept.
pub(super) fn end_operation(clock: &StageClock, errors: bool) {
    let Some(record) = traced_request() else { return };
    let Some(trace) = &record.trace else { return };
    if errors {
        trace.note_error(UNTOLD);
    }
    let times = clock.times();
    let took: Vec<_> = times.all().collect();
    let stages = STAGES.into_iter().zip(&took);
    trace.end_stages(stages.filter_map(|(name, ns)| Some((name, Duration::from_nanos((*ns)?)))));
}

/// What a source is asked.
pub(super) fn of_source(site: &Site, what: &'static str, source: SourceId) -> Option<OpenSpan> {
    if !site.notes_requests() {
        return None;
    }
    let mut span = begin_span(what, SpanKind::Internal)?;
    let name = &site.engine.sources()[usize::from(source.0)].name;
    span.rename(format!("{what} {name}"));
    span.set("prony.source", name.clone());
    Some(span)
}

/// A function that is called around a field: in this process, by its file's name in the configuration.
pub(super) fn begin_interceptor(path: &str, phase: InterceptorPhase) -> Option<DetachedSpan> {
    let mut span = begin_span(phase.name(), SpanKind::Internal)?;
    span.set("code.file.path", path.to_owned());
    span.set("code.function.name", phase.name());
    span.detach()
}

/// What a source has answered.
pub(super) fn describe<'r>(span: &mut OpenSpan, results: impl IntoIterator<Item = &'r FieldResult>) {
    let error = results.into_iter().flat_map(|result| &result.errors).next();
    if let Some(error) = error {
        span.fail(error.code.as_str());
    }
}

pub(super) fn describe_operation(span: &mut OpenSpan, result: &OperationResult) {
    match result {
        OperationResult::Fields(results) => describe(span, results),
        OperationResult::Body { has_errors: true, .. } => span.fail(UNTOLD),
        OperationResult::Body { .. } => {}
    }
}
