//! Reads a CSV file as batches of records. Keeps what `csv` throws away and a graph needs: the text of a record as it
//! stands in the file, and whether an empty cell was quoted (an empty text) or not (no value). What cells mean is
//! decided elsewhere.

use csv_core::{ReadFieldResult, ReadRecordResult, Reader};
use memchr::{memchr, memchr_iter};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

/// Longest record: all properties of a node take 64 MiB at most, and quotes may double them. What is longer is a quote
/// that was never closed.
const RECORD_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Records that are handed on together: one write to the graph, which others must not wait for long.
const BATCH_RECORDS: usize = 4096;
/// A batch of long records ends earlier.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
const READ_BYTES: usize = 1024 * 1024;

/// A file that is being read.
pub(crate) struct Records {
    source: BufReader<File>,
    reader: Reader,
    delimiter: u8,
    /// Lines that have ended so far.
    lines: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// Records that follow each other in the file.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    raw: Vec<u8>,
    text: Vec<u8>,
    /// Of cells, within their record's text.
    ends: Vec<usize>,
    bounds: Vec<Bounds>,
    delimiter: u8,
}

/// Where a record begins; it ends where the next one begins.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    line: u64,
    raw: usize,
    text: usize,
    ends: usize,
    is_open: bool,
}

/// One record of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'b> {
    /// The line on which it begins; the first is 1.
    pub(crate) line: u64,
    /// As it stands in the file, with the end of its line.
    pub(crate) raw: &'b [u8],
    /// The file ends within its quotes.
    pub(crate) is_open: bool,
    text: &'b [u8],
    ends: &'b [usize],
    delimiter: u8,
}

impl Records {
    pub(crate) fn open(path: &Path, delimiter: u8) -> io::Result<Self> {
        let source = BufReader::with_capacity(READ_BYTES, File::open(path)?);
        let reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Ok(Self { source, reader, delimiter, lines: 0, text: vec![0; 4096], ends: vec![0; 64] })
    }

    /// The next records; none at the end.
    pub(crate) fn batch(&mut self) -> io::Result<Option<Batch>> {
        self.up_to(BATCH_RECORDS)
    }

    /// The next record by itself.
    pub(crate) fn one(&mut self) -> io::Result<Option<Batch>> {
        self.up_to(1)
    }

    fn up_to(&mut self, records: usize) -> io::Result<Option<Batch>> {
        let mut batch = Batch { delimiter: self.delimiter, ..Batch::default() };
        while batch.bounds.len() < records && batch.raw.len() < BATCH_BYTES && self.record(&mut batch)? {}
        Ok((!batch.bounds.is_empty()).then_some(batch))
    }

