//! A copy of a graph, also while it is served: the files of one moment, read again before they count.
//!
//! Nothing in the directory is changed, and nobody who writes to it waits: the newest snapshot and the log behind it are opened, and where that
//! snapshot is still the newest after that, they are the graph at one moment, whatever becomes of their names: what a later snapshot
//! removes keeps its bytes as long as it is open here.

use crate::format::{LOG, SNAPSHOT};
use crate::snapshot::check::{CheckReport, check_files};
use prony_log::backup::{BackupError, OPEN_TRIES, OpenLogs, PAUSE, copy, make_whole};
use prony_log::disk::sync_directory;
use prony_log::error::OpenError;
use prony_log::lock::open_to_read;
use prony_log::recover::numbers;
use std::fs::File;
use std::path::Path;
use std::thread;

/// What a backup has, as a check of it has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub report: CheckReport,
    /// Of its files.
    pub bytes: u64,
}

/// Copies the graph in a directory, which may be open elsewhere, to `target`, which must be empty or not exist. All that was durable when
/// it began is in it, of later writes the first or none, of no write a part. Until it is whole it is called `target` with `.part`
/// behind it; what an earlier one has left there is removed.
///
/// # Errors
/// Also where something in the directory is damaged or missing, or the copy cannot be read; there is no backup then.
pub fn backup(directory: &Path, target: &Path) -> Result<Backup, BackupError> {
    make_whole(target, &[LOG, SNAPSHOT], |part| {
        let (snapshot, logs) = open(directory)?;
        let mut bytes = logs.copy(part)?;
        if let Some((number, file)) = &snapshot {
            bytes += copy(file, &SNAPSHOT.path(directory, *number), &SNAPSHOT.path(part, *number))?;
        }
        sync_directory(part).map_err(|cause| OpenError::Write { path: part.to_owned(), cause })?;
        let report = check_files(part)?;
        match report.problems.first() {
            Some(what) => Err(BackupError::Damaged { what: what.clone() }),
            None => Ok(Backup { report, bytes }),
        }
    })
}

/// The newest snapshot, and the log behind it.
pub(crate) fn open(directory: &Path) -> Result<(Option<(u64, File)>, OpenLogs), BackupError> {
    let newest = || Ok::<_, OpenError>(numbers(directory, SNAPSHOT)?.last().copied());
    for _ in 0..OPEN_TRIES {
        let number = newest()?;
        let opened = open_from(directory, number);
        // What is missing is so because it was removed, where there is another snapshot by now.
        if newest()? == number {
            return Ok(opened?);
        }
        thread::sleep(PAUSE);
    }
    Err(BackupError::Busy { directory: directory.to_owned(), tries: OPEN_TRIES })
}

fn open_from(directory: &Path, number: Option<u64>) -> Result<(Option<(u64, File)>, OpenLogs), OpenError> {
    let open = |number: u64| open_to_read(&SNAPSHOT.path(directory, number)).map(|file| (number, file));
    let snapshot = number.map(open).transpose()?;
    Ok((snapshot, OpenLogs::open(directory, LOG, number.unwrap_or(1))?))
}
