//! What dashboards read: the seconds of a run, sent while it goes to Prometheus, OpenTelemetry, `InfluxDB`, `StatsD` and Graphite.
//!
//! Each output has a thread and a queue with an end. One that is down, slow or hangs is told once, loses seconds, which are counted,
//! and holds up neither the run nor the others. A new kind is a file here and a line in [`KINDS`]. Samples one by one, in files, are
//! `prony-metrics`' business.

mod exponential;
mod graphite;
mod http;
mod influxdb;
mod otlp;
mod prometheus;
mod second;
mod send;
mod sender;
mod spec;
mod statsd;

pub use second::METRICS;
pub use send::{SinkEnd, Sinks, Warnings};
pub use spec::{KINDS, SinkError, SinkSpec};
