//! Metrics in Prometheus' text form. Each core counts for itself, without locks; reading sums the cores.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};
use prony_access::RefusalKind;
use prony_graphql::{cache::CacheStatistics, selection::OperationKind};

use prony_source::{Metric, MetricKind};

use super::{
    access_log::AccessLog,
    audit::Audit,
    family::{Family, Labels, labels, single},
    histogram::{Histogram, Total, add},
    operations::{OperationCounts, OperationLabel, OperationLabels, OperationTotal},
    process,
    traces::Tracer,
};
use crate::{
    graphql::{STAGES, StageTimes},
    http::simple::Handover,
    runtime::Load,
};

/// How a GraphQL request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutcomeKind {
    /// Data without errors.
    Success,
    /// Data, or null in its place, with errors.
    FieldErrors,
    /// Not executed: parsing, validation, coercion or planning refused it.
    Refused,
    /// No GraphQL request: method, media type, size or JSON.
    BadRequest,
}

const OUTCOMES: [&str; 4] = ["success", "field_errors", "refused", "bad_request"];
const KINDS: [&str; 4] = ["query", "mutation", "subscription", "unknown"];

/// One core's counters; only the core's thread writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CoreMetrics {
    requests: [[AtomicU64; OUTCOMES.len()]; KINDS.len()],
    stages: [Histogram; STAGES.len()],
    request_seconds: Histogram,
    in_flight: AtomicU64,
    http_requests: AtomicU64,
    /// By source.
    sources: Vec<SourceCounts>,
    load: Arc<Load>,
    sockets: Arc<AtomicU64>,
    streams: Arc<AtomicU64>,
    subscriptions: AtomicU64,
    /// Events of sources, and the messages that were made of them.
    events: [AtomicU64; 2],
    live_answers: AtomicU64,
    slow_consumers: Arc<AtomicU64>,
    /// By the place in [`RefusalKind::ALL`].
    auth_refusals: [AtomicU64; RefusalKind::ALL.len()],
    /// By the reason's place in [`Handover::ALL`].
    handovers: [AtomicU64; Handover::ALL.len()],
    operations: OperationCounts,
}

/// What one core has asked of a source.
#[derive(Debug, Default)]
struct SourceCounts {
    /// Root fields that were answered, and those of them with an error.
    fields: AtomicU64,
    errors: AtomicU64,
    seconds: Histogram,
}

/// Counts one connection that stays, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicU64>);

impl Counted {
    fn begin(gauge: &Arc<AtomicU64>) -> Self {
        add(gauge, 1);
        Self(Arc::clone(gauge))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        add(&self.0, 1_u64.wrapping_neg());
    }
}

/// Held while a request is answered; also a request whose client has gone leaves the gauge.
#[derive(Debug)]
pub(crate) struct InFlight<'a>(&'a CoreMetrics);

impl InFlight<'_> {
    /// Its end is told by [`CoreMetrics::request_ends`].
    pub(crate) fn goes_on(self) {
        std::mem::forget(self);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        add(&self.0.in_flight, 1_u64.wrapping_neg());
    }
}

impl CoreMetrics {
    fn new(sources: usize, labels: usize) -> Self {
        let sources = std::iter::repeat_with(Default::default).take(sources).collect();
        Self { sources, operations: OperationCounts::new(labels), ..Self::default() }
    }

    /// By the name of the operation.
    pub(crate) fn operations(&self) -> &OperationCounts {
        &self.operations
    }

    pub(crate) fn load(&self) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    pub(crate) fn auth_refused(&self, kind: RefusalKind) {
        if let Some(place) = RefusalKind::ALL.iter().position(|known| *known == kind) {
            add(&self.auth_refusals[place], 1);
        }
    }

