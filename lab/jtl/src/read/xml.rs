//! XML: `<testResults>` with an element for each sample. Samples within samples, such as redirects and embedded resources, are
//! parts of those that are counted; entities that a file defines are never followed.

use super::time::milliseconds;
use super::{BUFFER_BYTES, FileFacts, ReadError, derived_success};
use crate::sample::{COLUMNS, NO_LABEL, Sample};
use quick_xml::XmlVersion;
use quick_xml::errors::{Error, SyntaxError};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

const ROOT: &str = "testResults";
/// JMeter's names of attributes, in the order of [`COLUMNS`]; empty where a column is none.
const ATTRIBUTES: [&str; COLUMNS.len()] =
    ["ts", "t", "lb", "rc", "rm", "tn", "dt", "s", "", "by", "sby", "ng", "na", "", "lt", "it", "ct"];
const TIMESTAMP: usize = 0;
const ELAPSED: usize = 1;
const SUCCESS: usize = 7;
const FAILURE_MESSAGE: usize = 8;
const URL: usize = 13;
/// Of a message or a URL; more than this no table shows.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Why an event is none of a file of samples.
enum Fault {
    OtherRoot(String),
    Message(String),
}

pub(super) fn read(
    path: &Path,
    file: File,
    mut take: impl FnMut(&Sample<'_>),
) -> Result<FileFacts, ReadError> {
    let mut reader = Reader::from_reader(BufReader::with_capacity(BUFFER_BYTES, file));
    let mut place = Place::default();
    let mut buffer = Vec::new();
    let failed = |byte, message| ReadError::Xml { path: path.to_owned(), byte, message };
    let is_cut = loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => break place.depth > 0,
            // What was being written when a run was killed.
            Err(Error::Syntax(SyntaxError::UnclosedTag | SyntaxError::UnclosedCData)) => break true,
            Err(error) => return Err(failed(reader.error_position(), error.to_string())),
            Ok(event) => place.enter(&event, &mut take).map_err(|fault| match fault {
                Fault::OtherRoot(tag) => ReadError::OtherXml { path: path.to_owned(), tag },
                Fault::Message(message) => failed(reader.buffer_position(), message),
            })?,
        }
    };
    if !place.has_root {
        return Err(failed(reader.buffer_position(), format!("it ends before <{ROOT}>")));
    }
    // Messages and URLs are elements, which stand only where there is something to say.
    (place.seen[FAILURE_MESSAGE], place.seen[URL]) = (true, true);
    let lacking = COLUMNS.into_iter().zip(place.seen).filter(|(_, is_seen)| !is_seen);
    Ok(FileFacts { lacking: lacking.map(|(column, _)| column).collect(), has_names: true, is_cut })
}

/// Where the reader is.
#[derive(Default)]
struct Place {
    /// Elements that are open.
    depth: usize,
    has_root: bool,
    sample: Option<Cells>,
    is_in_assertion: bool,
    /// Of several assertions that failed, the first one's message counts, as in CSV.
    has_message: bool,
    /// The column whose text is being read.
    column: Option<usize>,
    /// By column: whether any sample has it.
    seen: [bool; COLUMNS.len()],
}

/// The texts of a sample, by column.
#[derive(Default)]
struct Cells([Option<String>; COLUMNS.len()]);

