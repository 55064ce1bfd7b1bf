//! The load of a share, on a thread of its own: made by `prony-load` as any other, it begins when the coordinator says.

use crate::error::WorkersError;
use crate::kind::{Counter, LoadKind, Unpacked};
use prony_load::RunOptions;
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::program::{RunShare, StopFlag};
use prony_model::{Nanos, ResultFile};
use serde_json::Value;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

/// What becomes of it.
#[derive(Debug)]
pub(super) enum ShareEvent {
    /// All programs are made.
    Ready,
    /// It has begun, so long after the agreed start.
    Begun(Nanos),
    Second {
        snapshot: Box<IntervalSnapshot>,
        counted: Option<Value>,
    },
    Done(Result<Box<ShareEnd>, String>),
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
    pub(super) seed: u64,
    pub(super) threads: NonZeroUsize,
}

/// A share that is being prepared or under way.
#[derive(Debug)]
pub(super) struct RunningShare {
    /// Takes the agreed start; dropped without one, the share is given up.
    start: Option<Sender<Instant>>,
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

    pub(super) fn start(&mut self, at: Instant) {
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
    agreed: mpsc::Receiver<Instant>,
    tell: &(impl Fn(ShareEvent) + Clone + Send + 'static),
) -> Result<ShareEnd, String> {
    let ShareSettings { kind, folder, settings: of_kind, share, seed, threads } = settings;
    let opened = kind.open(&Unpacked { folder, settings: of_kind, seed: *seed, share: *share })?;
    let ask = Rc::new(RefCell::new(opened.counter()));
    let options = options((*share, *threads), stop, agreed, &ask, tell);
    let result = opened.run(options).map_err(|error| error.to_string())?;
    let counted = (ask.borrow_mut())();
    Ok(ShareEnd { result, counted })
}

fn options(
    (share, threads): (RunShare, NonZeroUsize),
    stop: StopFlag,
    agreed: mpsc::Receiver<Instant>,
    ask: &Rc<RefCell<Counter>>,
    tell: &(impl Fn(ShareEvent) + Clone + Send + 'static),
) -> RunOptions {
    let (ready, begun, second) = (tell.clone(), tell.clone(), tell.clone());
    let ask = Rc::clone(ask);
    let listener = move |snapshot: &IntervalSnapshot| {
        let counted = (ask.borrow_mut())();
        second(ShareEvent::Second { snapshot: Box::new(snapshot.clone()), counted });
    };
    RunOptions {
        threads,
        share,
        start: Box::new(move || {
            ready(ShareEvent::Ready);
            agreed.recv().ok()
        }),
        begins: Box::new(move |epoch| begun(ShareEvent::Begun(Nanos(epoch.elapsed().as_nanos() as u64)))),
        snapshots: vec![Box::new(listener)],
        stop,
        ..RunOptions::default()
    }
}
