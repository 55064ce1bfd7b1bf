//! What copies of stores that may be open elsewhere share: where a copy is made until it is whole, and how the files of a log are copied
//! while frames are written to them.

use crate::Durability;
use crate::disk::{self, DiskFile, sync_directory};
use crate::error::{FileFault, OpenError};
use crate::file::LogFile;
use crate::frame_reader::{End, Frame, Frames};
use crate::frames::{FRAME_HEAD_BYTES, FileKind, HEAD_BYTES, LAST, seal};
use crate::lock::{lock, open_to_read};
use crate::log_state::{self, LOG_STATE, LogState, Sure};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A store has a new newest file a few times a second at most; opening its files takes milliseconds.
pub const OPEN_TRIES: usize = 100;
/// A log that is read while a frame is written may look damaged; what is damaged stays so.
const READ_TRIES: usize = 20;
/// Between two tries.
pub const PAUSE: Duration = Duration::from_millis(10);
/// What is written beside the log reaches the disk in parts of this size: the log's syncs wait for no more of it.
const PART_BYTES: usize = 1024 * 1024;

/// Why there is no backup. What is backed up is as it was.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} is there already; name a directory that does not exist", path.display())]
    Occupied { path: PathBuf },
    /// A file cannot be read, or the copy cannot be written.
    #[error(transparent)]
    Files(#[from] OpenError),
    #[error("the newest file in {} was another one each of {tries} times; try again", directory.display())]
    Busy { directory: PathBuf, tries: usize },
    #[error("what was copied cannot be read: {what}")]
    Damaged { what: String },
}

/// Makes a copy of a store in `target`, which must be empty or not exist. Until `make` is done it is called `target` with `.part` behind it; what an
/// earlier one has left there, which are files of these kinds, is removed.
pub fn make_whole<T, E: From<BackupError> + From<OpenError>>(
    target: &Path,
    kinds: &[FileKind],
    make: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    let is_empty = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let store = kinds.first().map_or("store", |kind| kind.store);
    if !is_empty {
        return Err(BackupError::Occupied { path: target.to_owned() }.into());
    }
    let part = part_path(target);
    // Held until it has its name: nobody else makes or serves the same meanwhile.
    let _lock = lock(&part, store)?;
    empty(&part, kinds)?;
    let result = make(&part).and_then(|made| {
        let above = match target.parent() {
            Some(above) if !above.as_os_str().is_empty() => above,
            _ => Path::new("."),
        };
        let named = disk::rename(&part, target).and_then(|()| sync_directory(above));
        named.map_err(|cause| OpenError::Write { path: target.to_owned(), cause })?;
        Ok(made)
    });
    if result.is_err() {
        // What is there of it takes room that the log may need; its name says that it is nothing.
        let _ = fs::remove_dir_all(&part);
    }
    result
}

/// Where what gets this name is made until it is whole: beside it, also where the name is given with a slash at its end.
pub fn part_path(target: &Path) -> PathBuf {
    let mut name = OsString::from(target.components().as_path());
    name.push(".part");
    name.into()
}

/// Removes what a backup that was killed has left; refuses a directory that has anything else.
fn empty(part: &Path, kinds: &[FileKind]) -> Result<(), BackupError> {
    let read = |cause| OpenError::Read { path: part.to_owned(), cause };
    for entry in fs::read_dir(part).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        let name = name.to_string_lossy();
        let path = part.join(&*name);
        if name == LOG_STATE || kinds.iter().any(|kind| kind.number_of(&name).is_some()) {
            disk::remove(&path).map_err(|cause| OpenError::Write { path, cause })?;
        } else if name != "lock" {
            return Err(BackupError::Occupied { path: part.to_owned() });
        }
    }
    Ok(())
}

/// The open files of a log, in the order of their numbers.
#[derive(Debug)]
pub struct OpenLogs {
    directory: PathBuf,
    kind: FileKind,
    /// Of the file with which the log begins.
    first: u64,
    files: Vec<(u64, File)>,
    /// What was sure of the log before they were opened.
    known: Option<Sure>,
}

impl OpenLogs {
    /// Those from number `first` on.
    pub fn open(directory: &Path, kind: FileKind, first: u64) -> Result<Self, OpenError> {
        // Before the names are read: all that it knows of has to be there.
        let known = log_state::read(directory, kind)?.filter(|known| known.number >= first);
        let numbers = crate::recover::numbers(directory, kind)?.into_iter().filter(|number| *number >= first);
        let open = |number| Ok((number, open_to_read(&kind.path(directory, number))?));
        let files = numbers.map(open).collect::<Result<_, OpenError>>()?;
        Ok(Self { directory: directory.to_owned(), kind, first, files, known })
    }

