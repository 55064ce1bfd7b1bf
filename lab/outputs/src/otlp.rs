//! OpenTelemetry metrics over HTTP with protobuf (opentelemetry.io/docs/specs/otlp, `metrics.proto`): sums and exponential histograms
//! since the start of the run.

use crate::exponential::{Exponential, SCALE};
use crate::http::{Post, url};
use crate::second::{DROPPED, RECEIVED, REQUESTS, RESPONSE_TIME, SENT, Second, USERS, outcome_word, unix_ns};
use crate::sender::Sender;
use prost::Message;

const PATH: &str = "/v1/metrics";
/// Of sums: since the start.
const CUMULATIVE: i32 = 2;

#[derive(Debug)]
struct Otlp(Post);

pub(crate) fn open(target: &str) -> Result<Box<dyn Sender>, String> {
    let headers = vec![("content-type", "application/x-protobuf".to_owned())];
    Ok(Box::new(Otlp(Post::new(url(target, PATH)?, headers)?)))
}

impl Sender for Otlp {
    fn send(&mut self, second: &Second) -> Result<(), String> {
        self.0.send(&request(second).encode_to_vec())
    }
}

#[derive(Clone, PartialEq, Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(message, optional, tag = "5")]
    gauge: Option<Gauge>,
    #[prost(message, optional, tag = "7")]
    sum: Option<Sum>,
    #[prost(message, optional, tag = "10")]
    exponential_histogram: Option<ExponentialHistogram>,
}

#[derive(Clone, PartialEq, Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
struct NumberPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(sfixed64, optional, tag = "6")]
    as_int: Option<i64>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ExponentialHistogram {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
}

#[derive(Clone, PartialEq, Message)]
struct HistogramPoint {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    scale: i32,
    #[prost(fixed64, tag = "7")]
    zero_count: u64,
    #[prost(message, optional, tag = "8")]
    positive: Option<Buckets>,
}

#[derive(Clone, PartialEq, Message)]
struct Buckets {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    bucket_counts: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(string, optional, tag = "1")]
    string_value: Option<String>,
}

fn attributes(tags: &[(&str, &str)]) -> Vec<KeyValue> {
    let attribute = |(key, value): &(&str, &str)| KeyValue {
        key: (*key).to_owned(),
        value: Some(AnyValue { string_value: Some((*value).to_owned()) }),
    };
    tags.iter().map(attribute).collect()
}

fn request(second: &Second) -> ExportRequest {
    let (start, time) = (unix_ns(second.started), unix_ns(second.ended));
    let point = |tags: &[(&str, &str)], value: u64| NumberPoint {
        start_time_unix_nano: start,
        time_unix_nano: time,
        as_int: Some(value.cast_signed()),
        attributes: attributes(tags),
    };
    let sum = |name: &str, unit: &str, data_points: Vec<NumberPoint>| Metric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        sum: Some(Sum { data_points, aggregation_temporality: CUMULATIVE, is_monotonic: true }),
        ..Metric::default()
    };
    let requests = second.requests.iter();
    let outcomes = requests.clone().flat_map(|(name, request)| {
        let outcomes = request.total.outcomes.iter();
        outcomes.map(move |(kind, count)| point(&[("name", name), ("outcome", &outcome_word(*kind))], *count))
    });
    let sent = requests.clone().map(|(name, request)| point(&[("name", name)], request.total.bytes_sent));
    let received =
        requests.clone().map(|(name, request)| point(&[("name", name)], request.total.bytes_received));
    let times = requests.map(|(name, request)| histogram(name, &request.total.times, start, time));
    let users = vec![point(&[], second.users.into())];
    let metrics = vec![
        Metric { name: USERS.to_owned(), gauge: Some(Gauge { data_points: users }), ..Metric::default() },
        sum(DROPPED, "", vec![point(&[], second.dropped_in_all)]),
        sum(REQUESTS, "", outcomes.collect()),
        sum(SENT, "By", sent.collect()),
        sum(RECEIVED, "By", received.collect()),
        Metric {
            name: RESPONSE_TIME.trim_end_matches("_seconds").to_owned(),
            unit: "s".to_owned(),
            exponential_histogram: Some(ExponentialHistogram {
                data_points: times.collect(),
                aggregation_temporality: CUMULATIVE,
            }),
            ..Metric::default()
        },
    ];
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let scope_metrics =
        vec![ScopeMetrics { scope: Some(Scope { name: "prony".to_owned(), version }), metrics }];
    let resource = Resource { attributes: attributes(&[("service.name", "prony"), ("run", &second.run)]) };
    ExportRequest { resource_metrics: vec![ResourceMetrics { resource: Some(resource), scope_metrics }] }
}

/// Buckets are counted by the exponent of their lower bound here.
fn histogram(name: &str, times: &Exponential, start: u64, time: u64) -> HistogramPoint {
    let first = times.buckets.keys().next().copied().unwrap_or_default();
    let last = times.buckets.keys().next_back().copied().unwrap_or(first - 1);
    let counts = (first..=last).map(|exponent| times.buckets.get(&exponent).copied().unwrap_or_default());
    HistogramPoint {
        attributes: attributes(&[("name", name)]),
        start_time_unix_nano: start,
        time_unix_nano: time,
        count: times.count,
        sum: Some(times.sum_s),
        scale: SCALE,
        zero_count: 0,
        positive: Some(Buckets { offset: first - 1, bucket_counts: counts.collect() }),
    }
}
