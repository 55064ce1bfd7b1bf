//! Where samples go: rows of files, and the figures of all of them.

use crate::run::locks::lock;
use crate::run::result::{RowPlace, SampleResult};
use prony_jtl::{Format, SampleTree, Statistics, WriteError, Writer, append_csv};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

/// One thread's rows are handed over once they are so long.
const BLOCK_BYTES: usize = 64 << 10;

/// A file of results.
#[derive(Debug)]
struct Output {
    format: Format,
    destination: Destination,
}

/// Which samples a listener takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) only_errors: bool,
    pub(crate) only_successes: bool,
}

impl Wanted {
    const fn takes(self, is_success: bool) -> bool {
        !(self.only_errors && is_success || self.only_successes && !is_success)
    }
}

/// A listener that has a file: which of the outputs, and what it writes there. Several may have one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Listened {
    output: usize,
    wanted: Wanted,
}

#[derive(Debug)]
enum Destination {
    File(Writer),
    /// Rows for the machine that has the file, until they are taken away.
    Elsewhere(Mutex<Vec<u8>>),
}

impl Destination {
    fn write(&self, block: Vec<u8>) {
        match self {
            Self::File(writer) => writer.write(block),
            Self::Elsewhere(rows) => lock(rows).extend_from_slice(&block),
        }
    }
}

/// Which files of results there are and who writes to them, for machines that have none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SinkLayout {
    outputs: Vec<Format>,
    of_all: Option<usize>,
    of_listeners: Vec<Vec<Listened>>,
}

/// Rows of one file of results, by its place in the layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputRows {
    output: usize,
    rows: String,
}

/// The outputs of a run and what was counted in it.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    outputs: Vec<Output>,
    /// That of the command line, which gets all samples.
    of_all: Option<usize>,
    /// By group and its listeners.
    of_listeners: Vec<Vec<Listened>>,
    statistics: Mutex<Statistics>,
}

/// A file that a listener names, or the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputSpec {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) wanted: Wanted,
}

impl Sink {
    /// Opens all files; those that several listeners name, in whichever way, once.
    pub(crate) fn open(
        of_all: Option<OutputSpec>,
        of_listeners: Vec<Vec<OutputSpec>>,
    ) -> Result<Self, WriteError> {
        let mut sink = Self::default();
        let mut known: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut open = |spec: &OutputSpec, outputs: &mut Vec<Output>| -> Result<usize, WriteError> {
            if let Some(index) = fs::canonicalize(&spec.path).ok().and_then(|path| known.get(&path)) {
                return Ok(*index);
            }
            let writer = Writer::create(&spec.path, spec.format)?;
            let path = fs::canonicalize(&spec.path).unwrap_or_else(|_| spec.path.clone());
            known.insert(path, outputs.len());
            outputs.push(Output { format: spec.format, destination: Destination::File(writer) });
            Ok(outputs.len() - 1)
        };
        sink.of_all = of_all.map(|spec| open(&spec, &mut sink.outputs)).transpose()?;
        for specs in of_listeners {
            let listened = specs.into_iter().map(|spec| {
                let output = open(&spec, &mut sink.outputs)?;
                Ok(Listened { output, wanted: spec.wanted })
            });
            sink.of_listeners.push(listened.collect::<Result<_, WriteError>>()?);
        }
        Ok(sink)
    }

    /// Keeps rows for the files of another machine.
    pub(crate) fn elsewhere(layout: &SinkLayout) -> Self {
        let outputs = layout
            .outputs
            .iter()
            .map(|format| Output { format: *format, destination: Destination::Elsewhere(Mutex::default()) });
        Self {
            outputs: outputs.collect(),
            of_all: layout.of_all,
            of_listeners: layout.of_listeners.clone(),
            statistics: Mutex::default(),
        }
    }

    pub(crate) fn layout(&self) -> SinkLayout {
        SinkLayout {
            outputs: self.outputs.iter().map(|output| output.format).collect(),
            of_all: self.of_all,
            of_listeners: self.of_listeners.clone(),
        }
    }

    /// Takes away the rows that are kept for another machine.
    pub(crate) fn take_rows(&self) -> Vec<OutputRows> {
        let rows = self.outputs.iter().enumerate().filter_map(|(output, kept)| match &kept.destination {
            Destination::File(_) => None,
            Destination::Elsewhere(rows) => {
                let rows = std::mem::take(&mut *lock(rows));
                // Samples are made of texts.
                let rows = String::from_utf8_lossy(&rows).into_owned();
                (!rows.is_empty()).then_some(OutputRows { output, rows })
            }
        });
        rows.collect()
    }

