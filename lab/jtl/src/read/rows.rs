//! CSV: rows with columns in any order and number, cells with commas and line ends.

use super::time::milliseconds;
use super::{BUFFER_BYTES, FileFacts, ReadError, derived_success};
use crate::sample::{COLUMNS, NO_LABEL, Sample};
use csv::{ByteRecord, ReaderBuilder};
use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

/// Without these nothing can be said, with the settings that write them.
const NEEDED: [(&str, &str); 2] = [("timeStamp", "timestamp_format=ms"), ("elapsed", "time=true")];

/// Where each of JMeter's columns stands in this file.
struct Places([Option<usize>; COLUMNS.len()]);

pub(super) fn read(
    path: &Path,
    file: File,
    first_line: &[u8],
    ends_line: bool,
    mut take: impl FnMut(&Sample<'_>),
) -> Result<FileFacts, ReadError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter(first_line))
        .buffer_capacity(BUFFER_BYTES)
        .from_reader(file);
    let mut record = ByteRecord::new();
    let csv_failed = |cause| ReadError::Csv { path: path.to_owned(), cause };
    if !reader.read_byte_record(&mut record).map_err(csv_failed)? {
        return Err(ReadError::Empty { path: path.to_owned() });
    }
    let (places, has_names) = Places::of(path, &record)?;
    let width = record.len();
    let mut is_row = !has_names || reader.read_byte_record(&mut record).map_err(csv_failed)?;
    while is_row {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != width {
            let found = record.len();
            // What was being written when a run was killed.
            if !ends_line && !reader.read_byte_record(&mut record).map_err(csv_failed)? {
                return Ok(FileFacts { is_cut: true, ..places.facts(has_names) });
            }
            return Err(ReadError::Cells { path: path.to_owned(), line, found, expected: width });
        }
        let number = |column: usize, text: &str| ReadError::Number {
            path: path.to_owned(),
            line,
            column: COLUMNS[column],
            text: text.to_owned(),
        };
        take(&places.sample(&record).map_err(|(column, text)| number(column, &text))?);
        is_row = reader.read_byte_record(&mut record).map_err(csv_failed)?;
    }
    Ok(places.facts(has_names))
}

/// What stands between the cells, as the first line shows.
fn delimiter(first_line: &[u8]) -> u8 {
    let count = |byte: u8| memchr::memchr_iter(byte, first_line).count();
    let best = [b',', b';', b'\t', b'|'].into_iter().max_by_key(|byte| (count(*byte), *byte == b','));
    best.unwrap_or(b',')
}

impl Places {
    /// And whether the first line holds names; without them it is a row with all of JMeter's columns, in JMeter's order.
    fn of(path: &Path, header: &ByteRecord) -> Result<(Self, bool), ReadError> {
        let names: Vec<Cow<'_, str>> = header.iter().map(String::from_utf8_lossy).collect();
        let first =
            names.first().map(|name| name.trim_start_matches('\u{feff}').to_owned()).unwrap_or_default();
        // A file without names begins with the time of its first sample.
        let is_row = milliseconds(first.as_bytes()).is_some();
        if is_row && header.len() == COLUMNS.len() {
            return Ok((Self(std::array::from_fn(Some)), false));
        }
        let is_known = |name: &Cow<'_, str>| COLUMNS.contains(&name.trim_start_matches('\u{feff}').trim());
        if is_row || !names.iter().any(is_known) {
            return Err(ReadError::Headerless { path: path.to_owned(), first });
        }
        let place =
            |column: &str| names.iter().position(|name| name.trim_start_matches('\u{feff}').trim() == column);
        for (column, setting) in NEEDED {
            if place(column).is_none() {
                return Err(ReadError::Column { path: path.to_owned(), column, setting });
            }
        }
        Ok((Self(COLUMNS.map(place)), true))
    }

    fn facts(&self, has_names: bool) -> FileFacts {
        let lacking = COLUMNS.into_iter().zip(&self.0).filter(|(_, place)| place.is_none());
        FileFacts { lacking: lacking.map(|(column, _)| column).collect(), has_names, is_cut: false }
    }

    /// A row; or the column and the text that is no number.
    fn sample<'a>(&self, record: &'a ByteRecord) -> Result<Sample<'a>, (usize, String)> {
        let cell = |column: usize| self.0[column].and_then(|place| record.get(place)).unwrap_or_default();
        let text = |column: usize| String::from_utf8_lossy(cell(column));
        let number = |column: usize| number(cell(column)).ok_or_else(|| (column, text(column).into_owned()));
        let unsigned = |column: usize| Ok(u64::try_from(number(column)?).unwrap_or(0));
        let timestamp_ms = milliseconds(cell(0)).ok_or_else(|| (0, text(0).into_owned()))?;
        let mut sample = Sample {
            timestamp_ms,
            elapsed_ms: unsigned(1)?,
            label: if self.0[2].is_some() { text(2) } else { NO_LABEL.into() },
            response_code: text(3),
            response_message: text(4),
            thread_name: text(5),
            data_type: text(6),
            is_success: cell(7).eq_ignore_ascii_case(b"true"),
            failure_message: text(8),
            bytes: unsigned(9)?,
            sent_bytes: unsigned(10)?,
            group_threads: u32::try_from(unsigned(11)?).unwrap_or(u32::MAX),
            all_threads: u32::try_from(unsigned(12)?).unwrap_or(u32::MAX),
            url: Some(text(13)).filter(|url| !url.is_empty() && url != "null"),
            latency_ms: unsigned(14)?,
            idle_ms: unsigned(15)?,
            connect_ms: unsigned(16)?,
        };
        if self.0[7].is_none() {
            sample.is_success = derived_success(&sample);
        }
        Ok(sample)
    }
}

/// An empty cell is 0: a column that was not written.
fn number(cell: &[u8]) -> Option<i64> {
    if cell.is_empty() { Some(0) } else { super::time::whole(cell) }
}
