//! Reads files of results in one pass: rows of any order of columns, cells with commas and line ends, gigabytes of them.

use crate::sample::{COLUMNS, Sample};
use csv::{ByteRecord, ReaderBuilder};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// What is read at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Without these nothing can be said.
const NEEDED: [&str; 4] = ["timeStamp", "elapsed", "label", "success"];

/// Why a file cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}: {cause}", .path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("{} is empty: it has no line with the names of columns", .path.display())]
    Empty { path: PathBuf },
    #[error(
        "{}: the first line has no names of columns, it begins with `{first}`; write the file again with \
         -Jjmeter.save.saveservice.print_field_names=true, or put this line before it:\n{}", .path.display(), COLUMNS.join(",")
    )]
    Headerless { path: PathBuf, first: String },
    #[error("{}: the column `{column}` is missing; write the file again with -Jjmeter.save.saveservice.{setting}", .path.display())]
    Column { path: PathBuf, column: &'static str, setting: &'static str },
    #[error(
        "{} is XML; rows are read as CSV: write the file again with -Jjmeter.save.saveservice.output_format=csv", .path.display()
    )]
    Xml { path: PathBuf },
    #[error("{}:{line}: `{text}` is no number for `{column}`; write times as milliseconds: -Jjmeter.save.saveservice.timestamp_format=ms", .path.display())]
    Number { path: PathBuf, line: u64, column: &'static str, text: String },
    #[error("{}:{line}: the row has {found} cells and the first line {expected}; look for a quote that is not closed", .path.display())]
    Cells { path: PathBuf, line: u64, found: usize, expected: usize },
    #[error("{}: {cause}", .path.display())]
    Csv { path: PathBuf, cause: csv::Error },
}

/// Where each of JMeter's columns stands in this file.
struct Places([Option<usize>; COLUMNS.len()]);

/// Gives each row to `take`, in the file's order; memory does not grow with the file.
pub fn read(path: &Path, mut take: impl FnMut(&Sample<'_>)) -> Result<(), ReadError> {
    let failed = |cause| ReadError::Io { path: path.to_owned(), cause };
    let mut file = File::open(path).map_err(failed)?;
    let delimiter = delimiter(path, &mut file)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(BUFFER_BYTES)
        .from_reader(file);
    let mut record = ByteRecord::new();
    let csv_failed = |cause| ReadError::Csv { path: path.to_owned(), cause };
    if !reader.read_byte_record(&mut record).map_err(csv_failed)? {
        return Err(ReadError::Empty { path: path.to_owned() });
    }
    let (places, width) = (Places::of(path, &record)?, record.len());
    while reader.read_byte_record(&mut record).map_err(csv_failed)? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != width {
            return Err(ReadError::Cells {
                path: path.to_owned(),
                line,
                found: record.len(),
                expected: width,
            });
        }
        let number = |column: usize, text: &str| ReadError::Number {
            path: path.to_owned(),
            line,
            column: COLUMNS[column],
            text: text.to_owned(),
        };
        take(&places.sample(&record).map_err(|(column, text)| number(column, &text))?);
    }
    Ok(())
}

/// What stands between the cells, as the first line shows; files that are none of ours are refused by their beginning.
fn delimiter(path: &Path, file: &mut File) -> Result<u8, ReadError> {
    let failed = |cause| ReadError::Io { path: path.to_owned(), cause };
    let mut begin = [0; 4_096];
    let count = file.read(&mut begin).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let begin = &begin[..count];
    let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
    if text.trim_ascii_start().starts_with(b"<") {
        return Err(ReadError::Xml { path: path.to_owned() });
    }
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |byte: u8| memchr::memchr_iter(byte, line).count();
    let best = [b',', b';', b'\t', b'|'].into_iter().max_by_key(|byte| (count(*byte), *byte == b','));
    Ok(best.unwrap_or(b','))
}

impl Places {
    fn of(path: &Path, header: &ByteRecord) -> Result<Self, ReadError> {
        let names: Vec<Cow<'_, str>> = header.iter().map(String::from_utf8_lossy).collect();
        let first =
            names.first().map(|name| name.trim_start_matches('\u{feff}').to_owned()).unwrap_or_default();
        // A file without names begins with the time of its first sample.
        let is_row = first.bytes().all(|byte| byte.is_ascii_digit());
        let is_known = |name: &Cow<'_, str>| COLUMNS.contains(&name.trim_start_matches('\u{feff}').trim());
        if is_row || !names.iter().any(is_known) {
            return Err(ReadError::Headerless { path: path.to_owned(), first });
        }
        let place =
            |column: &str| names.iter().position(|name| name.trim_start_matches('\u{feff}').trim() == column);
        for (column, setting) in
            NEEDED.into_iter().zip(["timestamp_format=ms", "time=true", "label=true", "successful=true"])
        {
            if place(column).is_none() {
                return Err(ReadError::Column { path: path.to_owned(), column, setting });
            }
        }
        Ok(Self(COLUMNS.map(place)))
    }