    pub(crate) fn request_begins(&self) -> InFlight<'_> {
        add(&self.http_requests, 1);
        add(&self.in_flight, 1);
        InFlight(self)
    }

    /// Of a request that [goes on](InFlight::goes_on).
    pub(crate) fn request_ends(&self) {
        drop(InFlight(self));
    }

    pub(crate) fn request_ended(
        &self,
        kind: Option<OperationKind>,
        outcome: OutcomeKind,
        times: &StageTimes,
    ) {
        let kind = kind.map_or(KINDS.len() - 1, |kind| kind as usize);
        add(&self.requests[kind][outcome as usize], 1);
        let mut total_ns = 0;
        for (histogram, time) in self.stages.iter().zip(times.all()) {
            if let Some(time_ns) = time {
                histogram.record(time_ns);
                total_ns += time_ns;
            }
        }
        self.request_seconds.record(total_ns);
    }

    pub(crate) fn socket_opens(&self) -> Counted {
        Counted::begin(&self.sockets)
    }

    pub(crate) fn stream_opens(&self) -> Counted {
        Counted::begin(&self.streams)
    }

    pub(crate) fn subscription_begins(&self) {
        add(&self.subscriptions, 1);
    }

    pub(crate) fn subscription_ends(&self) {
        add(&self.subscriptions, 1_u64.wrapping_neg());
    }

    /// An event that goes to so many subscribers.
    pub(crate) fn event_sent(&self, subscribers: usize) {
        add(&self.events[0], 1);
        add(&self.events[1], subscribers as u64);
    }

    pub(crate) fn live_answer_begins(&self) {
        add(&self.live_answers, 1);
    }

    /// Counts connections cut because their client read too slowly.
    pub(crate) fn slow_consumers(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.slow_consumers)
    }

    pub(crate) fn handed_over(&self, reason: Handover) {
        add(&self.handovers[reason as usize], 1);
    }

    pub(crate) fn field_ended(&self, source: usize, failed: bool) {
        if let Some(counts) = self.sources.get(source) {
            add(&counts.fields, 1);
            add(&counts.errors, u64::from(failed));
        }
    }

    /// A source has answered what it was asked at one time.
    pub(crate) fn source_took(&self, source: usize, time_ns: u64) {
        if let Some(counts) = self.sources.get(source) {
            counts.seconds.record(time_ns);
        }
    }
}

/// All that `/metrics` shows.
#[derive(Debug)]
pub(crate) struct Metrics {
    cores: Vec<CoreMetrics>,
    sources: Vec<String>,
    labels: OperationLabels,
    started: SystemTime,
}

impl Metrics {
    pub(crate) fn new(cores: usize, sources: Vec<String>, labels: OperationLabels) -> Self {
        let (count, names) = (sources.len(), labels.len());
        Self {
            cores: std::iter::repeat_with(|| CoreMetrics::new(count, names)).take(cores).collect(),
            sources,
            labels,
            started: SystemTime::now(),
        }
    }

    /// The label of an operation that is executed.
    pub(crate) fn label(&self, name: Option<&str>) -> OperationLabel {
        self.labels.label(name)
    }

    pub(crate) fn core(&self, index: usize) -> &CoreMetrics {
        &self.cores[index]
    }

