//! Errors by kind: what a sample failed with, and how often each came.

use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kinds of their own; messages with numbers of their own would be without end.
const KINDS_MAX: usize = 1_000;
const OTHER: &str = "(other errors)";

/// One kind of error and how often it came.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorCount {
    pub error: String,
    pub count: u64,
    pub percent_of_errors: f64,
    pub percent_of_samples: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errors(BTreeMap<String, u64>);

impl Errors {
    pub(crate) fn add(&mut self, error: &str) {
        self.add_many(error, 1);
    }

    fn add_many(&mut self, error: &str, count: u64) {
        if let Some(known) = self.0.get_mut(error) {
            *known += count;
            return;
        }
        let name = if self.0.len() >= KINDS_MAX { OTHER } else { error };
        *self.0.entry(name.to_owned()).or_insert(0) += count;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(error, count)| self.add_many(error, *count));
    }

    pub(crate) fn most(&self, most: usize, failures: u64, samples: u64) -> Vec<ErrorCount> {
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by(|a, b| b.1.cmp(a.1));
        let percent = |count: u64, of: u64| if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 };
        let counted = sorted.into_iter().take(most).map(|(error, count)| ErrorCount {
            error: error.clone(),
            count: *count,
            percent_of_errors: percent(*count, failures),
            percent_of_samples: percent(*count, samples),
        });
        counted.collect()
    }
}

/// As JMeter's dashboard names it: the status with its message, or what an assertion said.
pub(crate) fn error_of(sample: &Sample<'_>) -> String {
    let is_good = sample.response_code.parse::<u16>().is_ok_and(|code| (200..400).contains(&code));
    let is_assertion = !sample.failure_message.is_empty() && (is_good || sample.response_code.is_empty());
    if is_assertion {
        return sample.failure_message.clone().into_owned();
    }
    if is_good {
        return "Assertion failed".to_owned();
    }
    if sample.response_message.is_empty() {
        return sample.response_code.clone().into_owned();
    }
    format!("{}/{}", sample.response_code, sample.response_message)
}
