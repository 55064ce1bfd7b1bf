//! What goes on with each pass of a controller: rows of CSV files, counters, random variables, user parameters.

use crate::encodings;
use crate::plan::{Counter, CsvDataSet, IterationConfig, RandomVariable, Sharing, UserParameters};
use crate::run::context::{Context, Count};
use crate::run::decimal_format::formatted;
use crate::run::locks::lock;
use crate::run::turns::Turns;
use rand::RngExt as _;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A row longer than this is no row: a quote was left open.
const ROW_BYTES_MAX: usize = 16 << 20;
const END_OF_FILE: &str = "<EOF>";
/// Texts for the columns of one file that are kept: more of them are made anew by functions each time.
const NAMINGS_MAX: usize = 16;

/// The files of all CSV data sets, by who shares them.
#[derive(Debug, Default)]
pub(crate) struct DataSets {
    sources: Mutex<FxHashMap<String, DataFile>>,
    /// What counters that all users share have given last, by their places.
    counters: Mutex<FxHashMap<u32, i64>>,
    turns: DataTurns,
}

/// Whose turn it is to be given a row or a number that many users share.
#[derive(Debug, Default)]
pub(crate) struct DataTurns {
    /// By [`source_of`]: of the users whose groups read the file.
    pub(crate) of_files: FxHashMap<String, Turns>,
    /// Where it is not known beforehand who draws.
    pub(crate) of_machines: Turns,
}

#[derive(Debug)]
struct DataFile {
    path: PathBuf,
    reader: BufReader<File>,
    /// The first line, where it is no row.
    header: Option<String>,
    /// By the texts with which the data sets that read the file name its columns.
    names: Vec<(String, Vec<String>)>,
    /// The cells that were read last, and the bytes of their line.
    row: Vec<String>,
    line: Vec<u8>,
    turns: Turns,
    /// Rows that were given here, and that were read: those of other machines are passed over.
    given: u64,
    read: u64,
}

/// Whether the user goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Going {
    On,
    /// Its data is at the end, and the plan says so.
    StopThread,
    /// A file cannot be read: the run cannot be what the plan means.
    Fail(String),
}

impl DataSets {
    pub(crate) fn new(turns: DataTurns) -> Self {
        Self { turns, ..Self::default() }
    }

    pub(crate) fn go_on(&self, config: &IterationConfig, user: u32, context: &mut Context<'_>) -> Going {
        match config {
            IterationConfig::Csv(set) => return self.next_row(set, user, context),
            IterationConfig::Counter(counter) => self.count(counter, context),
            IterationConfig::RandomVariable(variable) => random_variable(variable, context),
            IterationConfig::UserParameters(parameters) => user_parameters(parameters, context),
        }
        Going::On
    }

    // ---- rows

    fn next_row(&self, set: &CsvDataSet, user: u32, context: &mut Context<'_>) -> Going {
        let file = set.file.text(context);
        let delimiter = set.delimiter.text(context);
        let delimiter = match &*delimiter {
            "" => ",",
            "\\t" => "\t",
            other => other,
        };
        let given = set.names.text(context);
        let shared = source_of(&set.sharing, &file, &context.thread.group, user);
        let mut sources = lock(&self.sources);
        let source = if let Some(source) = sources.get_mut(&*shared) {
            source
        } else {
            let path = context.shared.files.path(&file);
            match DataFile::open(path, &given, set, delimiter, self.turns_of(&set.sharing, &shared)) {
                Ok(source) => sources.entry(shared.into_owned()).or_insert(source),
                Err(message) => return Going::Fail(message),
            }
        };
        let Some(naming) = source.naming_of(&given, delimiter) else {
            return Going::Fail(format!(
                "{} has no first line with names: it is empty, or another CSV Data Set that gives names takes that line for a row; give \
                 names here too",
                source.path.display()
            ));
        };
        match source.draw(set, delimiter) {
            Ok(true) if !source.is_at_empty_line(set) => {
                // As in JMeter, a row that is shorter than the names leaves the others as they are.
                for (name, value) in source.names[naming].1.iter().zip(&source.row) {
                    context.vars.set(name, value);
                }
                Going::On
            }
            Ok(_) if set.stops_thread => Going::StopThread,
            Ok(_) => {
                source.names[naming].1.iter().for_each(|name| context.vars.set(name, END_OF_FILE));
                Going::On
            }
            Err(cause) => Going::Fail(format!("cannot read {}: {cause}", source.path.display())),
        }
    }

    fn turns_of(&self, sharing: &Sharing, source: &str) -> Turns {
        match sharing {
            Sharing::Thread => Turns::default(),
            _ => self.turns.of_files.get(source).unwrap_or(&self.turns.of_machines).clone(),
        }
    }

    // ---- counters

