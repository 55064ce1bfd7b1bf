//! The file of a log that is being appended to: one frame at a time, as durable as was asked for. Who waits for that is
//! the business of `commit.rs`.

use crate::Durability;
use crate::disk::{DiskFile, sync_directory};
use crate::error::{LogError, OpenError};
use crate::frames::{FRAME_HEAD_BYTES, FileKind, HEAD_BYTES, LAST, LOOSE, head, seal};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where each frame is synced, zeros are written ahead of the frames: to sync what takes the place of zeros writes only
/// that, while a file that grows has its length and its place on the disk written each time too. As much as the file has,
/// within these bounds: a small store stays small, and a step takes a few milliseconds.
const AHEAD_BYTES_MIN: u64 = 64 * 1024;
const AHEAD_BYTES_MAX: u64 = 2 * 1024 * 1024;

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
    /// A sync has failed after its frames were acknowledged: they may not be on the disk, whatever later ones say.
    unsure: Option<LogError>,
}

impl LogFile {
    /// A new file.
    pub fn create(
        directory: &Path,
        (kind, number): (FileKind, u64),
        sequence: u64,
        durability: Durability,
    ) -> io::Result<Self> {
        let next = NextFile::create(directory, kind, number)?;
        Ok(Self::at((next.file, number), HEAD_BYTES as u64, sequence, durability))
    }

    /// Goes on with a file whose first `length` bytes are good.
    pub fn resume(
        directory: &Path,
        (kind, number): (FileKind, u64),
        length: u64,
        sequence: u64,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        let path = kind.path(directory, number);
        let open = || -> io::Result<DiskFile> {
            let file = DiskFile::open(path.clone())?;
            file.set_len(length)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = open().map_err(|cause| OpenError::Write { path: path.clone(), cause })?;
        Ok(Self::at((file, number), length, sequence, durability))
    }

    fn at((file, number): (DiskFile, u64), length: u64, sequence: u64, durability: Durability) -> Self {
        Self {
            file,
            number,
            length,
            ahead: length,
            is_cut_due: false,
            sequence,
            durability,
            is_left_to_snapshot: false,
            is_loose: false,
            unsynced_since: None,
            unsure: None,
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

    /// Writes one frame; `frame` begins with room for its head. On return it is as durable as was asked for.
    pub fn append(&mut self, frame: &mut [u8]) -> Result<(), LogError> {
        if self.is_left_to_snapshot {
            return Ok(());
        }
        debug_assert!(frame.len() > FRAME_HEAD_BYTES, "an empty frame would look like the end of a snapshot");
        seal(frame, self.sequence | if self.is_loose { LOOSE } else { 0 });
        let written = self.cut().and_then(|()| self.put(frame)).and_then(|()| self.sync_as_asked());
        if let Err(cause) = written {
            // Now, where that can be, so that what is taken back does not come again; else before the next frame.
            self.is_cut_due = true;
            let _ = self.cut();
            return Err(self.failed(cause));
        }
        self.length += frame.len() as u64;
        self.sequence += 1;
        Ok(())
    }

    fn put(&mut self, frame: &[u8]) -> io::Result<()> {
        let end = self.length + frame.len() as u64;
        if end > self.ahead && self.durability == Durability::Sync {
            self.go_ahead(end);
        }
        self.is_loose = true;
        self.file.write_all_at(frame, self.length)?;
        self.ahead = self.ahead.max(end);
        Ok(())
    }

    /// Zeros up to behind `end`. Where there is no room for them there may still be for the frame.
    fn go_ahead(&mut self, end: u64) {
        let to = end + self.length.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        let zeros = vec![0; (to - self.ahead) as usize];
        match self.file.write_all_at(&zeros, self.ahead) {
            Ok(()) => self.ahead = to,
            // It cannot be sure how many were written: none are left. A failure comes again with the frame.
            Err(_) => self.is_cut_due = true,
        }
        let _ = self.cut();
    }

    /// A frame that could not be written whole is no part of the log.
    fn cut(&mut self) -> io::Result<()> {
        if self.is_cut_due {
            self.file.set_len(self.length)?;
            self.ahead = self.length;
            self.is_cut_due = false;
        }
        Ok(())
    }

    /// Nothing stands behind the frames.
    fn end(&mut self) -> io::Result<()> {
        self.is_cut_due |= self.ahead > self.length;
        self.cut()?;
        self.file.sync_all()
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

    /// With an interval: syncs where that has passed.
    pub fn sync_if_due(&mut self) -> io::Result<()> {
        let Durability::Interval(interval) = self.durability else { return Ok(()) };
        if self.unsynced_since.is_some_and(|since| since.elapsed() >= interval) {
            self.unsynced_since = None;
            self.sync_acknowledged()?;
        }
        Ok(())
    }

    fn sync_acknowledged(&mut self) -> io::Result<()> {
        self.sync_frames().inspect_err(|cause| {
            let cause = io::Error::new(cause.kind(), cause.to_string());
            self.unsure = Some(self.failed(cause));
        })
    }

    /// A sync that succeeds says nothing of what one before it could not write.
    fn sync_frames(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.is_loose = self.unsure.is_some();
        Ok(())
    }

    fn failed(&self, cause: io::Error) -> LogError {
        LogError::Write { path: self.file.path().to_owned(), cause: cause.into() }
    }

    /// Why frames that were acknowledged may be lost when the machine fails; a snapshot has them again.
    pub const fn unsure(&self) -> Option<&LogError> {
        self.unsure.as_ref()
    }

    /// With an interval: when [`Self::sync_if_due`] has something to do.
    pub fn sync_due_in(&self) -> Duration {
        let Durability::Interval(interval) = self.durability else { return Duration::MAX };
        self.unsynced_since.map_or(Duration::MAX, |since| interval.saturating_sub(since.elapsed()))
    }

    /// Goes on in the next file, once the present one is whole on the disk. A file without frames is gone on with: it
    /// says nothing that a snapshot that is taken now does not know.
    pub fn rotate(&mut self, next: NextFile) -> io::Result<()> {
        self.cut()?;
        if self.is_empty() {
            return Ok(());
        }
        self.end()?;
        (self.file, self.number) = (next.file, next.number);
        (self.length, self.ahead) = (HEAD_BYTES as u64, HEAD_BYTES as u64);
        (self.unsynced_since, self.unsure, self.is_loose) = (None, None, false);
        Ok(())
    }

    /// However the store was opened.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.sync_frames().map_err(|cause| self.failed(cause))?;
        self.unsynced_since = None;
        Ok(())
    }

    /// All that was written is on the disk. Where frames are loose, the file says so, so that damage to them is seen.
    pub fn close(&mut self) -> io::Result<()> {
        self.end()?;
        if self.durability == Durability::Sync || self.is_empty() || self.unsure.is_some() {
            return Ok(());
        }
        let mut mark = [0; FRAME_HEAD_BYTES];
        seal(&mut mark, LAST);
        let marked = self.file.write_all_at(&mark, self.length).and_then(|()| self.file.sync_data());
        // Without room for it the log is as whole as it is with it.
        marked.or_else(|_| self.file.set_len(self.length))
    }
}
