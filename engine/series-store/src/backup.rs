//! A copy of a store, also while it is served: the files of one moment, read again before they count.
//!
//! Nothing in the directory is changed, and nobody who writes to it waits: the files that the newest manifest needs are opened, and where
//! it is still the newest after that, they are the store at one moment, whatever becomes of their names. A log that is being written
//! ends with its last good frame.

use crate::format::{LOG, MANIFEST, SEGMENT};
use crate::manifest::Segments;
use crate::memory::Memory;
use crate::recover::read_manifest;
use crate::store::{CheckReport, check_files};
use prony_log::backup::{BackupError, OPEN_TRIES, OpenLogs, PAUSE, copy, make_whole};
use prony_log::disk::sync_directory;
use prony_log::error::OpenError;
use prony_log::frames::FileKind;
use prony_log::recover::{Recovering, Recovery, numbers};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;

/// What a backup has, as a check of it has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub report: CheckReport,
    /// Of its files.
    pub bytes: u64,
}

/// Copies the series in a directory, which may be open elsewhere, to `target`, which must be empty or not exist. All that was durable when
/// it began is in it, of later writes the first or none, of no write a part. Until it is whole it is called `target` with `.part`
/// behind it; what an earlier one has left there is removed.
pub fn backup(directory: &Path, target: &Path) -> Result<Backup, BackupError> {
    make_whole(target, &[LOG, MANIFEST, SEGMENT], |part| {
        let bytes = OpenFiles::open(directory)?.copy(part)?;
        let report = check_files(part)?;
        match report.problems.first() {
            Some(what) => Err(BackupError::Damaged { what: what.clone() }),
            None => Ok(Backup { report, bytes }),
        }
    })
}

/// The open files of a store at one moment.
#[derive(Debug)]
struct OpenFiles {
    directory: PathBuf,
    manifest: Option<(u64, File)>,
    segments: Segments,
    logs: OpenLogs,
}

fn open(directory: &Path, kind: FileKind, number: u64) -> Result<File, OpenError> {
    let path = kind.path(directory, number);
    File::open(&path).map_err(|cause| OpenError::Read { path, cause })
}

fn is_gone(error: &OpenError) -> bool {
    matches!(error, OpenError::Read { cause, .. } if cause.kind() == io::ErrorKind::NotFound)
}

impl OpenFiles {
    fn open(directory: &Path) -> Result<Self, BackupError> {
        for _ in 0..OPEN_TRIES {
            let newest = numbers(directory, MANIFEST)?.last().copied();
            let manifest = match newest.map(|number| (number, open(directory, MANIFEST, number))) {
                Some((_, Err(error))) if is_gone(&error) => continue,
                Some((number, file)) => Some((number, file?)),
                None => None,
            };
            // What is missing is so because it was removed, where there is another manifest by now.
            let opened = Self::open_all(directory, manifest);
            let is_newest = match &opened {
                Ok(files) => files.has_newest_manifest()?,
                Err(_) => numbers(directory, MANIFEST)?.last().copied() == newest,
            };
            if is_newest {
                return Ok(opened?);
            }
            thread::sleep(PAUSE);
        }
        Err(BackupError::Busy { directory: directory.to_owned(), tries: OPEN_TRIES })
    }

    fn open_all(directory: &Path, manifest: Option<(u64, File)>) -> Result<Self, OpenError> {
        let mut memory = Memory::default();
        if let Some((number, _)) = &manifest {
            let mut files = Recovering { recovery: Recovery::default(), recover: false };
            read_manifest(&mut files, directory, *number, &mut memory)?;
        }
        let first = manifest.as_ref().map_or(1, |(number, _)| *number);
        let logs = OpenLogs::open(directory, LOG, first)?;
        let (directory, segments) = (directory.to_owned(), Segments::of(&memory));
        Ok(Self { directory, manifest, segments, logs })
    }

    /// Whether the manifest that was read has its name still, and none is newer.
    fn has_newest_manifest(&self) -> Result<bool, OpenError> {
        let newest = numbers(&self.directory, MANIFEST)?.last().copied();
        let Some((number, file)) = &self.manifest else { return Ok(newest.is_none()) };
        let path = MANIFEST.path(&self.directory, *number);
        let read = |cause| OpenError::Read { path: path.clone(), cause };
        let opened = file.metadata().map_err(read)?;
        Ok(newest == Some(*number)
            && fs::metadata(&path).is_ok_and(|now| (now.dev(), now.ino()) == (opened.dev(), opened.ino())))
    }

    /// Copies all; gives the bytes. They, and their names, are on the disk on return.
    fn copy(&self, to: &Path) -> Result<u64, BackupError> {
        let mut bytes = self.logs.copy(to)?;
        for segment in self.segments.rows.iter().chain(&self.segments.aggregates) {
            let path = SEGMENT.path(to, segment.entry.number);
            bytes += copy(segment.file(), segment.path(), &path)?;
        }
        if let Some((number, file)) = &self.manifest {
            let number = *number;
            bytes += copy(file, &MANIFEST.path(&self.directory, number), &MANIFEST.path(to, number))?;
        }
        sync_directory(to).map_err(|cause| OpenError::Write { path: to.to_owned(), cause })?;
        Ok(bytes)
    }
}