    fn count(&self, counter: &Counter, context: &mut Context<'_>) {
        let start = counter.start.number(context).unwrap_or(0);
        let increment = counter.increment.number(context).unwrap_or(0);
        // An end that is there and is no number is 0, as JMeter reads it.
        let end = counter.end.value(context);
        let end = if end.is_empty() { i64::MAX } else { end.trim().parse().unwrap_or(0) };
        let value = if counter.is_per_user {
            let iteration = context.thread.iteration;
            let last = context.thread.counts.get(&counter.site);
            let last = last.filter(|last| !counter.is_reset_each_pass || last.iteration == iteration);
            let next = last.map_or(start, |last| last.value.saturating_add(increment));
            let value = if next > end { begun_anew(next, start, end, increment) } else { next };
            context.thread.counts.insert(counter.site, Count { value, iteration });
            value
        } else {
            let mut counters = lock(&self.counters);
            let turns = &self.turns.of_machines;
            // From one number of this machine to its next; others have those between them.
            let steps = i64::try_from(turns.position(1) - turns.position(0)).unwrap_or(1);
            let first = i64::try_from(turns.position(0)).unwrap_or(0);
            let next = match counters.get(&counter.site) {
                Some(value) => value.saturating_add(increment.saturating_mul(steps)),
                None => start.saturating_add(increment.saturating_mul(first)),
            };
            let next = if next > end { begun_anew(next, start, end, increment) } else { next };
            counters.insert(counter.site, next);
            next
        };
        let format = counter.format.value(context);
        let name = counter.variable.value(context);
        context.vars.set(&name, &formatted(&format, value));
    }
}

/// Who shares the position in a file: users with the same text.
pub(crate) fn source_of<'a>(sharing: &Sharing, file: &'a str, group: &str, user: u32) -> Cow<'a, str> {
    match sharing {
        Sharing::All => Cow::Borrowed(file),
        Sharing::Group => Cow::Owned(format!("{file}\0{group}")),
        Sharing::Thread => Cow::Owned(format!("{file}\0\0{user}")),
        Sharing::Named(name) => Cow::Owned(format!("{file}\0\0\0{name}")),
    }
}

/// A number behind the end, where the first one follows the last.
fn begun_anew(number: i64, start: i64, end: i64, increment: i64) -> i64 {
    if increment <= 0 || end < start {
        return start;
    }
    let step = increment.unsigned_abs();
    let period = (start.abs_diff(end) / step + 1).saturating_mul(step);
    start.saturating_add_unsigned(start.abs_diff(number) % period)
}

impl DataFile {
    fn open(
        path: PathBuf,
        given: &str,
        set: &CsvDataSet,
        delimiter: &str,
        turns: Turns,
    ) -> Result<Self, String> {
        let reader = open(&path)?;
        let (row, line) = (Vec::new(), Vec::new());
        let mut source =
            Self { path, reader, header: None, names: Vec::new(), row, line, turns, given: 0, read: 0 };
        if split_names(given).is_empty() || set.ignores_first_line {
            let is_there = source
                .read(set, delimiter)
                .map_err(|cause| format!("cannot read {}: {cause}", source.path.display()))?;
            if is_there {
                let text = encodings::decode(&source.line, &set.encoding);
                source.header = Some(line_of(&text).to_owned());
            }
        }
        Ok(source)
    }

    /// The place of the names that a text means, or the first line where it is empty; none where neither has any.
    fn naming_of(&mut self, given: &str, delimiter: &str) -> Option<usize> {
        if let Some(place) = self.names.iter().position(|(known, _)| known == given) {
            return Some(place);
        }
        let mut names = split_names(given);
        if names.is_empty() {
            // Names may stand in quotes where the rows may not.
            names = quoted(self.header.as_deref()?, delimiter);
            for name in &mut names {
                *name = name.trim().to_owned();
            }
        }
        if self.names.len() >= NAMINGS_MAX {
            self.names.clear();
        }
        self.names.push((given.to_owned(), names));
        Some(self.names.len() - 1)
    }

    /// Reads the next row that is a user's of this machine; false where there is none.
    fn draw(&mut self, set: &CsvDataSet, delimiter: &str) -> io::Result<bool> {
        let position = self.turns.position(self.given);
        while self.read < position {
            if !self.next(set, delimiter)? {
                return Ok(false);
            }
            self.read += 1;
        }
        (self.given, self.read) = (self.given + 1, self.read + 1);
        self.next(set, delimiter)
    }

    /// Where no cell stands in quotes, JMeter takes an empty line for the end of the file.
    fn is_at_empty_line(&self, set: &CsvDataSet) -> bool {
        !set.is_quoted && matches!(self.row.as_slice(), [only] if only.is_empty())
    }

    /// The next row, from the beginning again where the set is recycled.
    fn next(&mut self, set: &CsvDataSet, delimiter: &str) -> io::Result<bool> {
        if self.read(set, delimiter)? {
            return Ok(true);
        }
        if !set.is_recycled {
            return Ok(false);
        }
        self.reader = BufReader::new(File::open(&self.path)?);
        // The names are at the beginning where the plan does not give them.
        if set.ignores_first_line || set.names.is_empty() {
            self.read(set, delimiter)?;
        }
        self.read(set, delimiter)
    }

