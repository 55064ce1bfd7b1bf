//! A directory that one process at a time has open, and files that are not to change while somebody reads them.

use crate::disk;
use crate::error::OpenError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// Makes the directory where there is none, and keeps other processes out of it as long as the file is open.
pub fn lock(directory: &Path, store: &'static str) -> Result<File, OpenError> {
    let path = directory.join("lock");
    let write = |cause| OpenError::Write { path: path.clone(), cause };
    disk::make_directory(directory).map_err(write)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(write)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(OpenError::InUse { store, directory: directory.to_owned() }),
        Err(error) => Err(write(error.into())),
    }
}

/// Keeps other processes out of a directory without making anything in it.
pub fn lock_for_reading(directory: &Path, store: &'static str) -> Result<Option<File>, OpenError> {
    let path = directory.join("lock");
    let read = |cause| OpenError::Read { path: path.clone(), cause };
    match File::open(&path) {
        Ok(file) => match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Err(OpenError::InUse { store, directory: directory.to_owned() }),
            Err(error) => Err(read(error.into())),
        },
        // A copy of a directory need not have it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(read(error)),
    }
}

/// Opens a file that is read for long: whoever removes it meanwhile leaves it its bytes
/// ([`DiskFile::lock_against_readers`](crate::disk::DiskFile::lock_against_readers)).
pub fn open_to_read(path: &Path) -> Result<File, OpenError> {
    let read = |cause| OpenError::Read { path: path.to_owned(), cause };
    let file = File::open(path).map_err(read)?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        // It is being removed, and may lack a part already.
        Err(error @ Errno::WOULDBLOCK) => Err(read(error.into())),
        // Where there are no locks nobody has one, and files are removed as they are.
        _ => Ok(file),
    }
}
