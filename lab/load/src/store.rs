//! Writes the result while the run goes: a killed run leaves what was measured, a full disk does not end it.

use crate::options::Output;
use crate::seconds::processor_time;
use prony_model::result::{ResultWatcher, RunState, StandingResult};
use prony_model::{Nanos, ResultFile};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Between two writings at least.
const INTERVAL: Nanos = Nanos::from_secs(5);
/// After a writing, so many times as long as it took passes before the next: a file that grows for a day takes no more
/// than a hundredth of the time. This and [`INTERVAL`] are what a killed run loses at most.
const REST: u64 = 99;

/// Where the result of a run is kept while it goes.
#[derive(Debug)]
pub struct Store {
    output: Output,
    seeks_findings: bool,
    next: Nanos,
    /// A file that is being written, on a thread of its own: a disk that hangs holds up neither the run nor whoever gathers its seconds.
    underway: Option<JoinHandle<Writing>>,
}

/// How a writing went.
#[derive(Debug)]
struct Writing {
    warning: Option<String>,
    /// From when the result began to be gathered until it was written.
    began: Nanos,
    ended: Nanos,
}

impl Store {
    /// `seeks_findings`: results are gathered also where they are not written, because gathering them tells what is wrong.
    pub const fn new(output: Output, seeks_findings: bool) -> Self {
        Self { output, seeks_findings, next: INTERVAL, underway: None }
    }

    pub fn is_due(&self, elapsed: Nanos) -> bool {
        let is_wanted = self.seeks_findings || self.output != Output::Nowhere;
        is_wanted && self.underway.is_none() && elapsed >= self.next
    }

    /// A result was gathered and written, or was not, between these two moments.
    pub fn rest(&mut self, began: Nanos, ended: Nanos) {
        let took = ended.since(began);
        self.next = ended.plus(INTERVAL.max(Nanos(took.0.saturating_mul(REST))));
    }

    /// Begins to write the result as it stands and shows it to who watches, as far as either is due; gathers it where one is. `elapsed` is
    /// the clock of the run. Says what could not be written before.
    pub fn keep(
        &mut self,
        watcher: Option<&dyn ResultWatcher>,
        duration: Nanos,
        elapsed: impl Fn() -> Nanos,
        gather: impl FnOnce(Nanos) -> ResultFile,
    ) -> Option<String> {
        let now = elapsed();
        let warning = self.hear(now);
        let (is_due, watcher) = (self.is_due(now), watcher.filter(|watcher| watcher.is_due()));
        if !is_due && watcher.is_none() {
            return warning;
        }
        let began = processor_time();
        let result = gather(now);
        let took = processor_time().since(began);
        let gathered = elapsed();
        let kept = (is_due && watcher.is_some()).then(|| result.clone());
        let result = match watcher {
            Some(watcher) => {
                watcher.show(StandingResult { result, elapsed: now, duration, took });
                kept
            }
            None => Some(result),
        };
        if let Some(result) = result {
            self.rest(now, gathered);
            return warning.or(self.begin(result, now, gathered));
        }
        warning
    }

    /// Writes a result that was gathered between these two moments, on a thread of its own. Says so where there is none to be had.
    fn begin(&mut self, result: ResultFile, began: Nanos, gathered: Nanos) -> Option<String> {
        let Output::File(path) = &self.output else { return None };
        let own = path.clone();
        let work = move || {
            let start = Instant::now();
            let warning = written(&own, &result);
            Writing { warning, began, ended: gathered.plus(Nanos(start.elapsed().as_nanos() as u64)) }
        };
        match thread::Builder::new().name("prony-result".to_owned()).spawn(work) {
            Ok(thread) => {
                self.underway = Some(thread);
                None
            }
            Err(cause) => Some(unwritten(path, &cause, false)),
        }
    }

    /// What came of a writing that is over by now.
    fn hear(&mut self, now: Nanos) -> Option<String> {
        let thread = self.underway.take_if(|thread| thread.is_finished())?;
        let Writing { warning, began, ended } = thread.join().unwrap_or_else(|_| Writing {
            warning: Some("the thread that writes the result has crashed".to_owned()),
            began: now,
            ended: now,
        });
        self.rest(began, ended);
        warning
    }