    fn record(&mut self, batch: &mut Batch) -> io::Result<bool> {
        let begin = batch.raw.len();
        let (mut text, mut cells) = (0, 0);
        let mut is_at_end = false;
        loop {
            let input = self.source.fill_buf()?;
            is_at_end |= input.is_empty();
            let (result, read, written, ended) =
                self.reader.read_record(input, &mut self.text[text..], &mut self.ends[cells..]);
            batch.raw.extend_from_slice(&input[..read]);
            self.source.consume(read);
            (text, cells) = (text + written, cells + ended);
            match result {
                ReadRecordResult::InputEmpty if batch.raw.len() - begin > RECORD_BYTES_MAX => {
                    let line = self.lines + 1;
                    let what = format!(
                        "the record on line {line} has no end within {RECORD_BYTES_MAX} bytes; is a quote left open?"
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => {
                    batch.raw.truncate(begin);
                    return Ok(false);
                }
            }
        }
        let raw = &batch.raw[begin..];
        let blank = raw.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let line = self.lines + 1 + newlines(&raw[..blank]);
        self.lines += newlines(raw);
        let is_open = is_at_end && memchr_iter(b'"', raw).count() % 2 == 1;
        let (texts, ends) = (batch.text.len(), batch.ends.len());
        batch.bounds.push(Bounds { line, raw: begin + blank, text: texts, ends, is_open });
        batch.text.extend_from_slice(&self.text[..text]);
        batch.ends.extend_from_slice(&self.ends[..cells]);
        Ok(true)
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

impl Batch {
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let end = Bounds {
            line: 0,
            raw: self.raw.len(),
            text: self.text.len(),
            ends: self.ends.len(),
            is_open: false,
        };
        let nexts = self.bounds.iter().skip(1).copied().chain([end]);
        self.bounds.iter().zip(nexts).map(|(begin, next)| Record {
            line: begin.line,
            raw: &self.raw[begin.raw..next.raw],
            is_open: begin.is_open,
            text: &self.text[begin.text..next.text],
            ends: &self.ends[begin.ends..next.ends],
            delimiter: self.delimiter,
        })
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.raw.len() as u64
    }
}

impl<'b> Record<'b> {
    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many lines of the file it takes.
    pub(crate) fn lines(&self) -> u64 {
        newlines(self.raw.trim_ascii_end()) + 1
    }

    pub(crate) fn cell(&self, column: usize) -> &'b [u8] {
        let begin = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.text[begin..self.ends[column]]
    }

    /// Whether quotes stand around a cell. Only asked of empty ones.
    pub(crate) fn is_quoted(&self, column: usize) -> bool {
        if memchr(b'"', self.raw).is_none() {
            return false;
        }
        let mut reader = csv_core::ReaderBuilder::new().delimiter(self.delimiter).build();
        let (mut at, mut field) = (0, 0);
        let mut output = vec![0; self.raw.len()];
        while field < column {
            let (result, read, _) = reader.read_field(&self.raw[at..], &mut output);
            at += read;
            match result {
                ReadFieldResult::Field { .. } => field += 1,
                _ => return false,
            }
        }
        self.raw.get(at) == Some(&b'"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(u64, &[(&str, bool)])]) {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        std::fs::write(file.path(), text).expect("it can be written");
        let mut records = Records::open(file.path(), b',').expect("it is there");
        let mut found = Vec::new();
        while let Some(batch) = records.batch().expect("it can be read") {
            for record in batch.records() {
                let cell = |column| {
                    let text = record.cell(column);
                    let is_quoted = text.is_empty() && record.is_quoted(column);
                    (String::from_utf8_lossy(text).into_owned(), is_quoted)
                };
                found.push((record.line, (0..record.len()).map(cell).collect::<Vec<_>>()));
            }
        }
        let owned = |(text, is_quoted): &(&str, bool)| ((*text).to_owned(), *is_quoted);
        let expected: Vec<_> = expected
            .iter()
            .map(|(line, cells)| (*line, cells.iter().map(owned).collect::<Vec<_>>()))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn records_have_their_lines_and_tell_empty_texts_from_nothing() {
        check("", &[]);
        check("a,b\n", &[(1, &[("a", false), ("b", false)])]);
        check("a,\n\"\",x", &[(1, &[("a", false), ("", false)]), (2, &[("", true), ("x", false)])]);
        check(
            "\"a\nb\",\"\"\r\n\r\nc,\"d\"\"e\"\r\n,",
            &[
                (1, &[("a\nb", false), ("", true)]),
                (4, &[("c", false), ("d\"e", false)]),
                (5, &[("", false), ("", false)]),
            ],
        );
        check(
            "\u{feff}a,\"\"\nb,\"\",\"\"",
            &[(1, &[("a", false), ("", true)]), (2, &[("b", false), ("", true), ("", true)])],
        );
    }

    #[test]
    fn a_quote_that_is_left_open_is_seen() {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        std::fs::write(file.path(), "a,b\nc,\"d\ne,f\n").expect("it can be written");
        let batch = Records::open(file.path(), b',').and_then(|mut records| records.batch());
        let batch = batch.expect("it can be read").expect("it has records");
        let seen: Vec<_> =
            batch.records().map(|record| (record.line, record.lines(), record.is_open)).collect();
        assert_eq!(seen, [(1, 1, false), (2, 2, true)]);
    }
}