    /// A row; or the column and the text that is no number.
    fn sample<'a>(&self, record: &'a ByteRecord) -> Result<Sample<'a>, (usize, String)> {
        let cell = |column: usize| self.0[column].and_then(|place| record.get(place)).unwrap_or_default();
        let text = |column: usize| String::from_utf8_lossy(cell(column));
        let number = |column: usize| number(cell(column)).ok_or_else(|| (column, text(column).into_owned()));
        let unsigned = |column: usize| Ok(u64::try_from(number(column)?).unwrap_or(0));
        Ok(Sample {
            timestamp_ms: number(0)?,
            elapsed_ms: unsigned(1)?,
            label: text(2),
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
        })
    }
}

/// An empty cell is 0: a column that was not written.
fn number(cell: &[u8]) -> Option<i64> {
    if cell.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match cell.split_first() {
        Some((b'-', rest)) => (-1, rest),
        _ => (1, cell),
    };
    let value = digits.iter().try_fold(0_i64, |value, byte| {
        byte.is_ascii_digit().then(|| value.wrapping_mul(10).wrapping_add(i64::from(byte - b'0')))
    });
    value.filter(|_| !digits.is_empty()).map(|value| sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn check(text: &str, expected: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jtl");
        std::fs::write(&path, text).unwrap();
        let mut out = String::new();
        let mut statistics = Statistics::default();
        let read = read(&path, |sample| {
            statistics.add(sample);
            let _ = writeln!(
                out,
                "{} {} {:?} {} {:?} {} {:?}",
                sample.timestamp_ms,
                sample.elapsed_ms,
                sample.label,
                sample.is_success,
                sample.failure_message,
                sample.bytes,
                sample.url
            );
        });
        if let Err(error) = read {
            out = error.to_string().replace(&folder.path().display().to_string(), "DIR") + "\n";
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn cells_may_hold_commas_and_lines_and_columns_any_order() {
        check(
            "label,elapsed,timeStamp,success,failureMessage\n\"a, b\",5,1000,true,\nc,7,1003,false,\"two\nlines, \"\"q\"\"\"\n",
            &expect![[r#"
                1000 5 "a, b" true "" 0 None
                1003 7 "c" false "two\nlines, \"q\"" 0 None
            "#]],
        );
        check(
            "timeStamp;elapsed;label;success;bytes;URL\r\n1;2;x;true;9;http://h/\r\n",
            &expect![[r#"
            1 2 "x" true "" 9 Some("http://h/")
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_reported_says_how_to_write_it() {
        check(
            "",
            &expect![[r#"
            DIR/a.jtl is empty: it has no line with the names of columns
        "#]],
        );
        check(
            "1700000000000,5,label,200,OK\n",
            &expect![[r#"
            DIR/a.jtl: the first line has no names of columns, it begins with `1700000000000`; write the file again with -Jjmeter.save.saveservice.print_field_names=true, or put this line before it:
            timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect
        "#]],
        );
        check(
            "timeStamp,label,success\n",
            &expect![[r#"
            DIR/a.jtl: the column `elapsed` is missing; write the file again with -Jjmeter.save.saveservice.time=true
        "#]],
        );
        check(
            "<?xml version=\"1.0\"?>\n",
            &expect![[r#"
            DIR/a.jtl is XML; rows are read as CSV: write the file again with -Jjmeter.save.saveservice.output_format=csv
        "#]],
        );
        check(
            "timeStamp,elapsed,label,success\n2026/01/01,5,a,true\n",
            &expect![[r#"
            DIR/a.jtl:2: `2026/01/01` is no number for `timeStamp`; write times as milliseconds: -Jjmeter.save.saveservice.timestamp_format=ms
        "#]],
        );
        check(
            "timeStamp,elapsed,label,success\n1,5,a\n",
            &expect![[r#"
            DIR/a.jtl:2: the row has 3 cells and the first line 4; look for a quote that is not closed
        "#]],
        );
    }
}
