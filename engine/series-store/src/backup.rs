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
use prony_log::Durability;
use prony_log::disk::{self, DiskFile, sync_directory};
use prony_log::error::{FileFault, OpenError};
use prony_log::file::LogFile;
use prony_log::frame_reader::{End, Frames};
use prony_log::frames::{FRAME_HEAD_BYTES, FileKind, HEAD_BYTES, LAST, seal};
use prony_log::lock::lock;
use prony_log::log_state::{self, LOG_STATE, LogState, Sure};
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
        if name == LOG_STATE || [LOG, MANIFEST, SEGMENT].iter().any(|kind| kind.number_of(&name).is_some()) {
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
        let (mut bytes, mut last) = (0, None);
        // The last log first: it has frames only where those before it are whole by now.
        for (number, file) in self.logs.iter().rev() {
            let Some(sure) = self.copy_log(to, *number, file)? else { continue };
            bytes += sure.length + FRAME_HEAD_BYTES as u64;
            last.get_or_insert(sure);
        }
        bytes += self.tell_end(to, last)?;
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

    /// The copy says where its log ends, so that a part of it that is lost later is missed; gives the bytes that this takes. Where there is
    /// no frame it has a log without any.
    fn tell_end(&self, to: &Path, last: Option<Sure>) -> Result<u64, OpenError> {
        let Some(last) = last else {
            let number = self.manifest.as_ref().map_or(1, |(number, _)| *number);
            let sequence = log_state::read(&self.directory, LOG)?.map_or(1, |known| known.sequence);
            LogFile::create(to, (LOG, number), sequence, Durability::Sync)?;
            return Ok(HEAD_BYTES as u64 + log_state::BYTES);
        };
        LogState::open(to, LOG, last)?;
        Ok(log_state::BYTES)
    }

    /// Up to its last good frame, and where that ends; nothing where there is none.
    fn copy_log(&self, to: &Path, number: u64, file: &File) -> Result<Option<Sure>, OpenError> {
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
        let good_bytes = good.map_or(HEAD_BYTES as u64, |good| good.length);
        if let Some(known) = log_state::read(&self.directory, LOG)?
            && known.number == number
            && known.length > good_bytes
        {
            let what = format!("all up to byte {} was on the disk", known.length);
            let fault = FileFault::Damaged { offset: good_bytes as usize, what };
            return Err(OpenError::File { path: from, fault });
        }
        let Some(sure) = good else { return Ok(None) };
        let path = LOG.path(to, number);
        let copied = copy_part(file, &from, &path, sure.length)?;
        // The mark that all before it was on the disk, as a store that is closed has it: damage is seen.
        let mut mark = [0; FRAME_HEAD_BYTES];
        seal(&mut mark, LAST);
        let write = || {
            copied.write_all_at(&mark, sure.length)?;
            copied.sync_all()
        };
        write().map_err(|cause| OpenError::Write { path: path.clone(), cause })?;
        Ok(good)
    }
}

/// Where the last good frame of a log ends; none where there is no frame.
fn good_part(file: &File, path: &Path, number: u64) -> Result<Option<Sure>, OpenError> {
    let read = |cause| OpenError::Read { path: path.to_owned(), cause };
    let mut frames = Frames::of(file.try_clone().map_err(read)?, path, LOG, number)?;
    let mut sure = None;
    while let Some(frame) = frames.next_frame()? {
        if frame.sequence == LAST {
            break;
        }
        sure = Some(Sure { number, length: frame.end as u64, sequence: frame.sequence + 1 });
    }
    if let End::Damaged { offset, next } = frames.end(sure.map(|sure| sure.sequence - 1))? {
        let what = format!("the checksum does not fit, and good frames follow at {next}");
        return Err(OpenError::File { path: path.to_owned(), fault: FileFault::Damaged { offset, what } });
    }
    Ok(sure)
}

fn copy(from: &File, name: &Path, to: &Path) -> Result<u64, OpenError> {
    let read = |cause| OpenError::Read { path: name.to_owned(), cause };
    let bytes = from.metadata().map_err(read)?.len();
    let copy = copy_part(from, name, to, bytes)?;
    copy.sync_all().map_err(|cause| OpenError::Write { path: to.to_owned(), cause })?;
    Ok(bytes)
}

/// So many bytes of a file.
fn copy_part(from: &File, name: &Path, to: &Path, bytes: u64) -> Result<DiskFile, OpenError> {
    let read = |cause| OpenError::Read { path: name.to_owned(), cause };
    let write = |cause| OpenError::Write { path: to.to_owned(), cause };
    let copy = DiskFile::create(to.to_owned()).map_err(write)?;
    let mut part = vec![0; PART_BYTES.min(bytes as usize)];
    let mut at = 0;
    while at < bytes {
        let part = &mut part[..PART_BYTES.min((bytes - at) as usize)];
        from.read_exact_at(part, at).map_err(read)?;
        copy.write_all_at(part, at).and_then(|()| copy.sync_data()).map_err(write)?;
        at += part.len() as u64;
    }
    Ok(copy)
}
