//! What a thread recorded since it last handed over: samples added up by metric, checks, and, where the run has outputs,
//! each sample by itself.

use crate::metric::{Kind, MetricId};
use crate::tag_set::TagSet;
use crate::tags::{MetadataId, TagSetId};
use prony_model::units::Nanos;
use std::sync::Arc;

/// Samples of one metric or submetric, added up.
#[derive(Debug, Clone, PartialEq)]
pub enum Pending {
    Counter {
        count: u64,
        sum: f64,
    },
    Gauge {
        count: u64,
        last: f64,
        last_at: Nanos,
        min: f64,
        max: f64,
    },
    Rate {
        passes: u64,
        total: u64,
    },
    /// In the order in which they came.
    Trend(Vec<f64>),
}

impl Pending {
    pub const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter { count: 0, sum: 0.0 },
            Kind::Gauge => Self::Gauge { count: 0, last: 0.0, last_at: Nanos::ZERO, min: 0.0, max: 0.0 },
            Kind::Rate => Self::Rate { passes: 0, total: 0 },
            Kind::Trend => Self::Trend(Vec::new()),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, at: Nanos, value: f64) {
        match self {
            Self::Trend(values) => values.push(value),
            Self::Counter { count, sum } => {
                *count += 1;
                *sum += value;
            }
            Self::Rate { passes, total } => {
                *total += 1;
                *passes += u64::from(value != 0.0);
            }
            Self::Gauge { count, last, last_at, min, max } => {
                (*min, *max) = if *count == 0 { (value, value) } else { (min.min(value), max.max(value)) };
                *count += 1;
                (*last, *last_at) = (value, at);
            }
        }
    }

    /// Adds what another thread recorded of the same metric.
    pub(super) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Trend(values), Self::Trend(more)) => values.extend_from_slice(more),
            (Self::Counter { count, sum }, Self::Counter { count: more, sum: added }) => {
                *count += more;
                *sum += added;
            }
            (Self::Rate { passes, total }, Self::Rate { passes: passed, total: more }) => {
                *passes += passed;
                *total += more;
            }
            (own @ Self::Gauge { .. }, other @ Self::Gauge { .. }) => own.merge_gauge(other),
            (own, other) => unreachable!("{other:?} is of another kind than {own:?}"),
        }
    }

    fn merge_gauge(&mut self, other: &Self) {
        let (Self::Gauge { count, last, last_at, min, max }, Self::Gauge { count: more, .. }) =
            (&mut *self, other)
        else {
            return;
        };
        if *count == 0 {
            self.clone_from(other);
        } else if let (Self::Gauge { last: other_last, last_at: other_at, min: low, max: high, .. }, true) =
            (other, *more > 0)
        {
            *count += more;
            (*min, *max) = (min.min(*low), max.max(*high));
            if other_at >= last_at {
                (*last, *last_at) = (*other_last, *other_at);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Counter { count, .. } | Self::Gauge { count, .. } => *count == 0,
            Self::Rate { total, .. } => *total == 0,
            Self::Trend(values) => values.is_empty(),
        }
    }

    /// Empty again, with the memory that it has.
    pub fn clear(&mut self) {
        match self {
            Self::Counter { .. } => *self = Self::new(Kind::Counter),
            Self::Gauge { .. } => *self = Self::new(Kind::Gauge),
            Self::Rate { .. } => *self = Self::new(Kind::Rate),
            Self::Trend(values) => values.clear(),
        }
    }
}

/// A check of a thread, counted since the last hand-over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCount {
    /// `::outer::inner`; empty at the root.
    pub group: Arc<str>,
    pub name: Arc<str>,
    pub passes: u64,
    pub fails: u64,
    /// When it was first seen on this thread: checks are listed in that order.
    pub first_at: Nanos,
}

/// What outputs see, in the order in which it happened on the thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Sample {
        metric: MetricId,
        set: TagSetId,
        metadata: MetadataId,
        at: Nanos,
        value: f64,
    },
    /// From here on samples with this slot have this metadata.
    Metadata {
        slot: MetadataId,
        pairs: Arc<TagSet>,
    },
}

/// What a thread hands over. Its memory is used again.
#[derive(Debug, Default)]
pub struct Batch {
    /// By [`MetricId`]; shorter than the registry where the last metrics have no samples.
    pub(super) by_metric: Vec<Pending>,
    /// By the thread's slots for checks.
    pub(super) checks: Vec<CheckCount>,
    /// Groups that were entered for the first time on this thread, and when.
    pub(super) groups: Vec<(Arc<str>, Nanos)>,
    pub events: Vec<Event>,
    /// Tag sets that `events` mention and earlier batches did not, or not with this content.
    pub sets: Vec<(TagSetId, Arc<TagSet>)>,
    /// How many tag sets the thread made.
    pub(super) new_sets: u64,
}

/// The samples of a batch one by one, for outputs.
#[derive(Debug, Default)]
pub struct SampleBatch {
    /// Numbers of tag sets and metadata slots are the thread's own.
    pub thread: u32,
    pub events: Vec<Event>,
    /// Tag sets that `events` mention and earlier batches of the thread did not, or not with this content.
    pub sets: Vec<(TagSetId, Arc<TagSet>)>,
}

impl Batch {
    pub(super) fn take_samples(&mut self, thread: u32) -> SampleBatch {
        let (events, sets) = (std::mem::take(&mut self.events), std::mem::take(&mut self.sets));
        SampleBatch { thread, events, sets }
    }

    /// Empty again, with the memory that it has.
    pub fn clear(&mut self) {
        self.by_metric.iter_mut().for_each(Pending::clear);
        self.checks.clear();
        self.groups.clear();
        self.events.clear();
        self.sets.clear();
        self.new_sets = 0;
    }
}
