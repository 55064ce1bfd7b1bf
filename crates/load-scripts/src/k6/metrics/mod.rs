//! k6's metrics: samples with tags, sinks, thresholds, the summary and the outputs. Knows no JavaScript.
//!
//! The road of a sample: a user's event → [`Recorder`] of the user's thread, which adds it up by metric and tag set →
//! the run's engine, handed over each second.

pub mod builtin;
pub mod recorder;
pub mod registry;
pub mod samples;
pub mod system_tag;
pub mod tags;

pub use recorder::{Phases, Recorder, RecorderOptions, RequestSample};
pub use registry::{Contains, Definition, Kind, MetricError, MetricId, Registry};
pub use samples::Batch;
pub use system_tag::{SystemTag, SystemTags};
pub use tags::{MetadataId, RequestTags, TagSet, TagSetId, TagSets, Tags};
