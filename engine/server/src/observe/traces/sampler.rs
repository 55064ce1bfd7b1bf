//! Which requests are traced (OpenTelemetry, Trace SDK, "Built-in samplers"): those of clients who trace them, and a share of the
//! others, by the number of the trace, so that all servers choose the same.

use prony_source::trace::{TraceId, TraceParent};

/// Of the 63 bits by which it is decided.
const ALL: u64 = 1 << 63;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sampler {
    /// Traces with lower numbers are sampled.
    bound: u64,
    follows_parent: bool,
}

impl Sampler {
    /// `ratio` is from 0 to 1.
    pub(super) fn new(ratio: f64, follows_parent: bool) -> Self {
        Self { bound: (ratio * ALL as f64) as u64, follows_parent }
    }

    /// Whether a request is traced whose client has said this of its trace, or nothing.
    pub(super) fn samples(&self, parent: Option<&TraceParent>, id: TraceId) -> bool {
        match parent {
            Some(parent) if self.follows_parent => parent.is_sampled,
            _ => id.0 as u64 >> 1 < self.bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_source::trace::SpanId;

    use super::*;

    fn parent(trace: u128, is_sampled: bool) -> TraceParent {
        TraceParent { trace: TraceId(trace), span: SpanId(1), is_sampled }
    }

    #[test]
    fn a_share_is_chosen_by_the_lower_half_of_the_number() {
        let number = |low: u64| TraceId(7 << 64 | u128::from(low));
        for (ratio, low, expected) in [
            (1.0, u64::MAX, true),
            (0.0, 0, false),
            (0.5, (1 << 63) - 1, true),
            (0.5, 1 << 63, false),
            (0.01, u64::MAX / 200, true),
            (0.01, u64::MAX / 50, false),
        ] {
            assert_eq!(Sampler::new(ratio, true).samples(None, number(low)), expected, "{ratio} {low}");
        }
    }

    #[test]
    fn a_client_decides_where_that_is_wanted() {
        let low = TraceId(1);
        for (ratio, is_sampled) in [(0.0, true), (1.0, false), (1.0, true), (0.0, false)] {
            let parent = parent(low.0, is_sampled);
            assert_eq!(Sampler::new(ratio, true).samples(Some(&parent), low), is_sampled);
            assert_eq!(Sampler::new(ratio, false).samples(Some(&parent), low), ratio > 0.5);
        }
    }
}
