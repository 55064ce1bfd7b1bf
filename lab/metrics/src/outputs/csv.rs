//! Lines of CSV: a column for each system tag of the run, the other tags and the metadata in one column each.

use super::time::TimeFormat;
use super::{Asked, LineFormat, OutputContext, OutputError, OutputFormat, OutputSpec, Point, file_of};
use crate::system_tag::{SystemTag, SystemTags};
use crate::tag_set::TagSet;
use csv::{QuoteStyle, WriterBuilder};
use std::io::Write as _;
use std::sync::Arc;

/// k6's own default for a `csv` without a file.
const FILE_DEFAULT: &str = "file.csv";

#[derive(Debug)]
pub(super) struct Csv {
    pub(super) time: TimeFormat,
}

impl OutputFormat for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn lines(&self, context: &OutputContext) -> Box<dyn LineFormat> {
        Box::new(CsvLines::new(context.system_tags, self.time))
    }
}

/// `FILE`, or `fileName=FILE,timeFormat=rfc3339`.
pub(super) fn parse(asked: &Asked<'_>) -> Result<OutputSpec, OutputError> {
    let text = asked.text;
    let mut file = asked.csv_file.unwrap_or(FILE_DEFAULT);
    let mut time = asked.csv_time.unwrap_or(TimeFormat::NAMES[0]);
    if asked.argument.contains('=') {
        for part in asked.argument.split(',') {
            match part.split_once('=') {
                Some(("fileName", value)) => file = value,
                Some(("timeFormat", value)) => time = value,
                // Lines are written as they come.
                Some(("saveInterval", _)) => {}
                _ => return Err(OutputError::Part { text: text.to_owned(), part: part.to_owned() }),
            }
        }
    } else if !asked.argument.is_empty() {
        file = asked.argument;
    }
    let time = TimeFormat::from_name(time)
        .ok_or_else(|| OutputError::TimeFormat { text: text.to_owned(), format: time.to_owned() })?;
    Ok(OutputSpec { format: Arc::new(Csv { time }), file: file_of(file) })
}

#[derive(Debug)]
struct CsvLines {
    /// Sorted.
    columns: Vec<&'static str>,
    time: TimeFormat,
}

impl CsvLines {
    fn new(system_tags: SystemTags, time: TimeFormat) -> Self {
        let mut columns: Vec<&str> =
            system_tags.iter().filter(|tag| !tag.is_metadata()).map(SystemTag::as_str).collect();
        columns.sort_unstable();
        Self { columns, time }
    }

    fn others(&self, tags: &TagSet) -> String {
        let others = tags.iter().filter(|(name, _)| !self.columns.contains(name));
        others.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }
}

impl LineFormat for CsvLines {
    fn header(&self, out: &mut Vec<u8>) {
        let first = ["metric_name", "timestamp", "metric_value"];
        let cells = first.iter().chain(&self.columns).chain(&["extra_tags", "metadata"]);
        writeln!(out, "{}", cells.copied().collect::<Vec<_>>().join(",")).expect("memory can be written");
    }

    fn tags(&self, tags: &TagSet) -> Vec<u8> {
        let others = self.others(tags);
        let columns = self.columns.iter().map(|name| tags.get(name).unwrap_or_default());
        cells(columns.chain([others.as_str()]))
    }

    fn metadata(&self, metadata: &TagSet) -> Vec<u8> {
        let pairs = metadata.iter().map(|(name, value)| format!("{name}={value}"));
        cells([pairs.collect::<Vec<_>>().join("&").as_str()])
    }

    fn point(&self, point: &Point<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(point.metric.as_bytes());
        out.push(b',');
        self.time.write(point.unix_ns, out);
        write!(out, ",{:.6},", point.value).expect("memory can be written");
        out.extend_from_slice(point.tags);
        out.push(b',');
        out.extend_from_slice(point.metadata);
        out.push(b'\n');
    }
}

/// Part of a line, without its end.
fn cells<'a>(cells: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut writer = WriterBuilder::new().quote_style(QuoteStyle::Necessary).from_writer(Vec::new());
    let mut cells: Vec<&str> = cells.into_iter().collect();
    // A line of one empty cell would be quoted; a second cell, cut off again, keeps it empty.
    cells.push("");
    writer.write_record(cells).expect("memory can be written");
    let mut line = writer.into_inner().expect("memory can be written");
    line.truncate(line.len() - ",\n".len());
    line
}
