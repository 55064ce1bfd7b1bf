//! Prometheus remote write 1.0 with native histograms: a snappy block of `prometheus.WriteRequest`
//! (`prometheus.io/docs/specs/prw/remote_write_spec`, `prompb/types.proto`).

use crate::exponential::{Exponential, SCALE};
use crate::http::{Post, url};
use crate::second::{DROPPED, RECEIVED, REQUESTS, RESPONSE_TIME, SENT, Second, USERS, outcome_word, unix_ns};
use crate::sender::Sender;
use prost::Message;

const PATH: &str = "/api/v1/write";

#[derive(Debug)]
struct RemoteWrite(Post);

pub(crate) fn open(target: &str) -> Result<Box<dyn Sender>, String> {
    let headers = vec![
        ("content-encoding", "snappy".to_owned()),
        ("content-type", "application/x-protobuf".to_owned()),
        ("x-prometheus-remote-write-version", "0.1.0".to_owned()),
        ("user-agent", format!("prony/{}", env!("CARGO_PKG_VERSION"))),
    ];
    Ok(Box::new(RemoteWrite(Post::new(url(target, PATH)?, headers)?)))
}

impl Sender for RemoteWrite {
    fn send(&mut self, second: &Second) -> Result<(), String> {
        let bytes = request(second).encode_to_vec();
        let bytes = snap::raw::Encoder::new().compress_vec(&bytes).map_err(|error| error.to_string())?;
        self.0.send(&bytes)
    }
}

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    histograms: Vec<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// Counts of integers; those of floating-point numbers have fields of their own, which are not written.
#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    count: Option<u64>,
    #[prost(double, tag = "3")]
    sum: f64,
    #[prost(sint32, tag = "4")]
    schema: i32,
    #[prost(double, tag = "5")]
    zero_threshold: f64,
    #[prost(uint64, optional, tag = "6")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    positive_spans: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "12")]
    positive_deltas: Vec<i64>,
    #[prost(int64, tag = "15")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

fn request(second: &Second) -> WriteRequest {
    let timestamp = (unix_ns(second.ended) / 1_000_000).cast_signed();
    let mut timeseries = Vec::new();
    let mut sample = |metric: &str, tags: &[(&str, &str)], value: f64| {
        let samples = vec![Sample { value, timestamp }];
        timeseries.push(TimeSeries { labels: labels(second, metric, tags), samples, histograms: Vec::new() });
    };
    sample(USERS, &[], second.users.into());
    sample(&format!("{DROPPED}_total"), &[], second.dropped_in_all as f64);
    for (name, request) in &second.requests {
        let total = &request.total;
        for (kind, count) in &total.outcomes {
            let tags = [("name", name.as_str()), ("outcome", &outcome_word(*kind))];
            sample(&format!("{REQUESTS}_total"), &tags, *count as f64);
        }
        sample(&format!("{SENT}_total"), &[("name", name)], total.bytes_sent as f64);
        sample(&format!("{RECEIVED}_total"), &[("name", name)], total.bytes_received as f64);
    }
    for (name, request) in &second.requests {
        timeseries.push(TimeSeries {
            labels: labels(second, RESPONSE_TIME, &[("name", name)]),
            samples: Vec::new(),
            histograms: vec![histogram(&request.total.times, timestamp)],
        });
    }
    WriteRequest { timeseries }
}

/// Sorted by name, as receivers demand.
fn labels(second: &Second, metric: &str, tags: &[(&str, &str)]) -> Vec<Label> {
    let all = [("__name__", metric), ("job", "prony"), ("run", &second.run)];
    let mut labels: Vec<_> = all
        .iter()
        .chain(tags)
        .map(|(name, value)| Label { name: (*name).to_owned(), value: (*value).to_owned() })
        .collect();
    labels.sort_by(|a, b| a.name.cmp(&b.name));
    labels
}

/// Buckets as runs of neighbours: each span says how far behind the one before it begins; counts are differences.
fn histogram(times: &Exponential, timestamp: i64) -> Histogram {
    let (mut positive_spans, mut positive_deltas) = (Vec::<BucketSpan>::new(), Vec::new());
    let (mut next, mut before) = (0, 0_i64);
    for (&exponent, &count) in &times.buckets {
        match positive_spans.last_mut() {
            Some(span) if exponent == next => span.length += 1,
            _ => positive_spans.push(BucketSpan { offset: exponent - next, length: 1 }),
        }
        next = exponent + 1;
        positive_deltas.push(count.cast_signed() - before);
        before = count.cast_signed();
    }
    Histogram {
        count: Some(times.count),
        sum: times.sum_s,
        schema: SCALE,
        zero_threshold: 0.0,
        zero_count: Some(0),
        positive_spans,
        positive_deltas,
        timestamp,
    }
}
