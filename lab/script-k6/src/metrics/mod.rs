//! k6's metrics: samples with tags, sinks, thresholds, the summary and the outputs. Only [`binding`] knows
//! JavaScript.
//!
//! The road of a sample: a user's event → [`Recorder`] of the user's thread, which adds it up by metric and tag set →
//! [`Engine`] of the run, handed over each second → thresholds, [`summary`], [`outputs`].

pub mod binding;
mod buckets;
pub mod builtin;
pub mod engine;
pub mod groups;
pub mod outputs;
pub mod recorder;
pub mod registry;
pub mod samples;
pub mod sink;
pub mod summary;
pub mod system_tag;
pub mod tags;
pub mod thresholds;

pub use engine::Engine;
pub use recorder::{Phases, Recorder, RecorderOptions, RequestSample};
pub use registry::{Contains, Definition, Kind, MetricError, MetricId, Registry};
pub use samples::Batch;
pub use sink::Statistic;
pub use summary::{Summary, SummaryMode, SummaryOptions};
pub use system_tag::{SystemTag, SystemTags};
pub use tags::{MetadataId, RequestTags, TagSet, TagSetId, TagSets, Tags};
pub use thresholds::{Thresholds, Verdict};
