//! All that is done to the files of a graph, step by step. In tests steps are also written down, so that what a loss of
//! power leaves of a disk can be made of them (`power_loss.rs`); elsewhere they cost what the system's calls do.

#[cfg(test)]
pub(crate) mod power_loss;
mod step;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

#[cfg(test)]
use crate::disk::power_loss::perform;
use crate::disk::step::Step;

#[cfg(not(test))]
fn perform<T>(_: Step<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    act()
}

/// A file that is written.
#[derive(Debug)]
pub(crate) struct DiskFile {
    path: PathBuf,
    file: File,
}

impl DiskFile {
    /// Without any bytes.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let create = || OpenOptions::new().create(true).truncate(true).write(true).open(&path);
        let file = perform(Step::Create(&path), create)?;
        Ok(Self { path, file })
    }

    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(&path)?;
        Ok(Self { path, file })
    }

    /// As it was when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|data| data.len())
    }

    pub(crate) fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        perform(Step::Write { path: &self.path, at, bytes }, || self.file.write_all_at(bytes, at))
    }

    pub(crate) fn set_len(&self, bytes: u64) -> io::Result<()> {
        perform(Step::SetLength { path: &self.path, bytes }, || self.file.set_len(bytes))
    }

    /// What was written, and the length.
    pub(crate) fn sync_data(&self) -> io::Result<()> {
        perform(Step::Sync(&self.path), || self.file.sync_data())
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        perform(Step::Sync(&self.path), || self.file.sync_all())
    }
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    perform(Step::Rename { from, to }, || fs::rename(from, to))
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    perform(Step::Remove(path), || fs::remove_file(path))
}

/// A directory's own entries reach the disk only when it is synced itself.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    perform(Step::SyncDirectory(directory), || File::open(directory)?.sync_all())
}

/// Makes a directory and those above it where there are none; their names are on the disk.
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
    if !above.is_dir() {
        make_directory(above)?;
    }
    match perform(Step::MakeDirectory(directory), || fs::create_dir(directory)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !directory.is_dir() => {
            return Err(error);
        }
        _ => {}
    }
    sync_directory(above)
}
