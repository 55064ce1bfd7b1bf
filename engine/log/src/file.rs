//! The file of a log that is being appended to: one frame at a time, as durable as was asked for. Who waits for that is
//! the business of `commit.rs`.

use crate::Durability;
use crate::disk::{DiskFile, ReadFile, sync_directory};
use crate::error::{LogError, OpenError};
use crate::frames::{
    FRAME_HEAD_BYTES, FileKind, HEAD_BYTES, LAST, LOG_FRAME_HEAD_BYTES, LOOSE, head, now_ms, seal, seal_timed,
};
use crate::log_state::{LogState, Sure};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where each frame is synced, zeros are written ahead of the frames: to sync what takes the place of zeros writes only
/// that, while a file that grows has its length and its place on the disk written each time too. As much as the file has,
/// within these bounds: a small store stays small, and a step takes a few milliseconds.
const AHEAD_BYTES_MIN: u64 = 64 * 1024;
const AHEAD_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// A log that has taken nothing for so long has written down how far it is sure.
const RESTS_AFTER: Duration = Duration::from_secs(1);
/// Rewritten at a time.
const PART_BYTES: u64 = 1024 * 1024;

/// A file without frames; it and its name are on the disk.
#[derive(Debug)]
pub struct NextFile {
    number: u64,
    file: DiskFile,
}

impl NextFile {
    pub fn create(directory: &Path, kind: FileKind, number: u64) -> io::Result<Self> {
        let file = DiskFile::create(kind.path(directory, number))?;
        file.write_all_at(&head(kind, number), 0)?;
        file.sync_all()?;
        sync_directory(directory)?;
        Ok(Self { number, file })
    }
}

/// The file that is being appended to.
#[derive(Debug)]
pub struct LogFile {
    file: DiskFile,
    number: u64,
    state: LogState,
    /// Good bytes; whatever is behind them is cut before the next frame is written.
    length: u64,
    /// Up to here there are zeros behind the frames; not less than `length`.
    ahead: u64,
    is_cut_due: bool,
    /// Of the next frame.
    sequence: u64,
    durability: Durability,
    /// Frames are not written: the next snapshot has what is in them.
    is_left_to_snapshot: bool,
    /// Not all of the frames are sure to be on the disk.
    is_loose: bool,
    /// When the oldest bytes that are not synced were written.
    unsynced_since: Option<Instant>,
    /// When the last frame was written that the state does not know of.
    unstated_since: Option<Instant>,
    /// A sync has failed, or what could not be written could not be cut off: what is on the disk behind the last sync is not known, whatever
    /// later syncs say. Nothing more is written.
    suspect: Option<LogError>,
}

impl LogFile {
    /// A new file, the first of a log or the one that goes on with it.
    pub fn create(
        directory: &Path,
        (kind, number): (FileKind, u64),
        sequence: u64,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        let path = kind.path(directory, number);
        let next =
            NextFile::create(directory, kind, number).map_err(|cause| OpenError::Write { path, cause })?;
        let sure = Sure { number, length: HEAD_BYTES as u64, sequence };
        // Before there is a frame: a log with frames has its state.
        let state = LogState::open(directory, kind, sure)?;
        Ok(Self::at(next.file, state, sure, durability))
    }

