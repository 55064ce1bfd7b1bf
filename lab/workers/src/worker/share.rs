//! The load of a share, on a thread of its own: made by `prony-load` as any other, it begins when the coordinator says.

use crate::error::WorkersError;
use prony_load::{RunOptions, read_plan, run};
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::program::{RunShare, StopFlag};
use prony_model::{Nanos, ResultFile};
use std::num::NonZeroUsize;
use std::path::Path;
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
    Second(Box<IntervalSnapshot>),
    Done(Result<Box<ResultFile>, String>),
}

/// Which share of what, and on how many threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShareSettings {
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
    /// Reads the plan and makes its programs on a thread of its own, which tells of what happens.
    pub(super) fn begin(
        plan: &Path,
        settings: ShareSettings,
        tell: impl Fn(ShareEvent) + Clone + Send + 'static,
    ) -> Result<Self, WorkersError> {
        let plan = read_plan(plan)?.with_seed(settings.seed);
        let (start, agreed) = mpsc::channel();
        let stop = StopFlag::default();
        let handed = stop.clone();
        let work = move || {
            let options = options(settings, handed, agreed, &tell);
            let result = run(&plan, options).map(Box::new).map_err(|error| error.to_string());
            tell(ShareEvent::Done(result));
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

fn options(
    settings: ShareSettings,
    stop: StopFlag,
    agreed: mpsc::Receiver<Instant>,
    tell: &(impl Fn(ShareEvent) + Clone + Send + 'static),
) -> RunOptions {
    let (ready, begun, second) = (tell.clone(), tell.clone(), tell.clone());
    RunOptions {
        threads: settings.threads,
        share: settings.share,
        start: Box::new(move || {
            ready(ShareEvent::Ready);
            agreed.recv().ok()
        }),
        begins: Box::new(move |epoch| begun(ShareEvent::Begun(Nanos(epoch.elapsed().as_nanos() as u64)))),
        snapshots: vec![Box::new(move |snapshot| second(ShareEvent::Second(Box::new(snapshot.clone()))))],
        stop,
        ..RunOptions::default()
    }
}
