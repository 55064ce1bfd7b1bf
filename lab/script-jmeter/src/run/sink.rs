//! Where samples go: rows of files, and the figures of all of them.

use crate::run::locks::lock;
use crate::run::result::{RowPlace, SampleResult};
use prony_jtl::{Format, Statistics, Writer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// One thread's rows are handed over once they are so long.
const BLOCK_BYTES: usize = 64 << 10;

/// A file of results, and which samples it gets.
#[derive(Debug)]
struct Output {
    writer: Writer,
    only_errors: bool,
    only_successes: bool,
}

/// The outputs of a run and what was counted in it.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    outputs: Vec<Output>,
    /// That of the command line, which gets all samples.
    of_all: Option<usize>,
    /// By group and its listeners.
    of_listeners: Vec<Vec<usize>>,
    statistics: Mutex<Statistics>,
}

/// A file that a listener names, or the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputSpec {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) only_errors: bool,
    pub(crate) only_successes: bool,
}

impl Sink {
    /// Opens all files; those that several listeners name once.
    pub(crate) fn open(
        of_all: Option<OutputSpec>,
        of_listeners: Vec<Vec<OutputSpec>>,
    ) -> Result<Self, prony_jtl::WriteError> {
        let mut sink = Self::default();
        let mut known: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut open = |spec: OutputSpec, outputs: &mut Vec<Output>| {
            if let Some(index) = known.get(&spec.path) {
                return Ok(*index);
            }
            known.insert(spec.path.clone(), outputs.len());
            let writer = Writer::create(&spec.path, spec.format)?;
            outputs.push(Output {
                writer,
                only_errors: spec.only_errors,
                only_successes: spec.only_successes,
            });
            Ok(outputs.len() - 1)
        };
        sink.of_all = of_all.map(|spec| open(spec, &mut sink.outputs)).transpose()?;
        for specs in of_listeners {
            let indices = specs.into_iter().map(|spec| open(spec, &mut sink.outputs));
            sink.of_listeners.push(indices.collect::<Result<_, _>>()?);
        }
        Ok(sink)
    }

    /// Ends the files: what could not be written, by file.
    pub(crate) fn close(&self) -> Vec<String> {
        self.outputs
            .iter()
            .filter_map(|output| output.writer.close().err())
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
}

impl<'a> ThreadSink<'a> {
    pub(crate) fn new(sink: &'a Sink) -> Self {
        Self { sink, blocks: vec![Vec::new(); sink.outputs.len()], statistics: Statistics::default() }
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
        self.statistics.add(&sample.row(place));
        if self.blocks.is_empty() {
            return;
        }
        let named = self.sink.of_listeners.get(group).map(Vec::as_slice).unwrap_or_default();
        let mut indices: Vec<usize> =
            listeners.iter().filter_map(|index| named.get(*index).copied()).collect();
        indices.extend(self.sink.of_all);
        indices.sort_unstable();
        indices.dedup();
        for index in indices {
            let output = &self.sink.outputs[index];
            let block = &mut self.blocks[index];
            let is_wanted =
                !(output.only_errors && sample.is_success || output.only_successes && !sample.is_success);
            if is_wanted {
                let assertions = sample
                    .assertions
                    .iter()
                    .map(|assertion| (assertion.name.as_str(), assertion.failure.as_str()));
                let assertions: Vec<_> = assertions.collect();
                output.writer.append(block, &sample.row(place), &assertions);
                for part in parts {
                    output.writer.append(block, &part.row(place), &[]);
                }
            }
            if block.len() >= BLOCK_BYTES {
                output.writer.write(std::mem::take(block));
            }
        }
    }

    /// Hands over what there is.
    pub(crate) fn flush(&mut self) {
        for (output, block) in self.sink.outputs.iter().zip(&mut self.blocks) {
            if !block.is_empty() {
                output.writer.write(std::mem::take(block));
            }
        }
        lock(&self.sink.statistics).merge(&std::mem::take(&mut self.statistics));
    }
}

impl Drop for ThreadSink<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
