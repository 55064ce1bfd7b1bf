//! Measurements as a stream: samples with tags, sinks that add them up, thresholds, and outputs that write them.
//!
//! A sample passes from a user's event to the [`Recorder`] of the user's thread, which adds it up by metric and tag set,
//! and each second from there to the [`Engine`] of the run, which holds sinks and thresholds and feeds [`outputs`].
//! Names, tags and rules are k6's.

mod buckets;
pub mod builtin;
mod engine;
mod groups;
mod metric;
pub mod outputs;
mod recorder;
mod registry;
pub mod samples;
mod sink;
mod snapshot;
mod system_tag;
mod tag_set;
mod tags;
pub mod thresholds;

pub use buckets::ERROR_MAX;
pub use engine::{Engine, SampleSink, Totals};
pub use groups::{Check, Checks, Group};
pub use metric::{Contains, Kind, MetricId};
pub use recorder::{Phases, Recorder, RecorderOptions, RequestSample};
pub use registry::{Definition, MetricError, Registry};
pub use samples::Batch;
pub use sink::{EXACT_SAMPLES_MAX, Sink, Statistic, per_second};
pub use snapshot::{MetricsSnapshot, SnapshotError};
pub use system_tag::{SystemTag, SystemTags};
pub use tag_set::TagSet;
pub use tags::{MetadataId, RequestTags, TagSetId, TagSets, Tags};
pub use thresholds::{Thresholds, Verdict};
