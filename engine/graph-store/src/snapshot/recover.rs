//! From a directory to the graph in memory: the newest snapshot, the log behind it, and what to do where they are damaged.

use crate::disk::{self, sync_directory};
use crate::error::{FileFault, OpenError};
use crate::log::format::{HEAD_BYTES, VERSION};
use crate::log::frames::{End, FileKind, Frames, LAST};
use crate::log::{LogFile, NextFile};
use crate::memory::Memory;
use crate::memory::bulk;
use crate::memory::free::WriterState;
use crate::options::Options;
use crate::snapshot::{remove_before, temporary_path};
use crate::types::change::Change;
use crate::types::codec::Input;
use crate::types::value::check_properties;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// What opening a store has found and mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The snapshot that was read, if there was one.
    pub snapshot: Option<u64>,
    pub snapshot_bytes: u64,
    /// Frames of the log behind it.
    pub frames: u64,
    /// Good bytes of the log behind it.
    pub log_bytes: u64,
    /// Bytes at the log's end that were being written when the process or the machine died. With [`crate::Durability::Sync`] no
    /// write among them had been acknowledged.
    pub torn_bytes: u64,
    /// Whole frames among them, written without [`crate::Durability::Sync`]: the machine died when not all before them was on the
    /// disk.
    pub torn_frames: u64,
    /// What was left out because it was damaged; only where that was asked for.
    pub lost: Vec<Loss>,
}

/// A part of a file that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub path: PathBuf,
    /// From here to the end of the file.
    pub offset: u64,
    pub bytes: u64,
    pub why: String,
}

#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) memory: Memory,
    pub(crate) state: WriterState,
    pub(crate) log: LogFile,
    pub(crate) recovery: Recovery,
}

/// Makes the directory where there is none, and keeps other processes out of it.
pub(crate) fn lock(directory: &Path) -> Result<File, OpenError> {
    let path = directory.join("lock");
    let write = |cause| OpenError::Write { path: path.clone(), cause };
    disk::make_directory(directory).map_err(write)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(write)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse(directory.to_owned())),
        Err(error) => Err(write(error.into())),
    }
}

/// Keeps other processes out of a directory without making anything in it.
pub(crate) fn lock_for_reading(directory: &Path) -> Result<Option<File>, OpenError> {
    let path = directory.join("lock");
    let read = |cause| OpenError::Read { path: path.clone(), cause };
    match File::open(&path) {
        Ok(file) => match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse(directory.to_owned())),
            Err(error) => Err(read(error.into())),
        },
        // A copy of a directory need not have it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(read(error)),
    }
}

/// A graph as its files have it.
pub(crate) struct Loaded {
    pub(crate) memory: Memory,
    pub(crate) state: WriterState,
    pub(crate) recovery: Recovery,
    /// Of the first file of the log, whether it is there or not.
    first: u64,
    tail: Option<Tail>,
}

pub(crate) fn recover(directory: &Path, options: Options) -> Result<Recovered, OpenError> {
    let Loaded { memory, state, recovery, first, tail } = load(directory, options)?;
    let log = match tail {
        Some(Tail { number, length, sequence, version }) if length > 0 => {
            let resumed = LogFile::resume(directory, number, length, sequence, options.durability)?;
            if version == VERSION { resumed } else { go_on_in_this_version(directory, resumed, options)? }
        }
        other => {
            let (number, sequence) = other.map_or((first, 1), |tail| (tail.number, tail.sequence));
            let path = FileKind::Log.path(directory, number);
            LogFile::create(directory, number, sequence, options.durability)
                .map_err(|cause| OpenError::Write { path, cause })?
        }
    };
    clean(directory, recovery.snapshot)?;
    Ok(Recovered { memory, state, log, recovery })
}

/// What this version writes is not put behind what an earlier one has written.
fn go_on_in_this_version(directory: &Path, mut log: LogFile, options: Options) -> Result<LogFile, OpenError> {
    if log.is_empty() {
        let (number, sequence) = (log.number(), log.sequence());
        let path = FileKind::Log.path(directory, number);
        return LogFile::create(directory, number, sequence, options.durability)
            .map_err(|cause| OpenError::Write { path, cause });
    }
    let path = FileKind::Log.path(directory, log.number() + 1);
    let rotated = NextFile::create(directory, log.number() + 1).and_then(|next| log.rotate(next));
    rotated.map(|()| log).map_err(|cause| OpenError::Write { path, cause })
}

