//! What searches, comparisons and sweeps have in common: many runs under one stop flag, told to one watcher, kept in one file.

use crate::observe::ObserveError;
use crate::place::ReservedPath;
use crate::subject::{Subject, SubjectError};
use prony_load::{Observe, Output, RunError, RunOptions, StopFlag, replace_file, unwritten};
use prony_model::comparison::Side;
use prony_model::plan::PlanFaults;
use prony_model::result::{Progress, ResultWatcher, RunState};
use prony_model::search::{Interval, SearchRun, ShapeError, StepVerdict};
use prony_model::verdict::finding::FindingKind;
use prony_model::{Nanos, Plan, ResultFile};
use prony_workers::{Recruited, WorkersError};
use serde::Serialize;
use std::cell::RefCell;
use std::fmt;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

/// What the caller of [`crate::find`], [`crate::compare`] and [`crate::sweep::sweep`] chooses.
pub struct ManyOptions {
    pub threads: NonZeroUsize,
    /// Replaced as a whole after each run.
    pub output: Output,
    /// Kept until the last run is over, where the output is a file that was reserved.
    pub reserved: Option<ReservedPath>,
    /// Findings of a run are to be told while it goes.
    pub seeks_findings: bool,
    /// Kept in the results.
    pub command_line: Vec<String>,
    pub stop: StopFlag,
    /// Make the load of all runs, where there are any; threads are then theirs.
    pub workers: Option<Recruited>,
    /// Makes first contact with what each run watches; hears what the plan itself names.
    pub observe: Option<OpenObservers>,
    /// Called from the thread that called.
    pub watch: Box<dyn FnMut(&Event<'_>)>,
    /// Looks at the result of each run while it goes.
    pub watcher: Option<Arc<dyn ResultWatcher>>,
}

/// What is to be watched in a run; or why it cannot be.
pub type OpenObservers = Box<dyn Fn(&[String]) -> Result<Box<dyn Observe>, ObserveError>>;

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run of a search; `step` counts loads from 1, and `run` its runs, of which there are as many as `repeats` and more where
    /// they disagree.
    StepRunBegins {
        load: u32,
        step: u32,
        run: u32,
        repeats: u32,
        /// What is known until now.
        interval: Interval,
        /// How long this run and those after it are likely to take, once that is known.
        left: Option<Nanos>,
        /// Loads that are likely still to come, with this one, once that is known.
        steps_left: Option<u32>,
    },
    StepRunEnds {
        load: u32,
        run: &'a SearchRun,
    },
    StepEnds {
        load: u32,
        verdict: StepVerdict,
        note: Option<&'a str>,
    },
    /// A run of a comparison; `pair` counts from 1, and `left` is how long this one and those after it take at most.
    SideRunBegins {
        side: Side,
        pair: u32,
        pairs: u32,
        left: Nanos,
    },
    SideRunEnds {
        side: Side,
        result: &'a ResultFile,
    },
    /// A run of a sweep; `number` counts from 1, and `left` is how long this one and those after it take at least.
    CombinationBegins {
        label: &'a str,
        number: usize,
        count: usize,
        left: Nanos,
    },
    /// It was measured by a sweep that this one goes on with.
    CombinationKept {
        label: &'a str,
        number: usize,
        count: usize,
    },
    CombinationEnds {
        label: &'a str,
        result: &'a ResultFile,
    },
    /// A second of a run has passed, or the run is over.
    Second(&'a Progress),
    /// Something that the user should know at once, such as a file that cannot be written.
    Warning(&'a str),
}

/// Why a search or a comparison ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum ManyError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Plan(#[from] PlanFaults),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// Of a comparison, before it began.
    #[error("nothing was measured: {0}")]
    Unreached(String),
    /// Nobody has stopped it.
    #[error("a run ended by itself after {after} of {of}, so that it says nothing of the load: {reason}")]
    EndedByItself { after: Nanos, of: Nanos, reason: String },
}

impl ManyError {
    /// True where the lab cannot make this load at all, so that less of it may be made.
    pub(crate) const fn is_limit(&self) -> bool {
        match self {
            Self::Run(error) => error.is_limit(),
            Self::Workers(error) => error.is_limit(),
            _ => false,
        }
    }
}

impl From<SubjectError> for ManyError {
    fn from(error: SubjectError) -> Self {
        match error {
            SubjectError::Run(error) => Self::Run(error),
            SubjectError::Workers(error) => Self::Workers(error),
        }
    }
}

impl Default for ManyOptions {
    fn default() -> Self {
        let RunOptions { threads, output, command_line, stop, .. } = RunOptions::default();
        let watch = Box::new(|_: &Event<'_>| {});
        let seeks_findings = false;
        let (reserved, workers, observe, watcher) = (None, None, None, None);
        Self {
            threads,
            output,
            reserved,
            seeks_findings,
            command_line,
            stop,
            workers,
            observe,
            watch,
            watcher,
        }
    }
}

impl fmt::Debug for ManyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManyOptions")
            .field("threads", &self.threads)
            .field("output", &self.output)
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

/// Makes the runs, one after the other.
pub(crate) struct Runs {
    threads: NonZeroUsize,
    output: Output,
    _reserved: Option<ReservedPath>,
    seeks_findings: bool,
    command_line: Vec<String>,
    pub(crate) stop: StopFlag,
    workers: Option<RefCell<Recruited>>,
    observe: Option<OpenObservers>,
    watch: Rc<RefCell<Watch>>,
    watcher: Option<Arc<dyn ResultWatcher>>,
}

type Watch = Box<dyn FnMut(&Event<'_>)>;

impl Runs {
    pub(crate) fn new(options: ManyOptions) -> Self {
        let ManyOptions {
            threads,
            output,
            reserved,
            seeks_findings,
            command_line,
            stop,
            workers,
            observe,
            watch,
            watcher,
        } = options;
        let (workers, watch) = (workers.map(RefCell::new), Rc::new(RefCell::new(watch)));
        Self {
            threads,
            output,
            _reserved: reserved,
            seeks_findings,
            command_line,
            stop,
            workers,
            observe,
            watch,
            watcher,
        }
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        (self.watch.borrow_mut())(event);
    }

    pub(crate) fn run(&self, subject: &Subject, plan: &Plan) -> Result<ResultFile, ManyError> {
        self.run_into(subject, plan, Output::Nowhere)
    }

    /// As [`Self::run`]; the result of this run alone is also written while it goes.
    pub(crate) fn run_into(
        &self,
        subject: &Subject,
        plan: &Plan,
        output: Output,
    ) -> Result<ResultFile, ManyError> {
        let watch = Rc::clone(&self.watch);
        let observe = self.observe.as_ref().map(|open| open(plan.observe()));
        let options = RunOptions {
            threads: self.threads,
            output,
            seeks_findings: self.seeks_findings,
            command_line: self.command_line.clone(),
            progress: Box::new(move |progress| (watch.borrow_mut())(&Event::Second(progress))),
            // What ends one run does not end those that follow it.
            stop: self.stop.child(),
            observe: observe.transpose()?,
            watcher: self.watcher.clone(),
            ..RunOptions::default()
        };
        let mut workers = self.workers.as_ref().map(RefCell::borrow_mut);
        let result = subject.run(plan, options, workers.as_deref_mut())?;
        if result.state == RunState::Stopped && !self.stop.is_stopped() {
            return Err(ended_by_itself(&result, plan));
        }
        Ok(result)
    }

    /// Replaces the file, whose state this is. A full disk is told and does not end the measurement.
    pub(crate) fn keep(&self, file: &impl Serialize, state: RunState) {
        let Output::File(path) = &self.output else { return };
        if let Err(cause) = replace_file(path, file) {
            self.tell(&Event::Warning(&unwritten(path, &cause, state != RunState::Running)));
        }
    }
}

fn ended_by_itself(result: &ResultFile, plan: &Plan) -> ManyError {
    let after = result.windows.last().map_or(Nanos::ZERO, |whole| whole.window.to_ns);
    let lost = result.findings.iter().find(|finding| finding.kind == FindingKind::WorkerLost);
    let by_itself = "what is run asked for its end, as JMeter's Stop Test and Stop Test Now do";
    let reason = lost.map_or(by_itself, |lost| lost.seen.as_str());
    ManyError::EndedByItself { after, of: plan.duration(), reason: reason.to_owned() }
}
