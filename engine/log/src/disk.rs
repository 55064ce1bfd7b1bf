//! All that is done to the files of a store, step by step. With the feature `power-loss` steps are also written down, so that
//! what a loss of power leaves of a disk can be made of them (`power_loss.rs`); without it they cost what the system's calls do.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

#[cfg(feature = "power-loss")]
use crate::power_loss::perform;
use crate::step::Step;

#[cfg(not(feature = "power-loss"))]
fn perform<T>(_: Step<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    act()
}

/// A file that is written.
#[derive(Debug)]
pub struct DiskFile {
    path: PathBuf,
    file: File,
}

impl DiskFile {
    /// Without any bytes.
    pub fn create(path: PathBuf) -> io::Result<Self> {
        let create = || OpenOptions::new().create(true).truncate(true).write(true).open(&path);
        let file = perform(Step::Create(&path), create)?;
        Ok(Self { path, file })
    }

    pub fn open(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(&path)?;
        Ok(Self { path, file })
    }

    /// As it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn bytes(&self) -> io::Result<u64> {
        self.file.metadata().map(|data| data.len())
    }

    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        perform(Step::Write { path: &self.path, at, bytes }, || self.file.write_all_at(bytes, at))
    }

    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        perform(Step::SetLength { path: &self.path, bytes }, || self.file.set_len(bytes))
    }

    /// Whether nobody reads it who has opened it for that (`open_to_read`); then nobody can begin to as long as it is open here.
    pub fn lock_against_readers(&self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Takes the room for so many bytes, which mean nothing.
    pub fn allocate(&self, bytes: u64) -> io::Result<()> {
        perform(Step::SetLength { path: &self.path, bytes }, || {
            Ok(rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
        })
    }

    /// What was written, and the length.
    pub fn sync_data(&self) -> io::Result<()> {
        perform(Step::Sync(&self.path), || self.file.sync_data())
    }

    pub fn sync_all(&self) -> io::Result<()> {
        perform(Step::Sync(&self.path), || self.file.sync_all())
    }
}

/// A file that is read.
#[derive(Debug)]
pub struct ReadFile {
    path: PathBuf,
    file: File,
}

impl ReadFile {
    pub fn open(path: &Path) -> io::Result<Self> {
        perform(Step::Read(path), || File::open(path)).map(|file| Self::of(file, path))
    }

    /// Of a file that is open; its name is for messages.
    pub fn of(file: File, path: &Path) -> Self {
        Self { path: path.to_owned(), file }
    }

    pub fn bytes(&self) -> io::Result<u64> {
        self.file.metadata().map(|data| data.len())
    }

    /// What is read from now on comes from the disk, where the system does as it is told: of what was synced it has a copy in memory.
    pub fn forget_cached(&self) {
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// As many bytes as there are from there on, at most as many as there is room for; how many these are.
    pub fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        perform(Step::Read(&self.path), || {
            let mut read = 0;
            while read < bytes.len() {
                match self.file.read_at(&mut bytes[read..], at + read as u64) {
                    Ok(0) => break,
                    Ok(more) => read += more,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(read)
        })
    }
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    perform(Step::Rename { from, to }, || fs::rename(from, to))
}

pub fn remove(path: &Path) -> io::Result<()> {
    perform(Step::Remove(path), || fs::remove_file(path))
}

/// A directory's own entries reach the disk only when it is synced itself.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    perform(Step::SyncDirectory(directory), || File::open(directory)?.sync_all())
}

/// Makes a directory and those above it where there are none; their names are on the disk. Each is synced before one is made
/// in it: only the name of the deepest that stands already may be missing there.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    let above = match directory.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => return Ok(()),
    };
    if directory.is_dir() {
        // Whoever made it may have died before its name was on the disk. It may stand where nothing can be read.
        let _ = sync_directory(above);
        return Ok(());
    }
    make_directory(above)?;
    match perform(Step::MakeDirectory(directory), || fs::create_dir(directory)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Err(error) if !directory.is_dir() => {
            let text = format!("{} is a file, and no directory", directory.display());
            return Err(io::Error::new(error.kind(), text));
        }
        _ => {}
    }
    sync_directory(above)
}
