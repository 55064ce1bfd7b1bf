//! Room on the disk that is kept back, as a file that means nothing: a full disk leaves room for what makes room again.
//!
//! It is given up in parts to frames that only remove, and as a whole to a snapshot; all other writes are refused until it is whole again.

use crate::disk::DiskFile;
use crate::error::is_disk_full;
use crate::mutex::lock;
pub use crate::restorer::Attempt;
use crate::restorer::{Restore, Restorer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

/// Its name, in the directory of the store.
pub const RESERVE: &str = "reserve";
/// A delete is some bytes. So many of them can be made before anything is tidied up.
pub const RESERVE_BYTES_MIN: u64 = 256 * 1024;
pub const RESERVE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// So large a part of what the files of a store have is kept back: what is left after most was deleted has room in it.
const RESERVE_PART: u64 = 8;
/// The least that is given up at a time.
const RELEASED_BYTES_MIN: u64 = 64 * 1024;

/// The file, and how much of it there is.
#[derive(Debug)]
pub struct Reserve {
    room: Arc<Room>,
    restorer: Restorer,
    /// Of [`Room::failed`], when it was last looked at.
    failed_seen: AtomicU64,
}

/// What is shared with the thread that takes it again.
#[derive(Debug)]
struct Room {
    inner: Mutex<Inner>,
    /// The last attempt has found room for all of it, and nothing was given up since.
    is_whole: AtomicBool,
    /// How often there was not enough, a part of which may have been taken: whoever wrote at that moment may have found no room either.
    failed: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// None where the file cannot be had for another reason than that there is no room: then nothing is kept back.
    file: Option<DiskFile>,
    wanted: u64,
    held: u64,
    /// A snapshot has its room.
    is_lent: bool,
}

/// How much is kept back beside files of so many bytes.
fn wanted(bytes: u64) -> u64 {
    (bytes / RESERVE_PART).clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX)
}

impl Reserve {
    /// Beside files of so many bytes. Where there is no room for it, it is tried again by [`Self::restore`].
    pub fn open(directory: &Path, bytes: u64) -> Self {
        let path = directory.join(RESERVE);
        let open = || match DiskFile::open(path.clone()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => DiskFile::create(path.clone()),
            opened => opened,
        };
        let file = open().ok();
        let held = file.as_ref().and_then(|file| file.bytes().ok()).unwrap_or(0);
        let room = Room {
            inner: Mutex::new(Inner { path, file, wanted: wanted(bytes), held, is_lent: false }),
            is_whole: AtomicBool::new(false),
            failed: AtomicU64::new(0),
        };
        room.fill(&mut room.lock());
        Self { room: Arc::new(room), restorer: Restorer::default(), failed_seen: AtomicU64::new(0) }
    }

    /// The files have so many bytes now; it becomes larger, not smaller.
    pub fn grow_for(&self, bytes: u64) {
        let mut inner = self.room.lock();
        inner.wanted = inner.wanted.max(wanted(bytes));
        if !inner.is_lent {
            self.room.fill(&mut inner);
        }
    }

    /// False where there is no room for it. While a snapshot has it, that is where there is not room for all of another one.
    pub fn restore(&self) -> bool {
        self.room.restore()
    }

    /// What [`Self::restore`] would say, as far as that is known; does nothing.
    pub fn is_whole(&self) -> bool {
        self.room.is_whole.load(Relaxed)
    }

    /// Has [`Self::restore`] done, on another thread and after this call. Returns at once.
    pub fn ask(&self) -> Attempt {
        self.restorer.ask(&self.room)
    }

    /// What came of an attempt; false where that is not known within this time.
    pub fn wait(&self, attempt: Attempt, within: Duration) -> bool {
        self.restorer.wait(attempt, within)
    }

    /// As [`Self::wait`], for whoever does not block, without an end.
    pub fn poll(&self, attempt: Attempt, context: &Context<'_>) -> Poll<bool> {
        self.restorer.poll(attempt, context)
    }

    /// Gives up a part, for a frame of so many bytes that only removes; false where there is nothing left.
    pub fn release(&self, bytes: u64) -> bool {
        let mut inner = self.room.lock();
        let part = bytes.saturating_mul(2).max(RELEASED_BYTES_MIN);
        let held = inner.held;
        held > 0 && self.room.shorten(&mut inner, held.saturating_sub(part))
    }

    /// Whether a part of it was taken and given back since this was asked the last time: who found no room meanwhile may find some now.
    /// Waits for an attempt that is being made.
    pub fn was_in_the_way(&self) -> bool {
        let _inner = self.room.lock();
        let failed = self.room.failed.load(Relaxed);
        self.failed_seen.swap(failed, Relaxed) != failed
    }