    /// Replaces the file by this result as a whole, behind one that is being written; on failure says what to do, and the old file
    /// stays.
    pub fn write(&mut self, result: &ResultFile) -> Option<String> {
        if let Some(thread) = self.underway.take() {
            // What became of it no longer counts: this one takes its place.
            let _ = thread.join();
        }
        let Output::File(path) = &self.output else { return None };
        written(path, result)
    }
}

fn written(path: &Path, result: &ResultFile) -> Option<String> {
    let is_over = result.state != RunState::Running;
    replace(path, result).err().map(|cause| unwritten(path, &cause, is_over))
}

/// That a result could not be written, and what to do; once the measurement is over, what is left of it.
pub fn unwritten(path: &Path, cause: &io::Error, is_over: bool) -> String {
    let left = match (is_over, cause.kind()) {
        (true, _) if path.exists() => "what stands there is from before its end",
        (true, _) => "what is printed is all that is left of it",
        (false, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            "the measurement goes on, free space or end it with Ctrl-C"
        }
        (false, _) => {
            "the measurement goes on, make this a place to write to, or end it with Ctrl-C and name another folder with --output"
        }
    };
    format!("cannot write the result to {}: {cause}; {left}", path.display())
}

/// What a result is written to before it takes its place.
pub fn part_file(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.part", path.display()))
}

