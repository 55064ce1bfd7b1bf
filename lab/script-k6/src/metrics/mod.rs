//! The module `k6/metrics` and the summary of a run, over the samples and sinks of `prony_metrics`.

pub(crate) mod binding;
pub(crate) mod summary;
