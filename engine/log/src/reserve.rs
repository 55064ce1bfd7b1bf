//! Room on the disk that is kept back, as a file that means nothing: a full disk leaves room for what makes room again.
//!
//! It is given up in parts to frames that only remove, and as a whole to a snapshot; all other writes are refused until it is whole again.

use crate::disk::DiskFile;
use crate::error::is_disk_full;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
pub struct Reserve(Mutex<Inner>);

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
        let mut inner = Inner { path, file, wanted: wanted(bytes), held, is_lent: false };
        inner.fill();
        Self(Mutex::new(inner))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files have so many bytes now; it becomes larger, not smaller.
    pub fn grow_for(&self, bytes: u64) {
        let mut inner = self.lock();
        inner.wanted = inner.wanted.max(wanted(bytes));
        if !inner.is_lent {
            inner.fill();
        }
    }

    /// False where there is no room for it. While a snapshot has it, that is where there is not room for all of another one.
    pub fn restore(&self) -> bool {
        let mut inner = self.lock();
        if inner.is_lent {
            return inner
                .path
                .parent()
                .is_some_and(|directory| free_bytes(directory) > RESERVE_PART * inner.wanted);
        }
        inner.fill()
    }

    /// Gives up a part, for a frame of so many bytes that only removes; false where there is nothing left.
    pub fn release(&self, bytes: u64) -> bool {
        let mut inner = self.lock();
        let part = bytes.saturating_mul(2).max(RELEASED_BYTES_MIN);
        let held = inner.held;
        held > 0 && inner.shorten(held.saturating_sub(part))
    }

    /// Gives up all of it until it is [given back](Self::give_back); false where there is nothing.
    pub fn lend(&self) -> bool {
        let mut inner = self.lock();
        inner.is_lent = inner.held > 0 && inner.shorten(0);
        inner.is_lent
    }

    /// Takes it again; false where there is no room for it.
    pub fn give_back(&self) -> bool {
        let mut inner = self.lock();
        inner.is_lent = false;
        inner.fill()
    }
}

/// That may be taken of the disk; none where the system does not say.
fn free_bytes(directory: &Path) -> u64 {
    rustix::fs::statvfs(directory).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

impl Inner {
    /// False where there is no room.
    fn fill(&mut self) -> bool {
        let Some(file) = &self.file else { return true };
        if self.held >= self.wanted {
            return true;
        }
        match file.allocate(self.wanted) {
            Ok(()) => {
                self.held = self.wanted;
                true
            }
            // The limit is not on the disk: nothing that is kept back helps.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => true,
            Err(error) if is_disk_full(&error) || error.kind() == io::ErrorKind::Interrupted => {
                // A part of it may have been taken.
                let held = self.held;
                self.shorten(held);
                false
            }
            Err(_) => {
                self.file = None;
                let _ = crate::disk::remove(&self.path);
                true
            }
        }
    }

    fn shorten(&mut self, bytes: u64) -> bool {
        let Some(file) = &self.file else { return false };
        let is_shorter = file.set_len(bytes).is_ok();
        if is_shorter {
            self.held = bytes;
        }
        is_shorter
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
        assert!(reserve.restore() && reserve.lend() && !reserve.lend());
        assert_eq!(bytes(directory.path()), 0);
        assert!(reserve.give_back());
        assert_eq!(bytes(directory.path()), 2 * 1024 * 1024);
    }
}