impl Place {
    fn enter(&mut self, event: &Event<'_>, take: &mut impl FnMut(&Sample<'_>)) -> Result<(), Fault> {
        match event {
            Event::Start(tag) => {
                self.begin(tag)?;
                self.depth += 1;
            }
            Event::Empty(tag) => {
                self.begin(tag)?;
                self.end(self.depth, take)?;
            }
            Event::End(_) => {
                self.depth -= 1;
                self.end(self.depth, take)?;
            }
            Event::Text(text) => self.text(&text.xml10_content()),
            Event::CData(text) => self.text(&text.xml10_content()),
            Event::GeneralRef(name) => {
                let letter = name.resolve_char_ref().ok().flatten().map(String::from);
                let known = letter.or_else(|| resolve_xml_entity(&name.xml10_content()).map(str::to_owned));
                self.text(&known.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, tag: &BytesStart<'_>) -> Result<(), Fault> {
        let name = tag.name();
        match (self.depth, name.as_ref()) {
            (0, ROOT) => self.has_root = true,
            (0, other) => return Err(Fault::OtherRoot(other.to_owned())),
            (1, _) => {
                self.sample = Some(self.cells(tag)?);
                self.has_message = false;
            }
            (2, "assertionResult") => self.is_in_assertion = true,
            (2, "java.net.URL") => self.column = Some(URL),
            (3, "failureMessage") if self.is_in_assertion && !self.has_message => {
                self.column = Some(FAILURE_MESSAGE);
            }
            _ => {}
        }
        Ok(())
    }

    /// An element that began at a depth is over.
    fn end(&mut self, depth: usize, take: &mut impl FnMut(&Sample<'_>)) -> Result<(), Fault> {
        self.column = None;
        match depth {
            1 => {
                if let Some(cells) = self.sample.take() {
                    take(&cells.sample().map_err(Fault::Message)?);
                }
            }
            2 => self.is_in_assertion = false,
            _ => {}
        }
        Ok(())
    }

    fn cells(&mut self, tag: &BytesStart<'_>) -> Result<Cells, Fault> {
        let mut cells = Cells::default();
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| Fault::Message(error.to_string()))?;
            let name = attribute.key.as_ref();
            let Some(column) = ATTRIBUTES.iter().position(|known| *known == name) else { continue };
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| Fault::Message(error.to_string()))?;
            cells.0[column] = Some(value.into_owned());
            self.seen[column] = true;
        }
        Ok(cells)
    }

    fn text(&mut self, text: &str) {
        let (Some(column), Some(cells)) = (self.column, &mut self.sample) else { return };
        let cell = cells.0[column].get_or_insert_default();
        if cell.len() + text.len() <= TEXT_BYTES_MAX {
            cell.push_str(text);
        }
        self.has_message |= column == FAILURE_MESSAGE && !cell.is_empty();
    }
}

impl Cells {
    fn text(&self, column: usize) -> &str {
        self.0[column].as_deref().unwrap_or_default()
    }

    fn number(&self, column: usize) -> Result<u64, String> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(0);
        }
        text.parse().map_err(|_| format!("`{text}` is no number for the attribute `{}`", ATTRIBUTES[column]))
    }

    fn sample(&self) -> Result<Sample<'_>, String> {
        let needed = |column: usize| {
            self.0[column].as_deref().ok_or_else(|| {
                format!(
                    "a sample has no attribute `{}`, without which nothing can be said",
                    ATTRIBUTES[column]
                )
            })
        };
        let (timestamp, _) = (needed(TIMESTAMP)?, needed(ELAPSED)?);
        let timestamp_ms = milliseconds(timestamp.as_bytes())
            .ok_or_else(|| format!("`{timestamp}` is no time for the attribute `ts`"))?;
        let threads = |column| Ok::<_, String>(u32::try_from(self.number(column)?).unwrap_or(u32::MAX));
        let mut sample = Sample {
            timestamp_ms,
            elapsed_ms: self.number(ELAPSED)?,
            label: self.0[2].as_deref().unwrap_or(NO_LABEL).into(),
            response_code: self.text(3).into(),
            response_message: self.text(4).into(),
            thread_name: self.text(5).into(),
            data_type: self.text(6).into(),
            is_success: self.text(SUCCESS).eq_ignore_ascii_case("true"),
            failure_message: self.text(FAILURE_MESSAGE).into(),
            bytes: self.number(9)?,
            sent_bytes: self.number(10)?,
            group_threads: threads(11)?,
            all_threads: threads(12)?,
            url: self.0[URL].as_deref().map(Into::into),
            latency_ms: self.number(14)?,
            idle_ms: self.number(15)?,
            connect_ms: self.number(16)?,
        };
        if self.0[SUCCESS].is_none() {
            sample.is_success = derived_success(&sample);
        }
        Ok(sample)
    }
}