    /// Copies them up to their last good frames; gives the bytes. They are on the disk on return, their names may not be.
    pub fn copy(&self, to: &Path) -> Result<u64, OpenError> {
        let (mut bytes, mut last) = (0, None);
        // The last one first: it has frames only where those before it are whole by now.
        for (number, file) in self.files.iter().rev() {
            let Some(sure) = self.copy_log(to, *number, file)? else { continue };
            bytes += sure.length + FRAME_HEAD_BYTES as u64;
            last.get_or_insert(sure);
        }
        self.expect_all(last)?;
        Ok(bytes + self.tell_end(to, last)?)
    }

    /// Calls `take` with each good frame and the file that it stands in, in order; gives the number of the frame that comes next, where there
    /// is anything that tells.
    pub fn each_frame<E: From<OpenError>>(
        &self,
        take: &mut dyn FnMut(&Path, &Frame<'_>) -> Result<(), E>,
    ) -> Result<Option<u64>, E> {
        // The last one first, as when they are copied.
        let ends = self.files.iter().rev().map(|(number, file)| self.good_part(*number, file));
        let mut ends = ends.collect::<Result<Vec<_>, _>>()?;
        let last = ends.iter().find_map(|sure| *sure);
        self.expect_all(last)?;
        ends.reverse();
        for ((number, file), sure) in self.files.iter().zip(ends) {
            let Some(sure) = sure else { continue };
            let path = self.kind.path(&self.directory, *number);
            let file = file.try_clone().map_err(|cause| OpenError::Read { path: path.clone(), cause })?;
            let mut frames = Frames::of(file, &path, self.kind, *number)?;
            while let Some(frame) = frames.next_frame()?.filter(|frame| (frame.offset as u64) < sure.length) {
                take(&path, &frame)?;
            }
        }
        Ok(last.or(self.known).map(|sure| sure.sequence))
    }

    /// Nothing is missing that was sure.
    fn expect_all(&self, last: Option<Sure>) -> Result<(), OpenError> {
        let Some(known) = self.known else { return Ok(()) };
        let newest = self.files.last().map_or(0, |(number, _)| *number);
        if newest < known.number {
            let missing = self.kind.path(Path::new(""), known.number).display().to_string();
            let directory = self.directory.clone();
            return Err(OpenError::Missing { store: self.kind.store, directory, missing, otherwise: "" });
        }
        let is_there = match last {
            Some(last) => last.sequence >= known.sequence,
            None => known.length <= HEAD_BYTES as u64,
        };
        if is_there {
            return Ok(());
        }
        let path = self.kind.path(&self.directory, known.number);
        let offset =
            last.filter(|last| last.number == known.number).map_or(HEAD_BYTES, |last| last.length as usize);
        let what = format!("frame {} was on the disk, and is not there", known.sequence.saturating_sub(1));
        Err(OpenError::File { path, fault: FileFault::Damaged { offset, what } })
    }

    /// The copy says where its log ends, so that a part of it that is lost later is missed; gives the bytes that this takes. Where there is
    /// no frame it has a log without any.
    fn tell_end(&self, to: &Path, last: Option<Sure>) -> Result<u64, OpenError> {
        let Some(last) = last else {
            let number = self.first;
            let sequence = self.known.map_or(1, |known| known.sequence);
            LogFile::create(to, (self.kind, number), sequence, Durability::Sync)?;
            return Ok(HEAD_BYTES as u64 + log_state::BYTES);
        };
        LogState::open(to, self.kind, last)?;
        Ok(log_state::BYTES)
    }

    fn good_part(&self, number: u64, file: &File) -> Result<Option<Sure>, OpenError> {
        let path = self.kind.path(&self.directory, number);
        let mut tries = 0;
        loop {
            match good_part(file, &path, (self.kind, number)) {
                Err(OpenError::File { fault: FileFault::Damaged { .. }, .. }) if tries < READ_TRIES => {
                    tries += 1;
                    thread::sleep(PAUSE);
                }
                good => return good,
            }
        }
    }

    /// Up to its last good frame, and where that ends; nothing where there is none.
    fn copy_log(&self, to: &Path, number: u64, file: &File) -> Result<Option<Sure>, OpenError> {
        let from = self.kind.path(&self.directory, number);
        let good = self.good_part(number, file)?;
        let Some(sure) = good else { return Ok(None) };
        let path = self.kind.path(to, number);
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
fn good_part(file: &File, path: &Path, (kind, number): (FileKind, u64)) -> Result<Option<Sure>, OpenError> {
    let read = |cause| OpenError::Read { path: path.to_owned(), cause };
    let mut frames = Frames::of(file.try_clone().map_err(read)?, path, kind, number)?;
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

/// Copies a whole file; gives its bytes. They are on the disk on return.
pub fn copy(from: &File, name: &Path, to: &Path) -> Result<u64, OpenError> {
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
