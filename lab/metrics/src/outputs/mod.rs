//! `--out json=FILE` and `--out csv=FILE`: each sample as a line, written by a thread of its own. A slow or full disk
//! costs lines, which are counted, and never holds up the load. A new format is a file here and a line in [`FORMATS`].

mod csv;
mod json;
mod time;
mod writer;

pub use time::TimeFormat;
pub use writer::{FileOutput, OutputEnd, QUEUED_SAMPLES_MAX};

use crate::registry::{Definition, Registry};
use crate::system_tag::SystemTags;
use crate::tag_set::TagSet;
use crate::thresholds::MetricConditions;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// The name of the standard output, as in k6.
const STDOUT: &str = "-";

/// All formats by the names that `--out NAME=…` has for them.
const FORMATS: [(&str, Parse); 2] = [("json", json::parse), ("csv", csv::parse)];

/// Reads what stands behind the name of a format.
type Parse = fn(&Asked<'_>) -> Result<OutputSpec, OutputError>;

/// What a user says of an output.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    /// All of it, for messages.
    text: &'a str,
    /// Behind the `=`.
    argument: &'a str,
    /// What `K6_CSV_TIME_FORMAT` and `K6_CSV_FILENAME` say.
    csv_time: Option<&'a str>,
    csv_file: Option<&'a str>,
}

/// An output as the command line asks for it.
#[derive(Debug, Clone)]
pub struct OutputSpec {
    format: Arc<dyn OutputFormat>,
    /// The standard output where there is none. Compressed where it ends in `.gz`.
    file: Option<PathBuf>,
}

/// How an output writes samples.
trait OutputFormat: fmt::Debug + Send + Sync {
    /// As [`FORMATS`] has it.
    fn name(&self) -> &'static str;
    fn lines(&self, context: &OutputContext) -> Box<dyn LineFormat>;
}

/// What all outputs of a run have in common.
#[derive(Debug, Clone)]
pub struct OutputContext {
    pub registry: Arc<Registry>,
    pub system_tags: SystemTags,
    /// Shown with the metrics in JSON.
    pub thresholds: Vec<MetricConditions>,
    /// The moment from which samples count their time.
    pub started_at: SystemTime,
}

#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("--out {text}: '{kind}' is not an output that is supported; json and csv are")]
    Kind { text: String, kind: String },
    #[error("--out {text}: '{part}' is none of fileName=FILE, timeFormat=FORMAT and saveInterval=TIME")]
    Part { text: String, part: String },
    #[error("--out {text}: time format '{format}' is none of {}", TimeFormat::NAMES.join(", "))]
    TimeFormat { text: String, format: String },
    #[error("cannot create {}: {source}", path.display())]
    Create { path: PathBuf, source: std::io::Error },
    #[error("cannot start the thread that writes {name}: {source}")]
    Thread { name: String, source: std::io::Error },
}

impl OutputSpec {
    /// Reads `json=FILE`, `csv=FILE`, `csv=fileName=FILE,timeFormat=rfc3339`. `csv_time` and `csv_file` are what
    /// `K6_CSV_TIME_FORMAT` and `K6_CSV_FILENAME` say.
    pub fn parse(text: &str, csv_time: Option<&str>, csv_file: Option<&str>) -> Result<Self, OutputError> {
        let (kind, argument) = text.split_once('=').unwrap_or((text, ""));
        let Some((_, parse)) = FORMATS.into_iter().find(|(name, _)| *name == kind) else {
            return Err(OutputError::Kind { text: text.to_owned(), kind: kind.to_owned() });
        };
        parse(&Asked { text, argument, csv_time, csv_file })
    }

    /// `json (FILE)`, as k6 writes it: `json(stdout)` and `csv (stdout)`.
    pub fn name(&self) -> String {
        match (&self.file, self.format.name()) {
            (Some(file), format) => format!("{format} ({})", file.display()),
            (None, "json") => "json(stdout)".to_owned(),
            (None, format) => format!("{format} (stdout)"),
        }
    }
}

fn file_of(text: &str) -> Option<PathBuf> {
    (!text.is_empty() && text != STDOUT).then(|| PathBuf::from(text))
}

/// One point of a metric, ready to be written.
#[derive(Debug, Clone, Copy)]
struct Point<'a> {
    metric: &'a str,
    /// Nanoseconds since 1970.
    unix_ns: u128,
    value: f64,
    /// What [`LineFormat::tags`] made.
    tags: &'a [u8],
    /// What [`LineFormat::metadata`] made; empty without metadata.
    metadata: &'a [u8],
}

/// How samples become lines. Tag sets are rendered once each.
trait LineFormat: Send {
    fn header(&self, _out: &mut Vec<u8>) {}
    /// A line for the first sample of a metric, where the format has one; true if it did.
    fn metric(&self, _definition: &Definition, _registry: &Registry, _out: &mut Vec<u8>) -> bool {
        false
    }
    fn tags(&self, tags: &TagSet) -> Vec<u8>;
    fn metadata(&self, metadata: &TagSet) -> Vec<u8>;
    fn point(&self, point: &Point<'_>, out: &mut Vec<u8>);
}

#[cfg(test)]
mod tests;