    /// The text that a scrape reads.
    pub(crate) fn text(
        &self,
        caches: CachesStatistics,
        (audit, access_log, tracer): (&Audit, &AccessLog, &Tracer),
        of_sources: Vec<Metric>,
    ) -> Result<String, fmt::Error> {
        let (gauges, counters) = families(of_sources);
        let mut registry = prometheus_client::registry::Registry::default();
        let operations = self.labels.totals(self.cores.iter().map(CoreMetrics::operations));
        let snapshot = Snapshot {
            requests: self.requests(),
            histograms: vec![self.stage_seconds(), self.source_seconds(), operation_seconds(&operations)],
            gauges: self.gauges(caches).into_iter().chain(gauges).collect(),
            counters: self
                .counters(caches)
                .into_iter()
                .chain(by_operation(&operations))
                .chain(audit.counters())
                .chain(access_log.counters())
                .chain(tracer.counters())
                .chain(counters)
                .collect(),
        };
        registry.register_collector(Box::new(snapshot));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn sum(&self, read: impl Fn(&CoreMetrics) -> u64) -> u64 {
        self.cores.iter().map(read).fold(0, u64::wrapping_add)
    }

    fn requests(&self) -> Vec<(Labels, u64)> {
        let mut all = Vec::new();
        for (kind, kind_name) in KINDS.iter().enumerate() {
            for (outcome, outcome_name) in OUTCOMES.iter().enumerate() {
                let count = self.sum(|core| core.requests[kind][outcome].load(Relaxed));
                all.push((labels(&[("operation", kind_name), ("outcome", outcome_name)]), count));
            }
        }
        all
    }

    fn total(&self, read: impl Fn(&CoreMetrics) -> &Histogram) -> Total {
        let mut total = Total::default();
        self.cores.iter().for_each(|core| read(core).add_to(&mut total));
        total
    }

    fn stage_seconds(&self) -> Family<Total> {
        let stages = STAGES.iter().enumerate();
        let mut all: Vec<_> = stages
            .map(|(index, name)| (labels(&[("stage", name)]), self.total(|core| &core.stages[index])))
            .collect();
        all.push((labels(&[("stage", "all")]), self.total(|core| &core.request_seconds)));
        let help = "Time of a stage in the engine, and of all stages together";
        Family::new("prony_stage_seconds", help, all)
    }

    fn source_seconds(&self) -> Family<Total> {
        let names = self.sources.iter().enumerate();
        let times = names.map(|(index, name)| {
            (labels(&[("source", name)]), self.total(|core| &core.sources[index].seconds))
        });
        let help = "Time of a source for what it was asked at one time: root fields, or what is joined";
        Family::new("prony_source_seconds", help, times.collect())
    }

    fn gauges(&self, caches: CachesStatistics) -> Vec<Family<f64>> {
        let open = self.cores.iter().map(|core| core.load.open_connections() as f64).sum();
        let in_flight = self.sum(|core| core.in_flight.load(Relaxed)) as f64;
        let sockets = self.sum(|core| core.sockets.load(Relaxed)) as f64;
        let streams = self.sum(|core| core.streams.load(Relaxed)) as f64;
        let subscriptions = self.sum(|core| core.subscriptions.load(Relaxed)) as f64;
        let process = process::read();
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let cache = |read: fn(&CacheStatistics) -> u64| caches.samples(read);
        vec![
            single("prony_connections", "Open connections", open),
            single("prony_requests_in_flight", "Requests being answered", in_flight),
            single("prony_sockets", "Open WebSockets", sockets),
            single("prony_event_streams", "Open streams of server-sent events", streams),
            single("prony_subscriptions", "Open subscriptions", subscriptions),
            Family::new("prony_cache_bytes", "Bytes that a cache holds", cache(|found| found.bytes)),
            Family::new("prony_cache_entries", "Entries of a cache", cache(|found| found.entries)),
            single("process_resident_memory_bytes", "Memory in use", process.resident_bytes as f64),
            single("process_open_fds", "Open file descriptors", process.open_descriptors as f64),
            single("process_max_fds", "Limit on file descriptors", process.max_descriptors as f64),
            single("process_threads", "Threads", process.threads as f64),
            single("process_start_time_seconds", "When the server started, Unix time", started),
        ]
    }

    fn counters(&self, caches: CachesStatistics) -> Vec<Family<f64>> {
        let cache = |read: fn(&CacheStatistics) -> u64| caches.samples(read);
        let source = |read: fn(&SourceCounts) -> &AtomicU64| {
            let count = |index: usize| self.sum(|core| read(&core.sources[index]).load(Relaxed)) as f64;
            let names = self.sources.iter().enumerate();
            names.map(|(index, name)| (labels(&[("source", name)]), count(index))).collect()
        };
        let events = self.sum(|core| core.events[0].load(Relaxed)) as f64;
        let messages = self.sum(|core| core.events[1].load(Relaxed)) as f64;
        let live = self.sum(|core| core.live_answers.load(Relaxed)) as f64;
        let slow = self.sum(|core| core.slow_consumers.load(Relaxed)) as f64;
        let http = self.sum(|core| core.http_requests.load(Relaxed)) as f64;
        let handovers = Handover::ALL.map(|reason| {
            let count = self.sum(|core| core.handovers[reason as usize].load(Relaxed)) as f64;
            (labels(&[("reason", reason.label())]), count)
        });
        let handovers = handovers.to_vec();
        let refusals = RefusalKind::ALL.iter().enumerate().map(|(place, kind)| {
            let count = self.sum(|core| core.auth_refusals[place].load(Relaxed)) as f64;
            (labels(&[("reason", kind.name())]), count)
        });
        let refusals = refusals.collect();
        vec![
            single("prony_http_requests", "HTTP requests on all paths", http),
            Family::new("prony_cache_hits", "Lookups that found an entry", cache(|found| found.hits)),
            Family::new("prony_cache_misses", "Lookups that found none", cache(|found| found.misses)),
            Family::new("prony_cache_evicted", "Entries pushed out", cache(|found| found.evicted)),
            single("prony_subscription_events", "Events executed for subscriptions, once a core", events),
            single(
                "prony_subscription_messages",
                "Results of events that were sent to subscribers",
                messages,
            ),
            single("prony_live_answers", "Answers made for live queries, sent or as the one before", live),
            single("prony_slow_consumers", "Connections cut because their client read too slowly", slow),
            Family::new(
                "prony_http_handovers",
                "Connections that left the fast path for the rest of their life, by the reason",
                handovers,
            ),
            Family::new("prony_auth_refusals", "Requests that were not let in, by the reason", refusals),
            Family::new(
                "prony_source_fields",
                "Root fields answered by a source",
                source(|counts| &counts.fields),
            ),
            Family::new(
                "prony_source_errors",
                "Root fields with an error of a source",
                source(|counts| &counts.errors),
            ),
            single("process_cpu_seconds", "User and system time", process::read().cpu_seconds),
        ]
    }
}

/// What the caches have done and hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CachesStatistics {
    pub(crate) operations: CacheStatistics,
    pub(crate) plans: CacheStatistics,
    pub(crate) responses: CacheStatistics,
}

