//! Room on the disk that is kept back, as a file that means nothing: a full disk leaves room for what makes room again.
//!
//! It is given up in parts to frames that only remove, and as a whole to a snapshot; all other writes are refused until it is whole again.

use crate::disk::DiskFile;
use crate::error::is_disk_full;
use crate::mutex::lock;
pub use crate::restorer::Attempt;
use crate::restorer::Restorer;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
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

/// The file, and the thread that takes it again.
#[derive(Debug)]
pub struct Reserve {
    file: Arc<Mutex<ReserveFile>>,
    /// Of [`ReserveFile::is_whole`], for those who do not wait for the disk.
    is_whole: Arc<AtomicBool>,
    restorer: Restorer,
}

/// How much of it there is.
#[derive(Debug)]
struct ReserveFile {
    path: PathBuf,
    /// None where the file cannot be had for another reason than that there is no room: then nothing is kept back.
    file: Option<DiskFile>,
    wanted: u64,
    held: u64,
    /// A snapshot has its room.
    is_lent: bool,
    /// There was not enough, and a part of it may have been taken: whoever wrote at that moment may have found no room either.
    was_in_the_way: bool,
    /// The last attempt has found room for all of it, and nothing was given up since.
    is_whole: Arc<AtomicBool>,
}

/// How much is kept back beside files of so many bytes.
fn wanted(bytes: u64) -> u64 {
    (bytes / RESERVE_PART).clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX)
}

impl Reserve {
    /// Beside files of so many bytes. Where there is no room for it, it is tried again by [`Self::restore`].
    pub fn open(directory: &Path, bytes: u64) -> Self {
        let is_whole = Arc::new(AtomicBool::new(false));
        let mut file = ReserveFile::open(directory.join(RESERVE), wanted(bytes), Arc::clone(&is_whole));
        file.fill();
        Self { file: Arc::new(Mutex::new(file)), is_whole, restorer: Restorer::default() }
    }

    /// Nothing is kept back, beside files that are only read.
    pub fn none() -> Self {
        let is_whole = Arc::new(AtomicBool::new(true));
        let file = ReserveFile {
            path: PathBuf::new(),
            file: None,
            wanted: 0,
            held: 0,
            is_lent: false,
            was_in_the_way: false,
            is_whole: Arc::clone(&is_whole),
        };
        Self { file: Arc::new(Mutex::new(file)), is_whole, restorer: Restorer::default() }
    }

    /// The files have so many bytes now; it becomes larger, not smaller.
    pub fn grow_for(&self, bytes: u64) {
        let mut file = lock(&self.file);
        file.wanted = file.wanted.max(wanted(bytes));
        if !file.is_lent {
            file.fill();
        }
    }

    /// False where there is no room for it. While a snapshot has it, that is where there is not room for all of another one.
    pub fn restore(&self) -> bool {
        lock(&self.file).restore()
    }

    /// What [`Self::restore`] would say, as far as that is known; does nothing.
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Relaxed)
    }

    /// Has [`Self::restore`] done, on another thread and after this call. Returns at once.
    pub fn ask(&self) -> Attempt {
        let file = Arc::clone(&self.file);
        self.restorer.ask(move || lock(&file).restore())
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
        let mut file = lock(&self.file);
        let part = bytes.saturating_mul(2).max(RELEASED_BYTES_MIN);
        let held = file.held;
        held > 0 && file.shorten(held.saturating_sub(part))
    }

    /// Whether a part of it was taken and given back since this was asked the last time: who found no room meanwhile may find some now.
    /// Waits for an attempt that is being made.
    pub fn was_in_the_way(&self) -> bool {
        std::mem::take(&mut lock(&self.file).was_in_the_way)
    }

    /// Gives up all of it until it is [given back](Self::give_back); false where there is nothing.
    pub fn lend(&self) -> bool {
        let mut file = lock(&self.file);
        file.is_lent = file.held > 0 && file.shorten(0);
        file.is_lent
    }

    /// Takes it again; false where there is no room for it.
    pub fn give_back(&self) -> bool {
        let mut file = lock(&self.file);
        file.is_lent = false;
        file.fill()
    }

    /// Nothing is done to the file from now on by another thread.
    pub fn close(&self) {
        self.restorer.close();
    }
}

impl ReserveFile {
    /// As it is, whatever is wanted.
    fn open(path: PathBuf, wanted: u64, is_whole: Arc<AtomicBool>) -> Self {
        let open = || match DiskFile::open(path.clone()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => DiskFile::create(path.clone()),
            opened => opened,
        };
        let file = open().ok();
        let held = file.as_ref().and_then(|file| file.bytes().ok()).unwrap_or(0);
        Self { path, file, wanted, held, is_lent: false, was_in_the_way: false, is_whole }
    }

    /// As [`Reserve::restore`].
    fn restore(&mut self) -> bool {
        if !self.is_lent {
            return self.fill();
        }
        let is_enough = |free: Free| free.granted > RESERVE_PART * self.wanted;
        let is_whole = Free::of(&self.path).is_some_and(is_enough);
        self.is_whole.store(is_whole, Relaxed);
        is_whole
    }

    /// False where there is no room.
    fn fill(&mut self) -> bool {
        let is_whole = self.try_to_fill();
        self.is_whole.store(is_whole, Relaxed);
        is_whole
    }

    fn try_to_fill(&mut self) -> bool {
        let (Some(file), wanted) = (&self.file, self.wanted) else { return true };
        if self.held >= wanted {
            return true;
        }
        // A file system may take what there is before it says that it is not enough, and others need that meanwhile.
        if Free::of(&self.path).is_some_and(|free| free.all < wanted - self.held) {
            return false;
        }
        match file.allocate(wanted) {
            Ok(()) => {
                self.held = wanted;
                true
            }
            // The limit is not on the disk: nothing that is kept back helps.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => true,
            Err(error) if is_disk_full(&error) || error.kind() == io::ErrorKind::Interrupted => {
                // A part of it may have been taken.
                self.shorten(self.held);
                self.was_in_the_way = true;
                false
            }
            Err(_) => {
                self.file = None;
                let _ = crate::disk::remove(&self.path);
                true
            }
        }
    }

    /// Cuts the file to so many bytes, where that can be done.
    fn shorten(&mut self, bytes: u64) -> bool {
        let Some(file) = &self.file else { return false };
        let is_shorter = file.set_len(bytes).is_ok();
        if is_shorter {
            self.is_whole.store(false, Relaxed);
            self.held = bytes;
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
