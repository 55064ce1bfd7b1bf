//! The thread of an output: takes batches from a queue with an end, makes lines of them, and writes.

use super::{LineFormat, OutputContext, OutputError, OutputSpec, Point};
use crate::engine::SampleSink;
use crate::metric::MetricId;
use crate::registry::{Definition, Registry};
use crate::samples::{Event, SampleBatch};
use crate::tags::MetadataId;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::UNIX_EPOCH;

/// With so many samples waiting, 80 MB of them, further ones are lost and counted.
pub const QUEUED_SAMPLES_MAX: u64 = 2_000_000;
/// Lines are given to the file in pieces of about this size.
const PIECE_BYTES: usize = 256 * 1024;

/// An output that is open. Dropping the sink and then [`FileOutput::finish`] closes it.
#[derive(Debug)]
pub struct FileOutput {
    name: String,
    thread: JoinHandle<Written>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Samples in the queue.
    waiting: AtomicU64,
    /// Samples that found the queue full.
    lost: AtomicU64,
}

/// The engine's side of an output.
#[derive(Debug)]
struct Queue {
    sender: Sender<Arc<SampleBatch>>,
    counts: Arc<Counts>,
}

/// How an output ended.
#[derive(Debug)]
pub struct OutputEnd {
    /// `json (FILE)`
    pub name: String,
    /// Lines that were written, those of metrics and the header too.
    pub lines: u64,
    /// Samples that are missing.
    pub lost: u64,
    /// Why writing ended, if it did.
    pub error: Option<io::Error>,
}

impl fmt::Display for OutputEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, lines, lost, error } = self;
        match (error, lost) {
            (Some(error), 0) => write!(f, "output {name}: {error}; its end is missing after {lines} lines"),
            (Some(error), _) => {
                write!(f, "output {name}: {error}; {lost} samples are missing after {lines} lines")
            }
            (None, 0) => write!(f, "output {name}: {lines} lines"),
            (None, _) => write!(
                f,
                "output {name}: {lost} samples are missing beside {lines} lines: the disk was slower than the load; \
                 write to a faster one or compress (a name that ends in .gz)"
            ),
        }
    }
}

impl FileOutput {
    /// Creates the file and starts the thread. The sink goes to the engine.
    pub fn open(
        spec: &OutputSpec,
        context: OutputContext,
    ) -> Result<(Self, Box<dyn SampleSink>), OutputError> {
        let file: Box<dyn LineFile> = match &spec.file {
            None => Box::new(Plain(io::stdout())),
            Some(path) => create(path)?,
        };
        Self::to(file, spec, context)
    }

    /// Writes anywhere.
    pub(super) fn to(
        file: Box<dyn LineFile>,
        spec: &OutputSpec,
        context: OutputContext,
    ) -> Result<(Self, Box<dyn SampleSink>), OutputError> {
        let (sender, receiver) = channel();
        let counts = Arc::new(Counts::default());
        let writer = Writer::new(file, spec.format.lines(&context), context);
        let name = spec.name();
        let waiting = Arc::clone(&counts);
        let started = std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || writer.run(&receiver, &waiting.waiting));
        let thread = started.map_err(|source| OutputError::Thread { name: name.clone(), source })?;
        let queue = Queue { sender, counts: Arc::clone(&counts) };
        Ok((Self { name, thread, counts }, Box::new(queue)))
    }

    /// Waits until all is written; the sink must be gone (`Engine::close_outputs`).
    pub fn finish(self) -> OutputEnd {
        let written = self.thread.join().unwrap_or_else(|_| Written {
            error: Some(io::Error::other("the thread that writes it has crashed")),
            ..Written::default()
        });
        let lost = written.lost + self.counts.lost.load(Ordering::Relaxed);
        OutputEnd { name: self.name, lines: written.lines, lost, error: written.error }
    }
}

impl SampleSink for Queue {
    fn take(&mut self, batch: &Arc<SampleBatch>) {
        let count = batch.events.len() as u64;
        let is_full = self.counts.waiting.load(Ordering::Relaxed) + count > QUEUED_SAMPLES_MAX;
        let batch = if is_full {
            self.counts.lost.fetch_add(sample_count(&batch.events), Ordering::Relaxed);
            Arc::new(without_samples(batch))
        } else {
            self.counts.waiting.fetch_add(count, Ordering::Relaxed);
            Arc::clone(batch)
        };
        // Where the thread has crashed, the end of the output says so.
        let _crashed = self.sender.send(batch);
    }
}

fn sample_count(events: &[Event]) -> u64 {
    events.iter().filter(|event| matches!(event, Event::Sample { .. })).count() as u64
}

/// What later batches build on.
fn without_samples(batch: &SampleBatch) -> SampleBatch {
    let changes = batch.events.iter().filter(|event| matches!(event, Event::Metadata { .. }));
    SampleBatch { thread: batch.thread, events: changes.cloned().collect(), sets: batch.sets.clone() }
}