    /// Gives up all of it until it is [given back](Self::give_back); false where there is nothing.
    pub fn lend(&self) -> bool {
        let mut inner = self.room.lock();
        inner.is_lent = inner.held > 0 && self.room.shorten(&mut inner, 0);
        inner.is_lent
    }

    /// Takes it again; false where there is no room for it.
    pub fn give_back(&self) -> bool {
        let mut inner = self.room.lock();
        inner.is_lent = false;
        self.room.fill(&mut inner)
    }

    /// Nothing is done to the file from now on by another thread.
    pub fn close(&self) {
        self.restorer.close();
    }
}

impl Restore for Room {
    fn restore(&self) -> bool {
        let mut inner = self.lock();
        if !inner.is_lent {
            return self.fill(&mut inner);
        }
        let is_enough = |free: Free| free.granted > RESERVE_PART * inner.wanted;
        let is_whole = Free::of(&inner.path).is_some_and(is_enough);
        self.is_whole.store(is_whole, Relaxed);
        is_whole
    }
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// False where there is no room.
    fn fill(&self, inner: &mut Inner) -> bool {
        let is_whole = self.try_to_fill(inner);
        self.is_whole.store(is_whole, Relaxed);
        is_whole
    }

    fn try_to_fill(&self, inner: &mut Inner) -> bool {
        let (Some(file), wanted) = (&inner.file, inner.wanted) else { return true };
        if inner.held >= wanted {
            return true;
        }
        // A file system may take what there is before it says that it is not enough, and others need that meanwhile.
        if Free::of(&inner.path).is_some_and(|free| free.all < wanted - inner.held) {
            return false;
        }
        match file.allocate(wanted) {
            Ok(()) => {
                inner.held = wanted;
                true
            }
            // The limit is not on the disk: nothing that is kept back helps.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => true,
            Err(error) if is_disk_full(&error) || error.kind() == io::ErrorKind::Interrupted => {
                // A part of it may have been taken.
                let held = inner.held;
                self.shorten(inner, held);
                self.failed.fetch_add(1, Relaxed);
                false
            }
            Err(_) => {
                inner.file = None;
                let _ = crate::disk::remove(&inner.path);
                true
            }
        }
    }

    fn shorten(&self, inner: &mut Inner, bytes: u64) -> bool {
        let Some(file) = &inner.file else { return false };
        let is_shorter = file.set_len(bytes).is_ok();
        if is_shorter {
            self.is_whole.store(false, Relaxed);
            inner.held = bytes;
        }
        is_shorter
    }
}

/// Bytes that are free on a disk.
struct Free {
    /// Those that only the system's own user may take included.
    all: u64,
    /// To whoever asks.
    granted: u64,
}

impl Free {
    /// Of the disk of a file; none where the system does not say.
    fn of(path: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(path.parent()?).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        // Some file systems count nothing.
        (disk.f_blocks > 0).then(|| Self { all: bytes(disk.f_bfree), granted: bytes(disk.f_bavail) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(directory: &Path) -> u64 {
        std::fs::metadata(directory.join(RESERVE)).expect("it is there").len()
    }

    #[test]
    fn it_is_a_part_of_the_files_within_bounds_and_comes_back() {
        let directory = tempfile::tempdir().expect("there is room");
        let reserve = Reserve::open(directory.path(), 0);
        assert_eq!(bytes(directory.path()), RESERVE_BYTES_MIN);
        reserve.grow_for(16 * 1024 * 1024);
        assert_eq!(bytes(directory.path()), 2 * 1024 * 1024);
        reserve.grow_for(0);
        assert_eq!(bytes(directory.path()), 2 * 1024 * 1024, "it does not become smaller meanwhile");
        assert_eq!(wanted(u64::MAX), RESERVE_BYTES_MAX);
        assert!(reserve.release(10));
        assert_eq!(bytes(directory.path()), 2 * 1024 * 1024 - RELEASED_BYTES_MIN);
        assert!(reserve.release(1024 * 1024) && !reserve.release(1), "there is an end to it");
        assert!(!reserve.is_whole());
        assert!(reserve.restore() && reserve.is_whole());
        assert!(reserve.lend() && !reserve.is_whole() && !reserve.lend());
        assert_eq!(bytes(directory.path()), 0);
        assert!(reserve.give_back() && reserve.is_whole());
        assert_eq!(bytes(directory.path()), 2 * 1024 * 1024);
        assert!(reserve.release(10));
        assert!(reserve.wait(reserve.ask(), Duration::from_secs(60)) && reserve.is_whole());
        assert_eq!(bytes(directory.path()), 2 * 1024 * 1024, "another thread takes it");
    }
}
