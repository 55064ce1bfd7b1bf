//! `--out json=FILE` and `--out csv=FILE`: each sample as a line, written by a thread of its own. A slow or full disk
//! costs lines, which are counted, and never holds up the load.

mod csv;
mod json;
mod time;
mod writer;

pub use time::TimeFormat;
pub use writer::{FileOutput, OutputEnd, QUEUED_SAMPLES_MAX};

use crate::registry::{Definition, Registry};
use crate::system_tag::SystemTags;
use crate::tags::TagSet;
use crate::thresholds::MetricConditions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// The name of the standard output, as in k6.
const STDOUT: &str = "-";

/// An output as the command line asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    pub format: OutputFormat,
    /// The standard output where there is none. Compressed where it ends in `.gz`.
    pub file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    Json,
    Csv { time: TimeFormat },
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
        match kind {
            "json" => Ok(Self { format: OutputFormat::Json, file: file_of(argument) }),
            "csv" => parse_csv(text, argument, csv_time, csv_file),
            _ => Err(OutputError::Kind { text: text.to_owned(), kind: kind.to_owned() }),
        }
    }

    /// `json (FILE)`
    pub fn name(&self) -> String {
        let format = match self.format {
            OutputFormat::Json => "json",
            OutputFormat::Csv { .. } => "csv",
        };
        let file = self.file.as_ref().map_or("stdout".to_owned(), |file| file.display().to_string());
        format!("{format} ({file})")
    }
}

fn file_of(text: &str) -> Option<PathBuf> {
    (!text.is_empty() && text != STDOUT).then(|| PathBuf::from(text))
}

fn parse_csv(
    text: &str,
    argument: &str,
    time: Option<&str>,
    file: Option<&str>,
) -> Result<OutputSpec, OutputError> {
    // k6's own default for a `csv` without a file.
    let (mut file, mut time) = (file.unwrap_or("file.csv"), time.unwrap_or(TimeFormat::NAMES[0]));
    if argument.contains('=') {
        for part in argument.split(',') {
            match part.split_once('=') {
                Some(("fileName", value)) => file = value,
                Some(("timeFormat", value)) => time = value,
                // Lines are written as they come.
                Some(("saveInterval", _)) => {}
                _ => return Err(OutputError::Part { text: text.to_owned(), part: part.to_owned() }),
            }
        }
    } else if !argument.is_empty() {
        file = argument;
    }
    let time = TimeFormat::from_name(time)
        .ok_or_else(|| OutputError::TimeFormat { text: text.to_owned(), format: time.to_owned() })?;
    Ok(OutputSpec { format: OutputFormat::Csv { time }, file: file_of(file) })
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

impl OutputFormat {
    fn lines(self, context: &OutputContext) -> Box<dyn LineFormat> {
        match self {
            Self::Json => Box::new(json::JsonLines::new(context.thresholds.clone())),
            Self::Csv { time } => Box::new(csv::CsvLines::new(context.system_tags, time)),
        }
    }
}

#[cfg(test)]
mod tests;
