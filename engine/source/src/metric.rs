//! What a source says of itself in `/metrics`, as data: how it is written is the server's business.

/// One metric with its samples. Sources that have a metric of the same name give it the same kind and help; the server
/// joins their samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub kind: MetricKind,
    /// Without the `_total` of counters.
    pub name: &'static str,
    pub help: &'static str,
    pub samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Gauge,
    Counter,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

impl Metric {
    pub fn gauge(name: &'static str, help: &'static str, samples: Vec<Sample>) -> Self {
        Self { kind: MetricKind::Gauge, name, help, samples }
    }

    pub fn counter(name: &'static str, help: &'static str, samples: Vec<Sample>) -> Self {
        Self { kind: MetricKind::Counter, name, help, samples }
    }
}

impl Sample {
    /// The one sample of a metric without labels.
    pub fn single(value: f64) -> Vec<Self> {
        vec![Self { labels: Vec::new(), value }]
    }

    /// A sample with one label.
    pub fn labelled(label: &'static str, of: &str, value: f64) -> Self {
        Self { labels: vec![(label, of.to_owned())], value }
    }
}
