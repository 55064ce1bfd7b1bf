//! One metric as it is read: its name, what it counts, and a value for each set of labels.

use std::fmt;

use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};

/// One metric with its samples.
#[derive(Debug)]
pub(super) struct Family<T> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) samples: Vec<(Labels, T)>,
}

impl<T> Family<T> {
    pub(super) fn new(name: &'static str, help: &'static str, samples: Vec<(Labels, T)>) -> Self {
        Self { name, help, samples }
    }
}

pub(super) fn single(name: &'static str, help: &'static str, value: f64) -> Family<f64> {
    Family::new(name, help, vec![(labels(&[]), value)])
}

#[derive(Debug, Clone)]
pub(super) struct Labels(pub(super) Vec<(&'static str, String)>);

pub(super) fn labels(pairs: &[(&'static str, &str)]) -> Labels {
    Labels(pairs.iter().map(|&(name, value)| (name, value.to_owned())).collect())
}

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let pairs: Vec<(&str, &str)> = self.0.iter().map(|(name, value)| (*name, value.as_str())).collect();
        pairs.as_slice().encode(encoder)
    }
}