    fn read(&mut self, set: &CsvDataSet, delimiter: &str) -> io::Result<bool> {
        let bytes = &mut self.line;
        bytes.clear();
        loop {
            if self.reader.read_until(b'\n', bytes)? == 0 {
                break;
            }
            // A row goes on where a quote is open.
            let is_open = set.is_quoted && memchr::memchr_iter(b'"', bytes).count() % 2 == 1;
            if !is_open {
                break;
            }
            if bytes.len() > ROW_BYTES_MAX {
                let message =
                    format!("a row has more than {ROW_BYTES_MAX} bytes; look for a quote that is not closed");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        if bytes.is_empty() {
            return Ok(false);
        }
        let text = encodings::decode(bytes, &set.encoding);
        let line = line_of(&text);
        if set.is_quoted {
            self.row = quoted(line, delimiter);
            return Ok(true);
        }
        // Into memory that is there.
        let mut count = 0;
        for cell in line.split(delimiter) {
            match self.row.get_mut(count) {
                Some(known) => cell.clone_into(known),
                None => self.row.push(cell.to_owned()),
            }
            count += 1;
        }
        self.row.truncate(count);
        Ok(true)
    }
}

/// Without its end, and without the mark at the beginning of a file.
fn line_of(text: &str) -> &str {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.strip_prefix('\u{feff}').unwrap_or(line)
}

fn open(path: &Path) -> Result<BufReader<File>, String> {
    File::open(path).map(BufReader::new).map_err(|cause| format!("cannot read {}: {cause}", path.display()))
}

/// As JMeter does, commas without a name between them are one.
fn split_names(given: &str) -> Vec<String> {
    let names = given.split(',').filter(|name| !name.is_empty());
    let names = names.map(|name| name.trim().to_owned());
    if given.trim().is_empty() { Vec::new() } else { names.collect() }
}

/// Cells that may stand in quotes, in which a quote is written twice.
fn quoted(line: &str, delimiter: &str) -> Vec<String> {
    let (mut cells, mut cell, mut rest) = (Vec::new(), String::new(), line);
    loop {
        if cell.is_empty() && rest.starts_with('"') {
            let mut inner = &rest[1..];
            while let Some(at) = inner.find('"') {
                cell.push_str(&inner[..at]);
                inner = &inner[at + 1..];
                match inner.strip_prefix('"') {
                    Some(after) => {
                        cell.push('"');
                        inner = after;
                    }
                    None => break,
                }
            }
            rest = inner;
        }
        let Some(at) = rest.find(delimiter) else {
            cell.push_str(rest);
            cells.push(cell);
            return cells;
        };
        cell.push_str(&rest[..at]);
        cells.push(std::mem::take(&mut cell));
        rest = &rest[at + delimiter.len()..];
    }
}

fn random_variable(variable: &RandomVariable, context: &mut Context<'_>) {
    let low = variable.low.number(context).unwrap_or(0);
    let high = variable.high.number(context).unwrap_or(low);
    let value = context.thread.random.random_range(low.min(high)..=low.max(high));
    let format = variable.format.value(context);
    let name = variable.variable.value(context);
    context.vars.set(&name, &formatted(&format, value));
}

/// The column of this user; the first one again after the last.
pub(crate) fn user_parameters(parameters: &UserParameters, context: &mut Context<'_>) {
    let Some(count) = parameters.values.len().checked_sub(1) else { return };
    let column = &parameters.values[(context.thread.number as usize - 1) % (count + 1)];
    for (name, value) in parameters.names.iter().zip(column) {
        let (name, value) = (name.value(context), value.value(context));
        context.vars.set(&name, &value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_stand_in_quotes() {
        assert_eq!(quoted(r#"a,"b,""c""",,"x"y"#, ","), ["a", "b,\"c\"", "", "xy"]);
        assert_eq!(quoted("a;;b", ";;"), ["a", "b"]);
        assert_eq!(quoted("", ","), [""]);
    }

    #[test]
    fn names_that_are_missing_count_for_nothing() {
        assert_eq!(split_names("a, b,,\"c\","), ["a", "b", "\"c\""]);
        assert_eq!([split_names(""), split_names(" ")], [Vec::<String>::new(), Vec::new()]);
    }

    #[test]
    fn counters_begin_anew_behind_their_end() {
        assert_eq!(begun_anew(11, 1, 10, 1), 1);
        assert_eq!(begun_anew(13, 1, 10, 1), 3, "another machine has those between");
        assert_eq!(begun_anew(12, 0, 10, 4), 0);
        assert_eq!([begun_anew(5, 7, 3, 1), begun_anew(i64::MAX, -3, 3, 0)], [7, -3]);
        assert_eq!(begun_anew(i64::MAX, i64::MIN, i64::MAX - 1, 1), i64::MIN);
    }
}
