//! A copy of a store, also while it is served: the files of one moment, read again before they count.
//!
//! Nothing in the directory is changed, and nobody who writes to it waits: the files that the newest manifest needs are opened, and where
//! it is still the newest after that, they are the store at one moment, whatever becomes of their names. A log that is being written
//! ends with its last good frame.

use crate::error::BackupError;
use crate::format::{LOG, MANIFEST, SEGMENT, STORE};
use crate::manifest::Segments;
use crate::memory::Memory;
use crate::recover::read_manifest;
use crate::store::{CheckReport, check_files};
use prony_log::disk::{self, DiskFile, sync_directory};
use prony_log::error::{FileFault, OpenError};
use prony_log::frames::{End, FRAME_HEAD_BYTES, FileKind, Frames, HEAD_BYTES, LAST, seal};
use prony_log::lock::lock;
use prony_log::recover::{Recovering, Recovery, numbers};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A store has a new manifest a few times a second at most; opening its files takes milliseconds.
const OPEN_TRIES: usize = 100;
/// A log that is read while a frame is written may look damaged; what is damaged stays so.
const READ_TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(10);
/// What is written beside the log reaches the disk in parts of this size: the log's syncs wait for no more of it.
const PART_BYTES: usize = 1024 * 1024;

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
    let is_empty = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_empty {
        return Err(BackupError::Occupied { path: target.to_owned() });
    }
    let files = OpenFiles::open(directory)?;
    let part = part_of(target);
    // Held until it has its name: nobody else makes or serves the same meanwhile.
    let _lock = lock(&part, STORE)?;
    empty(&part)?;
    let made = make(&files, &part, target);
    if made.is_err() {
        // What is there of it takes room that the log may need; its name says that it is nothing.
        let _ = fs::remove_dir_all(&part);
    }
    made
}

fn make(files: &OpenFiles, part: &Path, target: &Path) -> Result<Backup, BackupError> {
    let bytes = files.copy(part)?;
    let report = check_files(part)?;
    if let Some(what) = report.problems.first() {
        return Err(BackupError::Damaged { what: what.clone() });
    }
    let above = match target.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    let named = disk::rename(part, target).and_then(|()| sync_directory(above));
    named.map_err(|cause| OpenError::Write { path: target.to_owned(), cause })?;
    Ok(Backup { report, bytes })
}

fn part_of(target: &Path) -> PathBuf {
    let mut name = OsString::from(target.as_os_str());
    name.push(".part");
    name.into()
}

/// Removes what a backup that was killed has left; refuses a directory that has anything else.
fn empty(part: &Path) -> Result<(), BackupError> {
    let read = |cause| OpenError::Read { path: part.to_owned(), cause };
    for entry in fs::read_dir(part).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        let name = name.to_string_lossy();
        let path = part.join(&*name);
        if [LOG, MANIFEST, SEGMENT].iter().any(|kind| kind.number_of(&name).is_some()) {
            disk::remove(&path).map_err(|cause| OpenError::Write { path, cause })?;
        } else if name != "lock" {
            return Err(BackupError::Occupied { path: part.to_owned() });
        }
    }
    Ok(())
}

/// The open files of a store at one moment.
#[derive(Debug)]
struct OpenFiles {
    directory: PathBuf,
    manifest: Option<(u64, File)>,
    segments: Segments,
    /// In the order of their numbers.
    logs: Vec<(u64, File)>,
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
        let logs = numbers(directory, LOG)?.into_iter().filter(|number| *number >= first);
        let logs = logs
            .map(|number| Ok((number, open(directory, LOG, number)?)))
            .collect::<Result<_, OpenError>>()?;
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
        let mut bytes = 0;
        // The last log first: it has frames only where those before it are whole by now.
        for (number, file) in self.logs.iter().rev() {
            bytes += self.copy_log(to, *number, file)?;
        }
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

    /// Up to its last good frame; nothing where there is none.
    fn copy_log(&self, to: &Path, number: u64, file: &File) -> Result<u64, OpenError> {
        let from = LOG.path(&self.directory, number);
        let mut tries = 0;
        let good = loop {
            match good_part(file, &from, number) {
                Err(OpenError::File { fault: FileFault::Damaged { .. }, .. }) if tries < READ_TRIES => {
                    tries += 1;
                    thread::sleep(PAUSE);
                }
                good => break good?,
            }
        };
        let Some(mut good) = good else { return Ok(0) };
        // The mark that all before it was on the disk, as a store that is closed has it: damage is seen.
        let end = good.len();
        good.resize(end + FRAME_HEAD_BYTES, 0);
        seal(&mut good[end..], LAST);
        let path = LOG.path(to, number);
        let write = || {
            let log = DiskFile::create(path.clone())?;
            log.write_all_at(&good, 0)?;
            log.sync_all()
        };
        write().map_err(|cause| OpenError::Write { path: path.clone(), cause })?;
        Ok(good.len() as u64)
    }
}

/// The bytes of a log from its head to the end of its last good frame; none where there is no frame.
fn good_part(file: &File, path: &Path, number: u64) -> Result<Option<Vec<u8>>, OpenError> {
    let bytes = read_all(file).map_err(|cause| OpenError::Read { path: path.to_owned(), cause })?;
    let mut frames = Frames::of(path, bytes, LOG, number)?;
    let (mut last, mut end) = (None, HEAD_BYTES);
    while let Some(frame) = frames.next_frame() {
        if frame.sequence == LAST {
            break;
        }
        (last, end) = (Some(frame.sequence), frame.offset + FRAME_HEAD_BYTES + frame.payload.len());
    }
    if let End::Damaged { offset, next } = frames.end(last) {
        let what = format!("the checksum does not fit, and good frames follow at {next}");
        return Err(OpenError::File { path: path.to_owned(), fault: FileFault::Damaged { offset, what } });
    }
    let mut bytes = frames.into_bytes();
    bytes.truncate(end);
    Ok(last.is_some().then_some(bytes))
}

/// As much as there is, also where it grows or is cut meanwhile.
fn read_all(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    let mut at = 0;
    while at < bytes.len() {
        match file.read_at(&mut bytes[at..], at as u64)? {
            0 => break,
            read => at += read,
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}

fn copy(from: &File, name: &Path, to: &Path) -> Result<u64, OpenError> {
    let read = |cause| OpenError::Read { path: name.to_owned(), cause };
    let write = |cause| OpenError::Write { path: to.to_owned(), cause };
    let bytes = from.metadata().map_err(read)?.len();
    let copy = DiskFile::create(to.to_owned()).map_err(write)?;
    let mut part = vec![0; PART_BYTES.min(bytes as usize)];
    let mut at = 0;
    while at < bytes {
        let part = &mut part[..PART_BYTES.min((bytes - at) as usize)];
        from.read_exact_at(part, at).map_err(read)?;
        copy.write_all_at(part, at).and_then(|()| copy.sync_data()).map_err(write)?;
        at += part.len() as u64;
    }
    copy.sync_all().map_err(write)?;
    Ok(bytes)
}
