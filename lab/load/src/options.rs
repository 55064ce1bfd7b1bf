//! How a scenario is run, apart from what it is: threads, where results go, who is told, how it is stopped.

use crate::flow::SharedRows;
use prony_model::Nanos;
use prony_model::measurement::observation::Observation;
use prony_model::measurement::record::Record;
use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::program::{RunShare, StopFlag};
use prony_model::result::{Progress, ResultWatcher};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the caller of [`crate::run`] chooses.
pub struct RunOptions {
    /// Each with its own users and event loop. By default one for each processor that may be used.
    pub threads: NonZeroUsize,
    pub output: Output,
    /// Findings are to be in [`Progress`] also where no file is written; with one they are anyway.
    pub seeks_findings: bool,
    /// Kept in the result.
    pub command_line: Vec<String>,
    /// Which users of the plan run here, where others run on other machines at the same time.
    pub share: RunShare,
    /// Is asked once all programs are made: when the run begins, at once or later. Without a start the run is given up. May wait,
    /// for others that begin with it.
    pub start: Box<dyn FnOnce() -> Option<RunStart>>,
    /// How far the users are in rows that they share; that of another run in this process where they take over users of it.
    pub rows: SharedRows,
    /// Is told the start of the run, from which its times are counted, once all programs are made and before the first user
    /// begins. Must not take long.
    pub begins: Box<dyn FnOnce(Instant)>,
    /// Called each second, and once at the end, from the thread that called [`crate::run`].
    pub progress: Box<dyn FnMut(&Progress)>,
    /// Each is given every second of the run, once all threads have handed it over.
    pub snapshots: Vec<SnapshotListener>,
    /// Is given each request once it is over. Without it requests are only counted, which is faster.
    pub records: Option<RecordListener>,
    /// What watches processes, databases and the lab itself meanwhile.
    pub observe: Option<Box<dyn Observe>>,
    /// Looks at the result while the run goes.
    pub watcher: Option<Arc<dyn ResultWatcher>>,
    pub stop: StopFlag,
}

/// When a run begins, and when its users here do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunStart {
    /// From which all times of the run are counted.
    pub epoch: Instant,
    /// Users and starts are made by others until then. Whole seconds, so that no second is divided.
    pub from: Nanos,
}

impl RunStart {
    /// From the beginning of the run.
    pub const fn at(epoch: Instant) -> Self {
        Self { epoch, from: Nanos::ZERO }
    }

    pub fn now() -> Self {
        Self::at(Instant::now())
    }

    /// When users begin.
    pub fn begin(self) -> Instant {
        self.epoch + Duration::from_nanos(self.from.0)
    }
}

/// Takes the seconds of a run, for a file, a page or another machine. Called from the thread that runs the load test.
pub type SnapshotListener = Box<dyn FnMut(&IntervalSnapshot)>;

/// Takes requests one by one. Called from the thread that runs the load test.
pub type RecordListener = Box<dyn FnMut(&RecordBatch<'_>)>;

/// Requests that ended on one thread in one second.
#[derive(Debug, Clone, Copy)]
pub struct RecordBatch<'a> {
    /// The start of the run, from which records count their times.
    pub epoch: Instant,
    /// In the order in which they ended.
    pub records: &'a [Record],
    /// What their requests are called.
    pub names: RequestNames<'a>,
}

/// Watches while a run goes; what it saw is kept in the result. Called from the thread that runs the load test.
pub trait Observe {
    /// The run begins, and its time line with it. Must not take long.
    fn start(&mut self, epoch: Instant);

    /// All that was seen so far.
    fn observations(&mut self) -> Vec<Observation>;

    /// The run has ended: takes a last look.
    fn stop(&mut self);
}

/// Where the result is written while the run goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Only returned.
    Nowhere,
    File(PathBuf),
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            output: Output::Nowhere,
            seeks_findings: false,
            command_line: Vec::new(),
            share: RunShare::WHOLE,
            start: Box::new(|| Some(RunStart::now())),
            rows: SharedRows::default(),
            begins: Box::new(|_| {}),
            progress: Box::new(|_| {}),
            snapshots: Vec::new(),
            records: None,
            observe: None,
            watcher: None,
            stop: StopFlag::default(),
        }
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("threads", &self.threads)
            .field("output", &self.output)
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}