    /// Adds what another machine has counted; the message says which of its files is none of these.
    pub(crate) fn add(&self, statistics: &Statistics, rows: &[OutputRows]) -> Result<(), String> {
        for OutputRows { output, rows } in rows {
            let Some(output) = self.outputs.get(*output) else {
                return Err(format!(
                    "it has rows for file {output} of results, and there are {}",
                    self.outputs.len()
                ));
            };
            output.destination.write(rows.as_bytes().to_vec());
        }
        lock(&self.statistics).merge(statistics);
        Ok(())
    }

    /// Ends the files: what could not be written, by file.
    pub(crate) fn close(&self) -> Vec<String> {
        self.outputs
            .iter()
            .filter_map(|output| match &output.destination {
                Destination::File(writer) => writer.close().err(),
                Destination::Elsewhere(_) => None,
            })
            .map(|error| error.to_string())
            .collect()
    }

    pub(crate) fn take_statistics(&self) -> Statistics {
        std::mem::take(&mut lock(&self.statistics))
    }
}

/// What one thread has not handed over yet.
#[derive(Debug)]
pub(crate) struct ThreadSink<'a> {
    sink: &'a Sink,
    blocks: Vec<Vec<u8>>,
    statistics: Statistics,
    /// The outputs of the sample that is written, in memory that is kept.
    indices: Vec<usize>,
}

impl<'a> ThreadSink<'a> {
    pub(crate) fn new(sink: &'a Sink) -> Self {
        Self {
            sink,
            blocks: vec![Vec::new(); sink.outputs.len()],
            statistics: Statistics::default(),
            indices: Vec::new(),
        }
    }

    /// Writes a sample and what it is made of; only the sample itself is counted.
    pub(crate) fn take(
        &mut self,
        group: usize,
        listeners: &[usize],
        sample: &SampleResult,
        parts: &[SampleResult],
        place: &RowPlace<'_>,
    ) {
        if sample.is_ignored {
            return;
        }
        let row = sample.row(place);
        self.statistics.add(&row);
        if self.blocks.is_empty() {
            return;
        }
        let named = self.sink.of_listeners.get(group).map(Vec::as_slice).unwrap_or_default();
        let indices = &mut self.indices;
        indices.clear();
        let named = listeners.iter().filter_map(|index| named.get(*index));
        let wanted = named.filter(|listened| listened.wanted.takes(sample.is_success));
        indices.extend(wanted.map(|listened| listened.output));
        indices.extend(self.sink.of_all);
        indices.sort_unstable();
        indices.dedup();
        for &index in &*indices {
            let output = &self.sink.outputs[index];
            let block = &mut self.blocks[index];
            match output.format {
                Format::Csv => {
                    append_csv(block, &row);
                    for part in parts {
                        append_csv(block, &part.row(place));
                    }
                }
                Format::Xml => {
                    let tree = SampleTree { parts: trees_of(parts, place), ..tree_of(sample, place) };
                    output.format.append(block, &tree);
                }
            }
            if block.len() >= BLOCK_BYTES {
                output.destination.write(std::mem::take(block));
            }
        }
    }

    /// Hands over what there is.
    pub(crate) fn flush(&mut self) {
        for (output, block) in self.sink.outputs.iter().zip(&mut self.blocks) {
            if !block.is_empty() {
                output.destination.write(std::mem::take(block));
            }
        }
        lock(&self.sink.statistics).merge(&std::mem::take(&mut self.statistics));
    }
}

/// A sample with what assertions said of it.
fn tree_of<'a>(sample: &'a SampleResult, place: &RowPlace<'a>) -> SampleTree<'a> {
    let assertions =
        sample.assertions.iter().map(|assertion| (assertion.name.as_str(), assertion.failure.as_str()));
    SampleTree { sample: sample.row(place), assertions: assertions.collect(), parts: Vec::new() }
}

/// Parts that stand one after the other, each followed by its own.
fn trees_of<'a>(mut parts: &'a [SampleResult], place: &RowPlace<'a>) -> Vec<SampleTree<'a>> {
    let mut trees = Vec::new();
    while let Some((part, behind)) = parts.split_first() {
        let (own, others) = behind.split_at(part.own_parts.min(behind.len()));
        trees.push(SampleTree { parts: trees_of(own, place), ..tree_of(part, place) });
        parts = others;
    }
    trees
}

impl Drop for ThreadSink<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