/// Writes a result to a file, beside its place first, so that what stands there is always whole.
pub fn replace(path: &Path, result: &impl Serialize) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let beside = part_file(path);
    let written = write_all(&beside, result).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Best effort: on a full disk the rest of a half-written file is in the way.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_all(path: &Path, result: &impl Serialize) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(path)?);
    serde_json::to_writer(&mut writer, result)?;
    writer.write_all(b"\n")?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::Collector;
    use prony_model::result::Origin;
    use prony_model::verdict::findings::TargetPlace;
    use prony_model::{LoadModel, PlanDraft, RequestDraft, Target};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    fn result() -> ResultFile {
        let load = LoadModel::constant(1, Nanos::from_secs(1));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        let plan = draft.check().unwrap();
        let windows = plan.windows();
        let (origin, place) = (Origin::default(), TargetPlace::OtherMachine);
        Collector::new(&plan, None, &windows, origin, place, 1).result(RunState::Running, Nanos::ZERO)
    }

    #[test]
    fn writing_takes_a_hundredth_of_the_time_at_most() {
        let mut store = Store::new(Output::File("x".into()), false);
        let second = Nanos::from_secs;
        assert!(!store.is_due(second(4)) && store.is_due(second(5)));
        store.rest(second(5), second(5).plus(Nanos::from_millis(1)));
        assert!(!store.is_due(second(10)) && store.is_due(second(11)));
        store.rest(second(11), second(13));
        assert!(!store.is_due(second(13 + 197)) && store.is_due(second(13 + 198)));
        assert!(!Store::new(Output::Nowhere, false).is_due(Nanos::MAX));
        assert!(Store::new(Output::Nowhere, true).is_due(second(5)), "somebody waits for findings");
    }

    /// Counts how often it was asked and shown.
    #[derive(Default)]
    struct Watcher {
        wants: AtomicBool,
        shown: AtomicU32,
    }

    impl ResultWatcher for Watcher {
        fn is_due(&self) -> bool {
            self.wants.load(Ordering::Relaxed)
        }

        fn show(&self, standing: StandingResult) {
            assert_eq!((standing.elapsed, standing.duration), (Nanos::from_secs(1), Nanos::from_secs(60)));
            self.shown.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_result_is_gathered_once_and_only_for_a_file_or_a_watcher() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.prony.json");
        let mut store = Store::new(Output::File(path.clone()), false);
        let (watcher, mut gathered) = (Watcher::default(), 0);
        let mut keep = |store: &mut Store, watcher: Option<&dyn ResultWatcher>| {
            let gather = |_| {
                gathered += 1;
                result()
            };
            assert_eq!(store.keep(watcher, Nanos::from_secs(60), || Nanos::from_secs(1), gather), None);
            gathered
        };
        assert_eq!((keep(&mut store, None), keep(&mut store, Some(&watcher))), (0, 0), "nobody wants one");
        watcher.wants.store(true, Ordering::Relaxed);
        assert_eq!(keep(&mut store, Some(&watcher)), 1);
        assert!(!path.exists(), "the file is not due");
        store.next = Nanos::ZERO;
        assert_eq!(keep(&mut store, Some(&watcher)), 2);
        store.underway.take().unwrap().join().unwrap();
        assert!(path.exists() && watcher.shown.load(Ordering::Relaxed) == 2);
    }

    /// To open a pipe that nobody reads takes as long as a disk that hangs.
    #[test]
    fn a_disk_that_hangs_holds_up_nothing_but_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.prony.json");
        let beside = folder.path().join("r.prony.json.part");
        mkfifoat(CWD, &beside, Mode::RUSR | Mode::WUSR).unwrap();
        let mut store = Store::new(Output::File(path.clone()), false);
        let mut gathered = 0;
        let mut keep = |store: &mut Store, at: u64| {
            let gather = |_| {
                gathered += 1;
                result()
            };
            (store.keep(None, Nanos::from_secs(60), || Nanos::from_secs(at), gather), gathered)
        };
        assert_eq!(keep(&mut store, 5), (None, 1));
        assert_eq!(keep(&mut store, 20), (None, 1), "one is written at a time");
        fs::read(&beside).unwrap();
        // What a pipe was given is not on a disk.
        while !store.underway.as_ref().unwrap().is_finished() {
            thread::yield_now();
        }
        let (warning, _) = keep(&mut store, 21);
        assert!(warning.is_some_and(|warning| warning.contains("cannot write the result")));
        assert_eq!(store.write(&result()), None);
        assert!(path.exists());
    }

    /// `/dev/full` is a disk without room: what is written to it fails as it would there.
    #[test]
    fn a_full_disk_is_said_and_leaves_the_last_result_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.prony.json");
        let mut store = Store::new(Output::File(path.clone()), false);
        assert_eq!(store.write(&result()), None);
        let before = fs::read(&path).unwrap();
        symlink("/dev/full", folder.path().join("r.prony.json.part")).unwrap();
        let warning = store.write(&result()).unwrap();
        assert!(warning.contains("r.prony.json: No space left on device"), "{warning}");
        assert!(warning.contains("the measurement goes on, free space"), "{warning}");
        assert_eq!(fs::read(&path).unwrap(), before);
        // At the end nothing goes on, and no space that is freed brings it back.
        symlink("/dev/full", folder.path().join("r.prony.json.part")).unwrap();
        let warning = store.write(&ResultFile { state: RunState::Completed, ..result() }).unwrap();
        assert!(warning.ends_with("; what stands there is from before its end"), "{warning}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the half-written file is gone");
        assert_eq!(store.write(&result()), None, "there is room again");
    }

    #[test]
    fn a_folder_that_vanishes_is_made_again_and_one_that_cannot_be_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("results");
        let mut store = Store::new(Output::File(inner.join("r.prony.json")), false);
        assert_eq!(store.write(&result()), None);
        fs::remove_dir_all(&inner).unwrap();
        assert_eq!(store.write(&result()), None);
        fs::remove_dir_all(&inner).unwrap();
        fs::write(&inner, "a file in its place").unwrap();
        let warning = store.write(&result()).unwrap();
        assert!(warning.contains("cannot write the result") && warning.contains("--output"), "{warning}");
        assert!(!warning.contains("free space"), "{warning}");
        let warning = store.write(&ResultFile { state: RunState::Completed, ..result() }).unwrap();
        assert!(warning.ends_with("; what is printed is all that is left of it"), "{warning}");
    }
}
