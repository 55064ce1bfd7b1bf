//! Takes snapshots, when asked and by itself when the log has grown long: one at a time, on a thread of its own, and
//! without harm to the graph where one fails.

use crate::format::LOG;
use crate::snapshot::throttle::{Share, Throttle, yield_to_others};
use crate::snapshot::{self, SnapshotError, SnapshotReport};
use crate::state::Shared;
use prony_log::disk;
use prony_log::error::LogError;
use prony_log::file::NextFile;
use prony_log::frames::HEAD_BYTES;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// After one that failed, the next is tried when the log has grown by this part of what makes one due.
const RETRY_PART: u64 = 8;
/// The least by which the log grows between two that fail.
const RETRY_BYTES_MIN: u64 = 64 * 1024;

/// So often one is written anew because the log failed meanwhile. Then writes wait for it: on a disk that refuses them again and again
/// there would be none in the end, which is what makes room.
const TRIES_BESIDE_WRITES: u32 = 3;

/// What has become of the snapshots of an open store.
#[derive(Debug, Clone, Default)]
pub struct SnapshotState {
    /// The last one that was taken since the store was opened, when it was whole, and how long it took.
    pub last: Option<(SnapshotReport, SystemTime, Duration)>,
    /// What became of the last one that was tried, where it failed.
    pub failure: Option<SnapshotFailure>,
    /// Why files could not be removed that the newest one has made needless, and when that was tried; the next one tries it again.
    pub unremoved: Option<(SnapshotError, SystemTime)>,
    /// One is being written.
    pub is_running: bool,
}