/// Changes no file, but for those that [`Options::recover`] leaves out.
pub(crate) fn load(directory: &Path, options: Options) -> Result<Loaded, OpenError> {
    let mut loading = Loading { memory: Memory::default(), recovery: Recovery::default(), options };
    let (snapshots, logs) = files(directory)?;
    let snapshot = snapshots.last().copied();
    if let Some(number) = snapshot {
        loading.snapshot(directory, number)?;
    }
    let first = snapshot.unwrap_or(1);
    let mut logs: Vec<u64> = logs.into_iter().filter(|number| *number >= first).collect();
    drop_unused(directory, &mut logs)?;
    let tail = loading.logs(directory, first, &logs)?;
    let state = loading.build(directory)?;
    Ok(Loaded { memory: loading.memory, state, recovery: loading.recovery, first, tail })
}

/// Numbers of snapshots and of files of the log, in order.
fn files(directory: &Path) -> Result<(Vec<u64>, Vec<u64>), OpenError> {
    let read = |cause| OpenError::Read { path: directory.to_owned(), cause };
    let (mut snapshots, mut logs) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(directory).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        let name = name.to_string_lossy();
        snapshots.extend(FileKind::Snapshot.number_of(&name));
        logs.extend(FileKind::Log.number_of(&name));
    }
    snapshots.sort_unstable();
    logs.sort_unstable();
    Ok((snapshots, logs))
}

/// A file without frames is made ready before the one before it is whole on the disk.
fn drop_unused(directory: &Path, logs: &mut Vec<u64>) -> Result<(), OpenError> {
    while let [_, .., last] = logs[..] {
        let path = FileKind::Log.path(directory, last);
        let bytes = fs::metadata(&path).map_err(|cause| OpenError::Read { path, cause })?.len();
        if bytes > HEAD_BYTES as u64 {
            break;
        }
        logs.pop();
    }
    Ok(())
}

/// What a snapshot that was not finished, or one that was not cleaned up after, has left.
fn clean(directory: &Path, snapshot: Option<u64>) -> Result<(), OpenError> {
    let write = |cause| OpenError::Write { path: directory.to_owned(), cause };
    match disk::remove(&temporary_path(directory)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(write(error)),
        _ => {}
    }
    // The name of the snapshot, and of the log behind it: a process that was killed may have synced neither. Nothing that
    // they replace goes before that.
    sync_directory(directory).map_err(write)?;
    snapshot.map_or(Ok(()), |number| remove_before(directory, number, None)).map_err(write)
}

/// Where the log goes on.
#[derive(Debug, Clone, Copy)]
struct Tail {
    number: u64,
    /// Good bytes of the file; 0 where not even its head was whole.
    length: u64,
    /// Of the next frame.
    sequence: u64,
    version: u32,
}

struct Loading {
    memory: Memory,
    recovery: Recovery,
    options: Options,
}

impl Loading {
    fn snapshot(&mut self, directory: &Path, number: u64) -> Result<(), OpenError> {
        let path = FileKind::Snapshot.path(directory, number);
        let mut frames = Frames::open(&path, FileKind::Snapshot, number)?;
        self.recovery.snapshot = Some(number);
        self.recovery.snapshot_bytes = frames.len() as u64;
        if let Some(memory) = bulk::read_snapshot(&frames) {
            self.memory = memory;
            return Ok(());
        }
        // In order, to find out what is wrong with it and to keep what stands before that.
        let mut last = None;
        while let Some(frame) = frames.next() {
            if frame.sequence == LAST {
                return Ok(());
            }
            last = Some(frame.sequence);
            let offset = frame.offset;
            if let Err(what) = take(&mut self.memory, frame.payload) {
                return self.lose(&frames, offset, what);
            }
        }
        let (End::Torn { offset, .. } | End::Damaged { offset, .. }) = frames.end(last) else {
            return self.lose(&frames, frames.len(), "its end is missing".to_owned());
        };
        self.lose(&frames, offset, "the checksum does not fit".to_owned())
    }

    fn logs(&mut self, directory: &Path, first: u64, numbers: &[u64]) -> Result<Option<Tail>, OpenError> {
        let mut tail: Option<Tail> = None;
        for (place, number) in numbers.iter().enumerate() {
            if *number != first + place as u64 {
                let missing = FileKind::Log.path(Path::new(""), first + place as u64).display().to_string();
                return Err(OpenError::Missing { directory: directory.to_owned(), missing });
            }
            let is_last = place + 1 == numbers.len();
            let sequence = tail.map(|tail| tail.sequence);
            let found = self.log_file(directory, *number, sequence, is_last)?;
            self.recovery.log_bytes += found.length;
            tail = Some(found);
            if !self.recovery.lost.is_empty() && !is_last {
                return self.give_up_logs(directory, &numbers[place + 1..], found).map(Some);
            }
        }
        Ok(tail)
    }

