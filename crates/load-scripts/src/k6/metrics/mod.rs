//! k6's metrics: samples with tags, sinks, thresholds, the summary and the outputs. Knows no JavaScript.