/// What lines are written to.
pub(super) trait LineFile: Write + Send {
    /// Writes what stands behind the last line. Nothing is written after it.
    fn finish(&mut self) -> io::Result<()>;
}

/// Lines stand as they are.
pub(super) struct Plain<W>(pub(super) W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write + Send> LineFile for Plain<W> {
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl<W: Write + Send> LineFile for GzEncoder<W> {
    /// Dropping it would do the same, and tell nobody of an error.
    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()?;
        self.get_mut().flush()
    }
}

fn create(path: &Path) -> Result<Box<dyn LineFile>, OutputError> {
    let file = File::create(path).map_err(|source| OutputError::Create { path: path.to_owned(), source })?;
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
    Ok(if is_compressed {
        Box::new(GzEncoder::new(file, Compression::default()))
    } else {
        Box::new(Plain(file))
    })
}

#[derive(Debug, Default)]
struct Written {
    lines: u64,
    lost: u64,
    error: Option<io::Error>,
}

struct Writer {
    file: Box<dyn LineFile>,
    format: Box<dyn LineFormat>,
    registry: Arc<Registry>,
    started_at_ns: u128,
    /// Of metrics that have had their line; the others are empty.
    names: Vec<Option<Arc<str>>>,
    /// By thread: its tag sets, rendered.
    tags: HashMap<u32, Vec<Vec<u8>>>,
    metadata: HashMap<(u32, MetadataId), Vec<u8>>,
    piece: Vec<u8>,
    /// Lines and samples in `piece`.
    piece_lines: u64,
    piece_samples: u64,
    written: Written,
}

impl Writer {
    fn new(file: Box<dyn LineFile>, format: Box<dyn LineFormat>, context: OutputContext) -> Self {
        let since_epoch = context.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            file,
            format,
            registry: context.registry,
            started_at_ns: since_epoch.as_nanos(),
            names: Vec::new(),
            tags: HashMap::new(),
            metadata: HashMap::new(),
            piece: Vec::new(),
            piece_lines: 0,
            piece_samples: 0,
            written: Written::default(),
        }
    }

    fn run(mut self, receiver: &Receiver<Arc<SampleBatch>>, waiting: &AtomicU64) -> Written {
        let before = self.piece.len();
        self.format.header(&mut self.piece);
        self.piece_lines += u64::from(self.piece.len() > before);
        for batch in receiver {
            self.write_batch(&batch);
            waiting.fetch_sub(
                (batch.events.len() as u64).min(waiting.load(Ordering::Relaxed)),
                Ordering::Relaxed,
            );
        }
        self.write_piece();
        if let Err(error) = self.file.finish() {
            self.written.error.get_or_insert(error);
        }
        self.written
    }

    fn write_batch(&mut self, batch: &SampleBatch) {
        let tags = self.tags.entry(batch.thread).or_default();
        for (id, set) in &batch.sets {
            let at = id.0 as usize;
            tags.resize_with(tags.len().max(at + 1), Vec::new);
            tags[at] = self.format.tags(set);
        }
        for event in &batch.events {
            match event {
                Event::Metadata { slot, pairs } => {
                    self.metadata.insert((batch.thread, *slot), self.format.metadata(pairs));
                }
                Event::Sample { metric, set, metadata, at, value } => {
                    let unix_ns = self.started_at_ns + u128::from(at.0);
                    let name = self.name(*metric);
                    let tags = &self.tags[&batch.thread][set.0 as usize];
                    let metadata =
                        self.metadata.get(&(batch.thread, *metadata)).map_or(&[][..], Vec::as_slice);
                    let point = Point { metric: &name, unix_ns, value: *value, tags, metadata };
                    self.format.point(&point, &mut self.piece);
                    self.piece_lines += 1;
                    self.piece_samples += 1;
                    if self.piece.len() >= PIECE_BYTES {
                        self.write_piece();
                    }
                }
            }
        }
        self.write_piece();
    }

    /// The name of a metric; writes its line before its first sample.
    fn name(&mut self, metric: MetricId) -> Arc<str> {
        if let Some(Some(name)) = self.names.get(metric.index()) {
            return Arc::clone(name);
        }
        let definition: Definition = self.registry.definition(metric);
        self.piece_lines += u64::from(self.format.metric(&definition, &self.registry, &mut self.piece));
        self.names.resize(self.names.len().max(metric.index() + 1), None);
        self.names[metric.index()] = Some(Arc::clone(&definition.name));
        definition.name
    }

    /// After the first error nothing more is written: a file with a gap in a line would be of no use.
    fn write_piece(&mut self) {
        let (lines, samples) =
            (std::mem::take(&mut self.piece_lines), std::mem::take(&mut self.piece_samples));
        if self.written.error.is_none() {
            self.written.error = self.file.write_all(&self.piece).err();
        }
        if self.written.error.is_some() {
            self.written.lost += samples;
        } else {
            self.written.lines += lines;
        }
        self.piece.clear();
    }
}
