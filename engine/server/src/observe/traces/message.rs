//! Traces as messages of OTLP (`trace.proto` of opentelemetry-proto), and what a collector responds.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value},
    resource::v1::Resource,
    trace::v1::{
        ResourceSpans, ScopeSpans, Span as SpanMessage, Status, span::SpanKind as KindMessage,
        status::StatusCode,
    },
};
use prony_source::trace::{AttributeValue, FinishedTrace, Span, SpanKind};
use prost::Message as _;

use crate::config::TracesSettings;

/// Flags of a span: sampled, and that it is known whether what is above it is elsewhere, or that it is.
const SAMPLED: u32 = 0x001;
const KNOWS_PARENT: u32 = 0x100;
const HAS_REMOTE_PARENT: u32 = 0x200;

/// What is said of the service; the settings' own attributes win.
pub(super) fn resource(settings: &TracesSettings) -> Resource {
    let own = [
        ("service.name", settings.service_name.clone()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("process.pid", std::process::id().to_string()),
        ("telemetry.sdk.name", "prony".to_owned()),
        ("telemetry.sdk.language", "rust".to_owned()),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let given = &settings.resource_attributes;
    let own = own.into_iter().filter(|(name, _)| {
        let is_given = given.iter().any(|(known, _)| known == name);
        *name == "service.name" || !is_given
    });
    let others = given.iter().filter(|(name, _)| name != "service.name");
    let others = others.map(|(name, value)| (name.as_str(), value.clone()));
    let attributes = own.chain(others).map(|(name, value)| attribute(name, text(value))).collect();
    Resource { attributes, ..Resource::default() }
}

/// The bytes of a request with these traces.
pub(super) fn request(resource: &Resource, traces: Vec<FinishedTrace>) -> Vec<u8> {
    let spans = traces.into_iter().flat_map(of_trace).collect();
    let scope = InstrumentationScope {
        name: "prony".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    let resource = Some(resource.clone());
    let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// Spans that a collector has not taken though it has responded with success, and what it says; none where all is well.
pub(super) fn rejected(response: &[u8]) -> Option<(u64, String)> {
    let partial = ExportTraceServiceResponse::decode(response).ok()?.partial_success?;
    let spans = u64::try_from(partial.rejected_spans).unwrap_or(0);
    (spans > 0 || !partial.error_message.is_empty()).then_some((spans, partial.error_message))
}

fn of_trace(trace: FinishedTrace) -> impl Iterator<Item = SpanMessage> {
    let FinishedTrace { id, state, spans, left_out, began_at } = trace;
    let clock = spans.last().map_or_else(Instant::now, |root| root.began);
    let root = spans.len() - 1;
    spans.into_iter().enumerate().map(move |(index, span)| {
        let is_root = index == root;
        let is_below = if is_root && span.parent.is_some() { HAS_REMOTE_PARENT } else { 0 };
        SpanMessage {
            trace_id: id.0.to_be_bytes().to_vec(),
            trace_state: state.as_deref().unwrap_or_default().to_owned(),
            flags: SAMPLED | KNOWS_PARENT | is_below,
            dropped_attributes_count: 0,
            ..of_span(span, clock, began_at, if is_root { left_out } else { 0 })
        }
    })
}

/// Times are told by the clock of the calendar as it was when the trace began, so that none jumps with it.
fn of_span(span: Span, clock: Instant, began_at: SystemTime, left_out: u64) -> SpanMessage {
    let unix_ns = |at: Instant| {
        let at = match at.checked_duration_since(clock) {
            Some(since) => began_at + since,
            None => began_at - clock.duration_since(at),
        };
        at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
    };
    let Span { id, parent, name, kind, began, ended, attributes, has_failed } = span;
    let left_out = (left_out > 0).then(|| attribute("prony.spans_left_out", integer(left_out.cast_signed())));
    let attributes = attributes.into_iter().map(|(name, value)| attribute(name, value_of(value)));
    let code = if has_failed { StatusCode::Error } else { StatusCode::Unset };
    SpanMessage {
        span_id: id.0.to_be_bytes().to_vec(),
        parent_span_id: parent.map(|parent| parent.0.to_be_bytes().to_vec()).unwrap_or_default(),
        name: name.into_owned(),
        kind: kind_of(kind).into(),
        start_time_unix_nano: unix_ns(began),
        end_time_unix_nano: unix_ns(ended),
        attributes: attributes.chain(left_out).collect(),
        status: Some(Status { message: String::new(), code: code.into() }),
        ..SpanMessage::default()
    }
}

fn kind_of(kind: SpanKind) -> KindMessage {
    match kind {
        SpanKind::Internal => KindMessage::Internal,
        SpanKind::Server => KindMessage::Server,
        SpanKind::Client => KindMessage::Client,
    }
}

fn attribute(name: &str, value: Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn value_of(value: AttributeValue) -> Value {
    match value {
        AttributeValue::Text(found) => text(found.into_owned()),
        AttributeValue::Integer(number) => integer(number),
    }
}

fn text(text: String) -> Value {
    Value::StringValue(text)
}

fn integer(number: i64) -> Value {
    Value::IntValue(number)
}