    /// What follows a loss cannot be read: it may speak of what was lost.
    fn give_up_logs(&mut self, directory: &Path, numbers: &[u64], tail: Tail) -> Result<Tail, OpenError> {
        for number in numbers {
            let path = FileKind::Log.path(directory, *number);
            let bytes = fs::metadata(&path).map_or(0, |data| data.len());
            let aside = path.with_extension("lost");
            disk::rename(&path, &aside).map_err(|cause| OpenError::Write { path: path.clone(), cause })?;
            let why = "it follows what was lost".to_owned();
            self.recovery.lost.push(Loss { path: aside, offset: 0, bytes, why });
        }
        Ok(tail)
    }

    fn log_file(
        &mut self,
        directory: &Path,
        number: u64,
        expected: Option<u64>,
        is_last: bool,
    ) -> Result<Tail, OpenError> {
        let path = FileKind::Log.path(directory, number);
        let mut frames = Frames::open(&path, FileKind::Log, number)?;
        let version = frames.version();
        let mut expected = expected;
        let mut closed_at = None;
        while let Some(frame) = frames.next() {
            let (offset, sequence) = (frame.offset, frame.sequence);
            if sequence == LAST {
                closed_at = Some(offset);
                break;
            }
            if expected.is_some_and(|expected| expected != sequence) {
                self.lose(&frames, offset, format!("frame {sequence} stands where another is due"))?;
                return Ok(Tail { number, length: offset as u64, sequence: expected.unwrap_or(1), version });
            }
            if let Err(what) = take(&mut self.memory, frame.payload) {
                self.lose(&frames, offset, what)?;
                return Ok(Tail { number, length: offset as u64, sequence, version });
            }
            expected = Some(sequence + 1);
            self.recovery.frames += 1;
        }
        let sequence = expected.unwrap_or(1);
        let length = match frames.end(expected.map(|expected| expected - 1)) {
            End::Clean => frames.len(),
            End::Torn { offset, bytes, frames } if is_last => {
                (self.recovery.torn_bytes, self.recovery.torn_frames) = (bytes as u64, frames);
                offset
            }
            End::Torn { offset, .. } => {
                self.lose(&frames, offset, "it ends in the middle, and more of the log follows".to_owned())?;
                offset
            }
            End::Damaged { offset, next } => {
                self.lose(
                    &frames,
                    offset,
                    format!("the checksum does not fit, and good frames follow at {next}"),
                )?;
                offset
            }
        };
        let length = closed_at.unwrap_or(length);
        Ok(Tail { number, length: length as u64, sequence, version })
    }

    /// Notes a loss where that was asked for, else it is an error.
    fn lose(&mut self, frames: &Frames, offset: usize, what: String) -> Result<(), OpenError> {
        let path = frames.path().to_owned();
        if !self.options.recover {
            return Err(OpenError::File { path, fault: FileFault::Damaged { offset, what } });
        }
        let bytes = (frames.len() - offset.min(frames.len())) as u64;
        self.recovery.lost.push(Loss { path, offset: offset as u64, bytes, why: what });
        Ok(())
    }

    /// Keys and links. A relationship without one of its nodes can only be where something was lost; it goes too.
    fn build(&mut self, directory: &Path) -> Result<WriterState, OpenError> {
        let (state, orphans) = bulk::build(&self.memory);
        for at in orphans {
            if self.recovery.lost.is_empty() {
                let what = format!("relationship {} has lost a node", at.id());
                let fault = FileFault::Damaged { offset: 0, what };
                return Err(OpenError::File { path: directory.to_owned(), fault });
            }
            let why = format!("relationship {} had lost a node", at.id());
            self.recovery.lost.push(Loss { path: directory.to_owned(), offset: 0, bytes: 0, why });
        }
        Ok(state)
    }
}

/// The changes of one frame.
fn take(memory: &mut Memory, payload: &[u8]) -> Result<(), String> {
    let guard = crossbeam_epoch::pin();
    let mut input = Input::new(payload);
    while !input.is_empty() {
        let change = Change::read(&mut input).map_err(|damage| damage.to_string())?;
        match change {
            Change::Clear => *memory = Memory::default(),
            Change::PutNode { properties, .. } | Change::PutRelationship { properties, .. } => {
                check_properties(properties).map_err(|damage| damage.to_string())?;
                memory.put(&change, false, &guard);
            }
            change => memory.put(&change, false, &guard),
        }
    }
    Ok(())
}