    /// Goes on with a file whose first `length` bytes are good, of which as many are sure to be on the disk as `known` says.
    pub fn resume(
        directory: &Path,
        kind: FileKind,
        sure: Sure,
        known: Option<Sure>,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        let path = kind.path(directory, sure.number);
        let known = known.filter(|known| known.number == sure.number).map_or(0, |known| known.length);
        let open = || -> io::Result<DiskFile> {
            let file = DiskFile::open(path.clone())?;
            file.set_len(sure.length)?;
            rewrite(&file, known, sure.length)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = open().map_err(|cause| OpenError::Write { path: path.clone(), cause })?;
        let state = LogState::open(directory, kind, sure)?;
        Ok(Self::at(file, state, sure, durability))
    }

    fn at(file: DiskFile, state: LogState, sure: Sure, durability: Durability) -> Self {
        let Sure { number, length, sequence } = sure;
        Self {
            file,
            number,
            state,
            length,
            ahead: length,
            is_cut_due: false,
            sequence,
            durability,
            is_left_to_snapshot: false,
            is_loose: false,
            unsynced_since: None,
            unstated_since: None,
            suspect: None,
        }
    }

    pub const fn leave_to_snapshot(&mut self) {
        self.is_left_to_snapshot = true;
    }

    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Of the next frame.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// It has no frames.
    pub const fn is_empty(&self) -> bool {
        self.length == HEAD_BYTES as u64
    }

    /// Writes one frame; `frame` begins with room for its head and time. On return it is as durable as was asked for.
    pub fn append(&mut self, frame: &mut [u8]) -> Result<(), LogError> {
        if self.is_left_to_snapshot {
            return Ok(());
        }
        if self.suspect.is_some() {
            return Err(LogError::Suspect { path: self.file.path().to_owned() });
        }
        debug_assert!(frame.len() > LOG_FRAME_HEAD_BYTES, "an empty frame would look like none");
        seal_timed(frame, self.sequence | if self.is_loose { LOOSE } else { 0 }, now_ms());
        if let Err(cause) = self.cut().and_then(|()| self.put(frame)) {
            // Not all of it was written: it can never come back. Cut off now, where that can be, else before the next frame.
            self.is_cut_due = true;
            let _ = self.cut();
            return Err(self.failed(cause));
        }
        if let Err(cause) = self.sync_as_asked() {
            // All of it was written: it may come back, whether it can be cut off or not.
            self.is_cut_due = true;
            let _ = self.cut();
            return Err(self.unknown(cause));
        }
        self.length += frame.len() as u64;
        self.sequence += 1;
        self.unstated_since = Some(Instant::now());
        Ok(())
    }

    fn put(&mut self, frame: &[u8]) -> io::Result<()> {
        let end = self.length + frame.len() as u64;
        if end > self.ahead && self.durability == Durability::Sync {
            self.go_ahead(end)?;
        }
        self.is_loose = true;
        self.file.write_all_at(frame, self.length)?;
        self.ahead = self.ahead.max(end);
        Ok(())
    }

    /// Zeros up to behind `end`. Where there is no room for them there may still be for the frame.
    fn go_ahead(&mut self, end: u64) -> io::Result<()> {
        let to = end + self.length.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        let zeros = vec![0; (to - self.ahead) as usize];
        match self.file.write_all_at(&zeros, self.ahead) {
            Ok(()) => self.ahead = to,
            // It cannot be sure how many were written: none are left. A failure comes again with the frame.
            Err(_) => self.is_cut_due = true,
        }
        self.cut()
    }

    /// A frame that could not be written whole is no part of the log.
    fn cut(&mut self) -> io::Result<()> {
        if self.is_cut_due {
            if let Err(cause) = self.file.set_len(self.length) {
                let told = io::Error::new(cause.kind(), cause.to_string());
                self.suspect = Some(self.failed(told));
                return Err(cause);
            }
            self.ahead = self.length;
            self.is_cut_due = false;
        }
        Ok(())
    }

    /// Nothing stands behind the frames.
    fn end(&mut self) -> io::Result<()> {
        self.is_cut_due |= self.ahead > self.length;
        self.cut()?;
        self.file.sync_all().inspect_err(|cause| self.suspect = Some(self.unknown_of(cause)))
    }

    /// All up to here is on the disk. Where that cannot be written down, less is known of it at the next start.
    fn state_sure(&mut self) {
        let sure = Sure { number: self.number, length: self.length, sequence: self.sequence };
        let _ = self.state.write(sure);
        self.unstated_since = None;
    }

    fn sync_as_asked(&mut self) -> io::Result<()> {
        match self.durability {
            Durability::Sync => self.sync_frames(),
            Durability::Interval(_) => {
                self.unsynced_since.get_or_insert_with(Instant::now);
                self.sync_if_due()
            }
            Durability::Off => Ok(()),
        }
    }

    /// With an interval: syncs where that has passed. A log that rests has written down how far it is sure.
    pub fn sync_if_due(&mut self) -> io::Result<()> {
        if let (Durability::Interval(interval), Some(since)) = (self.durability, self.unsynced_since)
            && since.elapsed() >= interval
        {
            self.unsynced_since = None;
            self.sync_frames()?;
        }
        if self.rest_due_in() == Duration::ZERO {
            self.state_sure();
        }
        Ok(())
    }

    /// A sync that succeeds says nothing of what one before it could not write.
    fn sync_frames(&mut self) -> io::Result<()> {
        if self.suspect.is_some() {
            return Err(io::Error::other("a sync has failed before"));
        }
        self.file.sync_data().inspect_err(|cause| self.suspect = Some(self.unknown_of(cause)))?;
        self.is_loose = false;
        Ok(())
    }

    /// Nothing more is taken: of what was being written nobody knows what there is.
    pub fn give_up(&mut self) {
        self.suspect.get_or_insert(LogError::Broken);
    }

    fn failed(&self, cause: io::Error) -> LogError {
        LogError::Write { path: self.file.path().to_owned(), cause: cause.into() }
    }

    fn unknown(&self, cause: io::Error) -> LogError {
        LogError::Unknown { path: self.file.path().to_owned(), cause: cause.into() }
    }

    fn unknown_of(&self, cause: &io::Error) -> LogError {
        self.unknown(io::Error::new(cause.kind(), cause.to_string()))
    }

    /// Why nothing more is written, and frames that were acknowledged without a sync may be lost.
    pub const fn suspect(&self) -> Option<&LogError> {
        self.suspect.as_ref()
    }

    /// When [`Self::sync_if_due`] has something to do.
    pub fn sync_due_in(&self) -> Duration {
        match self.durability {
            Durability::Interval(interval) => {
                let due = |since: Instant| interval.saturating_sub(since.elapsed());
                self.unsynced_since.map_or(Duration::MAX, due).min(self.rest_due_in())
            }
            Durability::Sync | Durability::Off => self.rest_due_in(),
        }
    }

    /// What was written and not synced is not sure.
    fn rest_due_in(&self) -> Duration {
        if self.durability == Durability::Off || self.unsynced_since.is_some() || self.suspect.is_some() {
            return Duration::MAX;
        }
        let due = |since: Instant| RESTS_AFTER.saturating_sub(since.elapsed());
        self.unstated_since.map_or(Duration::MAX, due)
    }

    /// Goes on in the next file, once the present one is whole on the disk. A file without frames is gone on with: it
    /// says nothing that a snapshot that is taken now does not know.
    pub fn rotate(&mut self, next: NextFile) -> io::Result<()> {
        if let Some(suspect) = &self.suspect {
            return Err(io::Error::other(suspect.to_string()));
        }
        self.cut()?;
        if self.is_empty() {
            return Ok(());
        }
        self.end()?;
        (self.file, self.number) = (next.file, next.number);
        (self.length, self.ahead) = (HEAD_BYTES as u64, HEAD_BYTES as u64);
        (self.unsynced_since, self.is_loose) = (None, false);
        self.state_sure();
        Ok(())
    }

    /// However the store was opened.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.sync_frames().map_err(|cause| self.unknown(cause))?;
        self.unsynced_since = None;
        Ok(())
    }

    /// All that was written is on the disk, and the file says so, so that damage to it is seen.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some(suspect) = &self.suspect {
            return Err(io::Error::other(suspect.to_string()));
        }
        self.end()?;
        self.state_sure();
        if self.is_empty() {
            return Ok(());
        }
        let mut mark = [0; FRAME_HEAD_BYTES];
        seal(&mut mark, LAST);
        let marked = self.file.write_all_at(&mark, self.length).and_then(|()| self.file.sync_data());
        // Without room for it the log is as whole as it is with it.
        marked.or_else(|_| self.file.set_len(self.length))
    }
}

/// Writes what a file has in a range to the same place. Of a process that has died nobody knows whether the system could write its
/// pages to the disk, and a sync need not say so again.
fn rewrite(file: &DiskFile, from: u64, to: u64) -> io::Result<()> {
    let read = ReadFile::open(file.path())?;
    let mut part = Vec::new();
    let mut at = from;
    while at < to {
        part.resize(PART_BYTES.min(to - at) as usize, 0);
        if read.read_at(&mut part, at)? < part.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_all_at(&part, at)?;
        at += part.len() as u64;
    }
    Ok(())
}