/// A snapshot that could not be taken. The log before it is kept, and grows.
#[derive(Debug, Clone)]
pub struct SnapshotFailure {
    pub error: SnapshotError,
    pub at: SystemTime,
    /// How many have failed one after the other, this one included.
    pub in_a_row: u64,
    /// The next is tried by itself when [`crate::Store::log_bytes`] has reached this; none where one is taken only
    /// when it is asked for.
    pub retry_at_log_bytes: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Snapshotter {
    shared: Arc<Shared>,
    directory: PathBuf,
    /// Held while one is written.
    one: Mutex<()>,
    /// Those who wait until one is written.
    waiting: AtomicU64,
    state: Mutex<SnapshotState>,
    /// Length of the log at which one is due, where they are taken without being asked for.
    at_log_bytes: Option<u64>,
    /// Bytes of the log that the last one has made needless.
    bytes_needless: AtomicU64,
    bytes_last: AtomicU64,
    is_closing: AtomicBool,
}

impl Snapshotter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        directory: &Path,
        at_log_bytes: Option<u64>,
        bytes_last: u64,
    ) -> Self {
        Self {
            shared,
            directory: directory.to_owned(),
            one: Mutex::new(()),
            waiting: AtomicU64::new(0),
            state: Mutex::default(),
            at_log_bytes,
            bytes_needless: AtomicU64::new(0),
            bytes_last: AtomicU64::new(bytes_last),
            is_closing: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> SnapshotState {
        self.lock().clone()
    }

    /// Notes whether the files could be removed that the newest snapshot has made needless.
    pub(crate) fn note_removed(&self, removed: io::Result<()>) {
        let failure = removed
            .err()
            .map(|cause| SnapshotError::Remove { directory: self.directory.clone(), cause: cause.into() });
        self.lock().unremoved = failure.map(|error| (error, SystemTime::now()));
    }

    /// Of the log since the last snapshot.
    pub(crate) fn log_bytes(&self) -> u64 {
        let all = self.shared.log_bytes.load(Ordering::Relaxed);
        all.saturating_sub(self.bytes_needless.load(Ordering::Relaxed))
    }

    /// Takes one now, or waits for the one that is being written and takes another.
    pub(crate) fn take(&self, share: Share) -> Result<SnapshotReport, SnapshotError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.lock().is_running = true;
        let begun = Instant::now();
        let taken = self.take_with_reserve(share);
        let mut state = self.lock();
        state.is_running = false;
        match &taken {
            Ok(report) => {
                state.last = Some((*report, SystemTime::now(), begun.elapsed()));
                state.failure = None;
            }
            Err(error) => {
                let in_a_row = state.failure.as_ref().map_or(0, |failure| failure.in_a_row) + 1;
                let retry_at_log_bytes = self.at_log_bytes.map(|at| self.log_bytes() + retry_bytes(at));
                let (error, at) = (error.clone(), SystemTime::now());
                state.failure = Some(SnapshotFailure { error, at, in_a_row, retry_at_log_bytes });
            }
        }
        drop(state);
        taken
    }

    /// Until the store is closed: takes one whenever the log is long.
    pub(crate) fn run(&self) {
        let Some(at_log_bytes) = self.at_log_bytes else { return };
        yield_to_others();
        let mut due = self.due(at_log_bytes);
        while self.shared.state.trigger.wait(due, &self.shared.log_bytes) {
            due = if self.take(Share::BESIDE).is_ok() {
                self.due(at_log_bytes)
            } else {
                self.shared.log_bytes.load(Ordering::Relaxed).saturating_add(retry_bytes(at_log_bytes))
            };
        }
    }

    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.shared.state.trigger.close();
    }

    /// A graph of many gigabytes is not written anew for every few megabytes of its log.
    fn due(&self, at_log_bytes: u64) -> u64 {
        let length = at_log_bytes.max(self.bytes_last.load(Ordering::Relaxed).saturating_mul(2));
        self.bytes_needless.load(Ordering::Relaxed).saturating_add(length)
    }

    /// Grows from 0 to 1 while the log grows by the length at which a snapshot was due: on a server without free processor
    /// time the log would else grow for ever. 1 where a caller waits for a snapshot.
    fn urgency(&self) -> f64 {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return 1.0;
        }
        let Some(at_log_bytes) = self.at_log_bytes else { return 0.0 };
        let length = self.due(at_log_bytes) - self.bytes_needless.load(Ordering::Relaxed);
        self.log_bytes() as f64 / length as f64 - 1.0
    }

    /// Where there is no room for it, in that which is kept for it.
    fn take_with_reserve(&self, share: Share) -> Result<SnapshotReport, SnapshotError> {
        let reserve = &self.shared.state.reserve;
        let mut taken = self.try_to_take(share);
        let is_lent = taken.as_ref().is_err_and(SnapshotError::is_disk_full) && reserve.lend();
        if is_lent {
            self.shared.set_full(true);
            taken = self.try_to_take(share);
        }
        if taken.is_err() {
            // What is there of it takes room that the log may need.
            let _ = disk::remove(&snapshot::temporary_path(&self.directory));
        }
        if is_lent {
            self.shared.set_full(!reserve.give_back());
        } else if taken.is_ok() && reserve.restore() {
            self.shared.set_full(false);
        }
        taken
    }

    fn try_to_take(&self, share: Share) -> Result<SnapshotReport, SnapshotError> {
        let urgency = || self.urgency();
        let mut throttle = Throttle::new(share, &urgency);
        for _ in 0..TRIES_BESIDE_WRITES {
            if let Some(report) = self.try_once(&mut throttle)? {
                return Ok(report);
            }
        }
        let _paused = self.shared.pause_writes();
        // Without a rest, as writes wait.
        let urgency = || 1.0;
        let taken = self.try_once(&mut Throttle::new(share, &urgency))?;
        // A store that is being closed has nobody wait.
        taken.ok_or(SnapshotError::Log(LogError::Closed))
    }

    /// None where it has writes that the log could not be given.
    fn try_once(&self, throttle: &mut Throttle<'_>) -> Result<Option<SnapshotReport>, SnapshotError> {
        if self.is_closing.load(Ordering::Relaxed) {
            return Err(SnapshotError::Log(LogError::Closed));
        }
        // The log's thread, for which writes wait, only has to change over to a file that is ready.
        let next = NextFile::create(&self.directory, LOG, self.shared.log_number.load(Ordering::Relaxed) + 1);
        let rotated = next.and_then(|next| self.shared.rotate_log(next));
        let (number, bytes_before) = rotated.map_err(|cause| SnapshotError::Rotate(cause.into()))?;
        let before = self.shared.positions.failures();
        let written = snapshot::write(&self.directory, number, &self.shared, &self.is_closing, throttle)?;
        // All that the snapshot has seen must be in the log before it counts.
        self.shared.sync_log().map_err(SnapshotError::Log)?;
        if self.shared.positions.failures() != before {
            return Ok(None);
        }
        let (report, removed) = written.publish(&self.directory, throttle)?;
        self.note_removed(removed);
        self.bytes_needless.store(bytes_before, Ordering::Relaxed);
        self.bytes_last.store(report.bytes - HEAD_BYTES as u64, Ordering::Relaxed);
        Ok(Some(report))
    }

    fn lock(&self) -> MutexGuard<'_, SnapshotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By how much the log grows from one that failed to the next.
fn retry_bytes(at_log_bytes: u64) -> u64 {
    (at_log_bytes / RETRY_PART).max(RETRY_BYTES_MIN)
}
