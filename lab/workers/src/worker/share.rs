//! The load of a share, on a thread of its own: made by `prony-load` as any other, it begins when the coordinator says.

use crate::error::WorkersError;
use crate::kind::{Counter, LoadKind, Unpacked};
use crate::message::{FailureCause, Report};
use prony_load::{RunError, RunOptions, RunStart, SharedRows};
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::plan::PlanChange;
use prony_model::program::{RunShare, StopFlag};
use prony_model::{Nanos, ResultFile};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::thread;

/// What becomes of it.
#[derive(Debug)]
pub(super) enum ShareEvent {
    /// All programs are made.
    Ready,
    /// It has begun, so long after the agreed start.
    Begun(Nanos),
    /// The report of a second, as JSON.
    Second(Box<RawValue>),
    Done(Result<Box<ShareEnd>, ShareFailure>),
}

/// Why it cannot be run.
#[derive(Debug)]
pub(super) struct ShareFailure {
    pub(super) message: String,
    pub(super) cause: FailureCause,
}

impl ShareFailure {
    pub(super) const fn new(message: String) -> Self {
        Self { message, cause: FailureCause::Other }
    }
}

/// How it has ended.
#[derive(Debug)]
pub(super) struct ShareEnd {
    pub(super) result: ResultFile,
    /// What came after the last second.
    pub(super) counted: Option<Value>,
}

/// Which share of what, and on how many threads.
#[derive(Debug, Clone)]
pub(super) struct ShareSettings {
    pub(super) kind: &'static dyn LoadKind,
    /// Where the files are.
    pub(super) folder: PathBuf,
    /// What the kind has said of itself.
    pub(super) settings: Value,
    pub(super) share: RunShare,
    pub(super) change: PlanChange,
    pub(super) threads: NonZeroUsize,
    /// Of the worker's own share, from which those draw that it takes over too.
    pub(super) rows: SharedRows,
}

/// A share that is being prepared or under way.
#[derive(Debug)]
pub(super) struct RunningShare {
    /// Takes the agreed start; dropped without one, the share is given up.
    start: Option<Sender<RunStart>>,
    stop: StopFlag,
}

impl RunningShare {
    /// Opens it and makes its programs on a thread of its own, which tells of what happens.
    pub(super) fn begin(
        settings: ShareSettings,
        tell: impl Fn(ShareEvent) + Clone + Send + 'static,
    ) -> Result<Self, WorkersError> {
        let (start, agreed) = mpsc::channel();
        let stop = StopFlag::default();
        let handed = stop.clone();
        let work = move || {
            let ended = work(&settings, handed, agreed, &tell);
            tell(ShareEvent::Done(ended.map(Box::new)));
        };
        thread::Builder::new().name("prony-share".to_owned()).spawn(work).map_err(WorkersError::Thread)?;
        Ok(Self { start: Some(start), stop })
    }

    pub(super) fn start(&mut self, at: RunStart) {
        if let Some(start) = self.start.take() {
            // The thread is only gone where it has said why.
            let _ = start.send(at);
        }
    }

    /// What it has measured so far comes as its result.
    pub(super) fn stop(&mut self) {
        self.start = None;
        self.stop.stop();
    }
}

impl Drop for RunningShare {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn work(
    settings: &ShareSettings,
    stop: StopFlag,
    agreed: mpsc::Receiver<RunStart>,
    tell: &(impl Fn(ShareEvent) + Clone + Send + 'static),
) -> Result<ShareEnd, ShareFailure> {
    let ShareSettings { kind, folder, settings: of_kind, share, change, .. } = settings;
    let came = Unpacked { folder, settings: of_kind, change, share: *share };
    let named = |message: String| as_named(&message, folder);
    let opened = kind.open(&came).map_err(|message| ShareFailure::new(named(message)))?;
    let ask = Rc::new(RefCell::new(opened.counter()));
    let options = options(settings, stop, agreed, &ask, tell);
    let failed = |error: RunError| {
        let cause = cause_of(&error);
        ShareFailure { message: named(error.to_string()), cause }
    };
    let result = opened.run(options).map_err(failed)?;
    let counted = (ask.borrow_mut())();
    Ok(ShareEnd { result, counted })
}

const fn cause_of(error: &RunError) -> FailureCause {
    match error {
        RunError::Program(_) | RunError::Request(_) => FailureCause::Program,
        error if error.is_limit() => FailureCause::Limit,
        error if error.is_of_settings() => FailureCause::Settings,
        _ => FailureCause::Load,
    }
}

/// Files in a message by their places on the coordinator's machine, not by those beneath the folder where they are here.
fn as_named(message: &str, folder: &Path) -> String {
    message.replace(&*folder.to_string_lossy(), "")
}

fn options(
    settings: &ShareSettings,
    stop: StopFlag,
    agreed: mpsc::Receiver<RunStart>,
    ask: &Rc<RefCell<Counter>>,
    tell: &(impl Fn(ShareEvent) + Clone + Send + 'static),
) -> RunOptions {
    let (ready, begun, second) = (tell.clone(), tell.clone(), tell.clone());
    let ask = Rc::clone(ask);
    let from = Rc::new(Cell::new(Nanos::ZERO));
    let agreed_from = Rc::clone(&from);
    let listener = move |snapshot: &IntervalSnapshot| {
        let counted = (ask.borrow_mut())();
        // Encoded here, so that whoever answers the coordinator does not wait for it, and nothing is copied.
        let report = to_raw_value(&Report::Second { snapshot, counted }).expect("reports can be written");
        second(ShareEvent::Second(report));
    };
    RunOptions {
        threads: settings.threads,
        share: settings.share,
        rows: settings.rows.clone(),
        start: Box::new(move || {
            ready(ShareEvent::Ready);
            let start = agreed.recv().ok()?;
            from.set(start.from);
            Some(start)
        }),
        begins: Box::new(move |epoch| {
            let late = Nanos(epoch.elapsed().as_nanos() as u64).since(agreed_from.get());
            begun(ShareEvent::Begun(late));
        }),
        snapshots: vec![Box::new(listener)],
        stop,
        ..RunOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_messages_are_where_the_coordinator_has_them() {
        let folder = Path::new("/tmp/prony-x");
        for (message, named) in [
            (
                "Error: a\n\tat f (file:///tmp/prony-x/srv/b/s.js:1:9)",
                "Error: a\n\tat f (file:///srv/b/s.js:1:9)",
            ),
            ("cannot read /tmp/prony-x/srv/ä.csv", "cannot read /srv/ä.csv"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(as_named(message, folder), named);
        }
    }
}
