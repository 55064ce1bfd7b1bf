//! Prometheus' remote write, version 1.0 (<https://prometheus.io/docs/specs/prw/remote_write_spec/>): the messages of its protocol, and what
//! they become.

use std::collections::HashSet;

use prony_series_store::ATTRIBUTES_MAX;
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field},
};

use super::{TimedEntity, attribute, id_of, number};
use crate::ngsi::{entity::Entity, json::Json, time_index::TimeSource};

/// The label that names the metric.
const NAME: &str = "__name__";
/// The attribute that has the samples.
const VALUE: &str = "value";
/// The bits of the number that says that a series has ended (`StaleNaN`).
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// `prometheus.WriteRequest`; metadata, exemplars and histograms are left out.
#[cfg(test)]
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) series: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    pub(crate) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Label {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Sample {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
    /// Milliseconds.
    #[prost(int64, tag = "2")]
    pub(crate) timestamp: i64,
}

/// What is wrong with a body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteWriteFault {
    #[error("the body is no prometheus.WriteRequest: {0}")]
    NoMessage(#[from] DecodeError),
    #[error("a message in the body is longer than the body")]
    Short,
    #[error("a series has no label `__name__`")]
    NoName,
    #[error("a label of `{0}` has no name")]
    UnnamedLabel(String),
    #[error("a series of `{0}` has the label `{1}` twice")]
    TwiceLabelled(String, String),
    #[error("a series of `{0}` has {1} labels, and the limit is {ATTRIBUTES_MAX}")]
    TooManyLabels(String, usize),
}

/// A series with the id of its entity.
#[derive(Debug)]
pub(crate) struct IdentifiedSeries {
    series: TimeSeries,
    name: String,
    id: String,
}

/// Of `prometheus.WriteRequest`.
const SERIES_TAG: u32 = 1;

/// Reads a body that is not compressed any more: series by series, so that a body of many that are wrong takes no more memory than one.
pub(crate) fn read(mut body: &[u8]) -> Result<Vec<IdentifiedSeries>, RemoteWriteFault> {
    let mut all = Vec::new();
    while !body.is_empty() {
        let (tag, wire) = decode_key(&mut body)?;
        if (tag, wire) != (SERIES_TAG, WireType::LengthDelimited) {
            skip_field(wire, tag, &mut body, DecodeContext::default())?;
            continue;
        }
        let length = decode_varint(&mut body)?;
        let part = usize::try_from(length).ok().and_then(|length| body.split_at_checked(length));
        let (series, rest) = part.ok_or(RemoteWriteFault::Short)?;
        all.push(identified(TimeSeries::decode(series)?)?);
        body = rest;
    }
    Ok(all)
}

fn identified(series: TimeSeries) -> Result<IdentifiedSeries, RemoteWriteFault> {
    let name = series.labels.iter().find(|label| label.name == NAME).map(|label| label.value.clone());
    let name = name.ok_or(RemoteWriteFault::NoName)?;
    if series.labels.len() > ATTRIBUTES_MAX {
        return Err(RemoteWriteFault::TooManyLabels(name, series.labels.len()));
    }
    let mut known = HashSet::with_capacity(series.labels.len());
    for label in &series.labels {
        if label.name.is_empty() {
            return Err(RemoteWriteFault::UnnamedLabel(name));
        }
        if !known.insert(&*label.name) {
            return Err(RemoteWriteFault::TwiceLabelled(name, label.name.clone()));
        }
    }
    let labels = series.labels.iter().filter(|label| label.name != NAME);
    let id = id_of(labels.map(|label| (&*label.name, &*label.value)));
    Ok(IdentifiedSeries { series, name, id })
}

impl IdentifiedSeries {
    /// The metric is the type, all labels are the id and attributes, the samples are the attribute `value`.
    pub(crate) fn entities(&self) -> impl Iterator<Item = TimedEntity<'_>> {
        let samples = self.series.samples.iter().filter(|sample| sample.value.to_bits() != STALE);
        samples.map(|sample| {
            let labels = self.series.labels.iter();
            let labels = labels.filter(|label| label.name != NAME && !label.name.eq_ignore_ascii_case(VALUE));
            let mut attributes = vec![attribute(VALUE, "Number", number(sample.value))];
            attributes.extend(labels.map(|label| attribute(&label.name, "Text", Json::Text(&label.value))));
            let entity =
                Entity { id: &self.id, type_name: &self.name, attributes, members: &[], is_emptied: false };
            TimedEntity { entity, time_ms: Some(sample.timestamp), time_source: TimeSource::Other }
        })
    }
}
