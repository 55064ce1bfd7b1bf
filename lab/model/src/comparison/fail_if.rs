//! `--fail-if 'p99 worse than 5%'`: reading it, and judging a comparison by it.

use super::{Compared, Comparison, PAIRS_MIN, Scale, name};
use crate::verdict::rule::Belief;
use crate::verdict::threshold::Metric;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much worse than A a figure of B may be.
#[derive(Debug, Clone, PartialEq)]
pub struct FailIf {
    pub metric: Metric,
    /// A share of A's figure; of errors, the share of requests that fail in B and not in A.
    pub worse_than: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no condition: {reason}; write for example `p99 worse than 5%`, with throughput, mean, errors or a percentile"
)]
pub struct FailIfError {
    pub text: String,
    pub reason: String,
}

/// What a comparison says of one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailVerdict {
    pub condition: String,
    pub failure: Failure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The whole interval is worse by more than is allowed.
    Shown,
    /// The whole interval is within what is allowed.
    Excluded,
    /// The interval holds both, or there are too few runs for one: more runs would tell.
    Open,
    /// Runs cannot be believed in this figure, or have too few samples for it.
    Void,
}

impl FailIf {
    pub fn parse(text: &str) -> Result<Self, FailIfError> {
        let fault = |reason: String| FailIfError { text: text.to_owned(), reason };
        let words: Vec<_> = text.split_whitespace().collect();
        let [figure, "worse", "than", amount @ ..] = words.as_slice() else {
            return Err(fault("it has not the form `FIGURE worse than N%`".to_owned()));
        };
        let metric = parse_metric(figure).ok_or_else(|| fault(format!("unknown figure `{figure}`")))?;
        let amount = amount.concat();
        let percent = amount.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..1_000.0).contains(percent));
        let percent = percent.ok_or_else(|| fault(format!("`{amount}` is not a share such as `5%`")))?;
        Ok(Self { metric, worse_than: percent / 100.0 })
    }

    pub fn judge(&self, comparison: &Comparison, belief: Belief) -> FailVerdict {
        let figure = comparison.figure(self.metric);
        let failure = match figure.map(|figure| (figure, figure.interval)) {
            _ if !belief.compares(self.metric) => Failure::Void,
            Some((figure, Some(interval))) => self.judge_interval(figure, interval),
            // More runs that are as short do not have it either.
            None if comparison.pairs >= PAIRS_MIN => Failure::Void,
            Some((_, None)) | None => Failure::Open,
        };
        FailVerdict { condition: self.to_string(), failure }
    }

    fn judge_interval(&self, figure: &Compared, (low, high): (f64, f64)) -> Failure {
        // By how much B is worse, at best and at worst.
        let (best, worst) = match figure.scale {
            Scale::Difference => (low, high),
            Scale::Ratio if self.metric == Metric::Rate => (1.0 - high, 1.0 - low),
            Scale::Ratio => (low - 1.0, high - 1.0),
        };
        if best > self.worse_than {
            Failure::Shown
        } else if worst <= self.worse_than {
            Failure::Excluded
        } else {
            Failure::Open
        }
    }
}

pub(super) fn parse_metric(word: &str) -> Option<Metric> {
    match word {
        "throughput" | "rate" => Some(Metric::Rate),
        "mean" => Some(Metric::Mean),
        "errors" => Some(Metric::Errors),
        _ => {
            let percentile: f64 = word.strip_prefix('p')?.parse().ok()?;
            (0.0..=100.0).contains(&percentile).then_some(Metric::Percentile(percentile))
        }
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A percentage of a percentage may have digits that nobody wrote.
        let percent = (self.worse_than * 1e8).round() / 1e6;
        write!(f, "{} worse than {percent}%", name(self.metric))
    }
}
