//! What is counted of an upstream, by all cores, for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use prony_source::{Metric, Sample};

/// Of one address.
#[derive(Debug, Default)]
pub(crate) struct AddressCounters {
    pub(crate) requests: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// How often it was taken out of use.
    pub(crate) ejections: AtomicU64,
}

/// Of an upstream.
#[derive(Debug, Default)]
pub(crate) struct UpstreamCounters {
    pub(crate) retries: AtomicU64,
    /// Requests that were refused because too many waited.
    pub(crate) shed: AtomicU64,
    /// Operations that were forwarded whole, and in parts.
    pub(crate) whole: AtomicU64,
    pub(crate) parts: AtomicU64,
    /// How often its schema was asked for in vain.
    pub(crate) schema_failures: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// One address as the metrics show it.
pub(crate) struct AddressSample<'a> {
    pub(crate) address: String,
    pub(crate) counters: &'a AddressCounters,
    pub(crate) is_open: bool,
}

impl UpstreamCounters {
    pub(crate) fn metrics(&self, source: &str, addresses: &[AddressSample<'_>]) -> Vec<Metric> {
        let of = |value: &AtomicU64| value.load(Relaxed) as f64;
        let one = |value: f64| vec![Sample::labelled("source", source, value)];
        let each = |value: &dyn Fn(&AddressSample<'_>) -> f64| -> Vec<Sample> {
            let sample = |sample: &AddressSample<'_>| Sample {
                labels: vec![("source", source.to_owned()), ("address", sample.address.clone())],
                value: value(sample),
            };
            addresses.iter().map(sample).collect()
        };
        let forwarded = [("whole", &self.whole), ("parts", &self.parts)];
        let forwarded = forwarded.map(|(how, counter)| Sample {
            labels: vec![("source", source.to_owned()), ("how", how.to_owned())],
            value: of(counter),
        });
        vec![
            Metric::counter(
                "prony_upstream_requests",
                "Requests to an upstream's address",
                each(&|sample| of(&sample.counters.requests)),
            ),
            Metric::counter(
                "prony_upstream_failures",
                "Requests that an upstream's address has not responded to, or with a failure of its own",
                each(&|sample| of(&sample.counters.failures)),
            ),
            Metric::counter(
                "prony_upstream_ejections",
                "How often an upstream's address was taken out of use",
                each(&|sample| of(&sample.counters.ejections)),
            ),
            Metric::gauge(
                "prony_upstream_breaker_open",
                "Whether an upstream's address is out of use",
                each(&|sample| f64::from(u8::from(sample.is_open))),
            ),
            Metric::counter(
                "prony_upstream_retries",
                "Queries sent to an upstream again",
                one(of(&self.retries)),
            ),
            Metric::counter(
                "prony_upstream_shed",
                "Requests refused because too many waited",
                one(of(&self.shed)),
            ),
            Metric::counter(
                "prony_upstream_operations",
                "Operations forwarded to an upstream",
                forwarded.to_vec(),
            ),
            Metric::counter(
                "prony_upstream_schema_failures",
                "How often an upstream's schema was asked for in vain",
                one(of(&self.schema_failures)),
            ),
        ]
    }
}
