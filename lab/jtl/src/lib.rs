//! JTL, the files of JMeter's samples: written as JMeter writes them, read back in one pass, and counted as its dashboard does.
//!
//! Knows neither plans nor how samples are made.

mod errors;
mod read;
mod sample;
mod statistics;
mod text;
mod write;

pub use errors::ErrorCount;
pub use read::{ReadError, read};
pub use sample::Sample;
pub use statistics::{Apdex, Figures, Statistics};
pub use write::{Format, WriteError, Writer};
