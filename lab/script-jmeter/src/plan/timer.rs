//! Timers as the plan has them; how long they wait is found where they run.

use super::Script;
use crate::text::Text;

#[derive(Debug)]
pub(crate) enum Timer {
    Constant {
        delay_ms: Text,
    },
    /// `delay_ms` and up to `range_ms` more.
    Uniform {
        delay_ms: Text,
        range_ms: Text,
    },
    Gaussian {
        delay_ms: Text,
        deviation_ms: Text,
    },
    Poisson {
        delay_ms: Text,
        lambda_ms: Text,
    },
    Throughput {
        per_minute: Text,
        mode: ThroughputMode,
        site: u32,
    },
    Precise {
        count: Text,
        period_s: Text,
        site: u32,
    },
    /// Rates in stages, each with starts a second at its begin, at its end, and its seconds; behind the last one its users end.
    Shaping {
        stages: Vec<[Text; 3]>,
        site: u32,
    },
    Synchronizing {
        size: Text,
        timeout_ms: Text,
        site: u32,
    },
    Script(Script),
}

impl Timer {
    /// Its place, where users count together at it.
    pub(crate) const fn site(&self) -> Option<u32> {
        match self {
            Self::Throughput { site, .. }
            | Self::Precise { site, .. }
            | Self::Shaping { site, .. }
            | Self::Synchronizing { site, .. } => Some(*site),
            _ => None,
        }
    }
}

/// Who shares the throughput of a `ConstantThroughputTimer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThroughputMode {
    ThisThread,
    /// Divided by the users that are active; of all groups or of this one.
    AllActive {
        in_group: bool,
    },
    /// One rhythm for all.
    Shared {
        in_group: bool,
    },
}