impl CachesStatistics {
    fn samples(&self, read: fn(&CacheStatistics) -> u64) -> Vec<(Labels, f64)> {
        let each = [("operations", self.operations), ("plans", self.plans), ("responses", self.responses)];
        each.iter().map(|(name, found)| (labels(&[("cache", name)]), read(found) as f64)).collect()
    }
}

fn by_operation(totals: &[OperationTotal]) -> Vec<Family<f64>> {
    let family = |name, help, read: fn(&OperationTotal) -> f64| {
        let sample = |total: &OperationTotal| (labels(&[("operation", &total.name)]), read(total));
        Family::new(name, help, totals.iter().map(sample).collect())
    };
    let refusals = totals.iter().flat_map(|total| {
        let label = |reason| labels(&[("operation", &total.name), ("reason", reason)]);
        total.refusals.iter().map(move |(reason, count)| (label(reason), *count as f64))
    });
    vec![
        family("prony_operation_requests", "Requests by the name of the operation", |total| {
            total.requests as f64
        }),
        family("prony_operation_errors", "Those whose response has errors", |total| total.errors as f64),
        Family::new(
            "prony_operation_refusals",
            "Those that rules have not let in, by the reason",
            refusals.collect(),
        ),
        family("prony_operation_cost", "What those that were executed were estimated to cost", |total| {
            total.cost as f64
        }),
    ]
}

/// Of names of which something was executed.
fn operation_seconds(totals: &[OperationTotal]) -> Family<Total> {
    let executed = totals.iter().filter(|total| total.times.count() > 0);
    let times = executed.map(|total| (labels(&[("operation", &total.name)]), total.times.clone()));
    Family::new("prony_operation_seconds", "Time of those that were executed", times.collect())
}

/// Gauges and counters of all sources; those of one name are one family.
fn families(metrics: Vec<Metric>) -> (Vec<Family<f64>>, Vec<Family<f64>>) {
    let (mut gauges, mut counters) = (Vec::new(), Vec::new());
    for Metric { kind, name, help, samples } in metrics {
        let families = if kind == MetricKind::Gauge { &mut gauges } else { &mut counters };
        let samples = samples.into_iter().map(|sample| (Labels(sample.labels), sample.value));
        match families.iter_mut().find(|family: &&mut Family<f64>| family.name == name) {
            Some(family) => family.samples.extend(samples),
            None => families.push(Family::new(name, help, samples.collect())),
        }
    }
    (gauges, counters)
}

/// The values of one scrape.
#[derive(Debug)]
struct Snapshot {
    requests: Vec<(Labels, u64)>,
    histograms: Vec<Family<Total>>,
    gauges: Vec<Family<f64>>,
    counters: Vec<Family<f64>>,
}

impl prometheus_client::collector::Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            "prony_graphql_requests",
            "GraphQL requests",
            None,
            MetricType::Counter,
        )?;
        for (labels, count) in &self.requests {
            ConstCounter::new(*count).encode(family.encode_family(labels)?)?;
        }
        for histogram in &self.histograms {
            let mut family =
                encoder.encode_descriptor(histogram.name, histogram.help, None, MetricType::Histogram)?;
            for (labels, total) in &histogram.samples {
                encode_histogram(family.encode_family(labels)?, total)?;
            }
        }
        for gauge in &self.gauges {
            let mut family = encoder.encode_descriptor(gauge.name, gauge.help, None, MetricType::Gauge)?;
            for (labels, value) in &gauge.samples {
                ConstGauge::new(*value).encode(family.encode_family(labels)?)?;
            }
        }
        for counter in &self.counters {
            let mut family =
                encoder.encode_descriptor(counter.name, counter.help, None, MetricType::Counter)?;
            for (labels, value) in &counter.samples {
                ConstCounter::new(*value).encode(family.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

fn encode_histogram(mut encoder: MetricEncoder<'_>, total: &Total) -> fmt::Result {
    encoder.encode_histogram::<NoLabelSet>(total.sum_seconds(), total.count(), &total.buckets(), None)
}
