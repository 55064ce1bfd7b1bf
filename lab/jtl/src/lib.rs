//! JTL, the files of JMeter's samples: written as JMeter writes them, read back in one pass, and counted as its dashboard does.
//!
//! Knows neither plans nor how samples are made.

mod errors;
mod read;
mod sample;
mod statistics;
mod text;
mod timeline;
mod write;

pub use errors::ErrorCount;
pub use read::{FileFacts, ReadError, read};
pub use sample::Sample;
pub use statistics::{Apdex, Figures, Statistics};
pub use text::DASHBOARD_COLUMNS;
pub use timeline::{Graphs, Line, Timeline};
pub use write::{Format, SampleTree, WriteError, Writer, append_csv};
