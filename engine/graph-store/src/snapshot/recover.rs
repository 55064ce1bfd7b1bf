//! From a directory to the graph in memory: the newest snapshot, the log behind it, and what to do where they are damaged.

use crate::format::{LOG, SNAPSHOT};
use crate::memory::Memory;
use crate::memory::bulk;
use crate::memory::free::WriterState;
use crate::options::Options;
use crate::snapshot::{remove_before, temporary_path};
use crate::types::change::{Change, Side};
use crate::types::id::Ref;
use crate::types::value::check_properties;
use prony_log::Durability;
use prony_log::codec::Input;
use prony_log::disk::{self, sync_directory};
use prony_log::error::{FileFault, OpenError};
use prony_log::file::LogFile;
use prony_log::frame_reader::{End, Frames};
use prony_log::frames::{HEAD_BYTES, LAST};
use prony_log::recover::{Loss, Recovering, Recovery, Tail, numbers, resume};
use prony_log::set_aside::set_aside;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) memory: Memory,
    pub(crate) state: WriterState,
    pub(crate) log: LogFile,
    pub(crate) recovery: Recovery,
    /// Whether what is needless could be removed: nobody reads it, and the graph can be used without that.
    pub(crate) removed: io::Result<()>,
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
    let log = resume(directory, LOG, (first, tail), options.durability)?;
    let removed = clean(directory, recovery.snapshot)?;
    Ok(Recovered { memory, state, log, recovery, removed })
}

/// The graph in a directory that another process may have open, as its files have it; empty where there is no directory. Changes no file.
pub(crate) fn look(directory: &Path) -> Result<Loaded, OpenError> {
    if directory.exists() {
        return prony_log::recover::look(|| load(directory, Options::new(Durability::Sync)));
    }
    let (memory, state) = (Memory::default(), WriterState::default());
    Ok(Loaded { memory, state, recovery: Recovery::default(), first: 1, tail: None })
}

/// Changes no file, but for those that [`Options::recover`] leaves out.
pub(crate) fn load(directory: &Path, options: Options) -> Result<Loaded, OpenError> {
    let files = Recovering { recovery: Recovery::default(), recover: options.recover };
    let mut loading = Loading { memory: Memory::default(), dropped: HashSet::new(), files };
    let replaced = loading.newest_snapshot(directory)?;
    let snapshot = loading.files.recovery.snapshot;
    let first = snapshot.unwrap_or(1);
    let Loading { memory, dropped, files } = &mut loading;
    let is_lossy = !files.recovery.lost.is_empty();
    let mut left_out = 0;
    let tail = files.logs(directory, LOG, first, &mut |payload| {
        left_out += take(memory, dropped, payload, is_lossy)?;
        Ok(())
    })?;
    if tail.is_none() && snapshot.is_some() && files.recovery.lost.is_empty() {
        // The file with the snapshot's number is made before the snapshot.
        files.lose_file(directory, LOG, first)?;
    }
    let of_logs = std::mem::replace(&mut files.recovery.lost, replaced);
    files.recovery.lost.extend(of_logs);
    let losses = loading.files.recovery.lost.len();
    let state = loading.build(directory)?;
    if is_lossy && (left_out > 0 || loading.files.recovery.lost.len() > losses) {
        loading.keep_logs(directory, first, left_out)?;
    }
    Ok(Loaded { memory: loading.memory, state, recovery: loading.files.recovery, first, tail })
}

/// Whether the snapshot that was read is damaged, so that the next start would find it so again.
pub(crate) fn is_snapshot_damaged(directory: &Path, recovery: &Recovery) -> bool {
    let path = recovery.snapshot.map(|number| SNAPSHOT.path(directory, number));
    path.is_some_and(|path| recovery.lost.iter().any(|loss| loss.path == path))
}

/// What a snapshot that was not finished, or one that was not cleaned up after, has left; within, whether all of it could be removed.
fn clean(directory: &Path, snapshot: Option<u64>) -> Result<io::Result<()>, OpenError> {
    let removed = match disk::remove(&temporary_path(directory)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    // The name of the snapshot, and of the log behind it: a process that was killed may have synced neither. Nothing that
    // they replace goes before that.
    sync_directory(directory).map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })?;
    Ok(removed.and(snapshot.map_or(Ok(()), |number| remove_before(directory, number, None))))
}

struct Loading {
    memory: Memory,
    /// Nodes that the log has dropped and not made again: relationships of theirs may be left.
    dropped: HashSet<Ref>,
    files: Recovering,
}

impl Loading {
    /// The newest snapshot. Where that is damaged, the files that it was to take the place of are read if they are still there; the result is
    /// of snapshots that are left out for that.
    fn newest_snapshot(&mut self, directory: &Path) -> Result<Vec<Loss>, OpenError> {
        let (mut snapshots, logs) = (numbers(directory, SNAPSHOT)?, numbers(directory, LOG)?);
        let mut replaced = Vec::new();
        while let Some(number) = snapshots.pop() {
            self.snapshot(directory, number)?;
            if self.files.recovery.lost.is_empty() {
                break;
            }
            let first = snapshots.last().copied().unwrap_or(1);
            let has_log = |number: u64| logs.binary_search(&number).is_ok();
            let is_whole = !snapshots.is_empty() && (first..number).all(has_log);
            // Of a snapshot with a damaged head nothing was read: what is older is better than that.
            let is_all_there_is = self.files.recovery.snapshot_bytes == 0 && has_log(first);
            if first == number || !(is_whole || is_all_there_is) {
                let why = "the snapshot that was to take its place is damaged";
                self.files.leave_out(directory, SNAPSHOT, &snapshots, why)?;
                let needless = logs.partition_point(|log| *log < number);
                self.files.leave_out(directory, LOG, &logs[..needless], why)?;
                break;
            }
            let path = SNAPSHOT.path(directory, number);
            disk::remove(&path).map_err(|cause| OpenError::Write { path, cause })?;
            let anew = Recovering { recovery: Recovery::default(), recover: true };
            let left_out = std::mem::replace(&mut self.files, anew).recovery.lost;
            replaced.extend(left_out.into_iter().map(|mut loss| {
                loss.why.push_str("; the files before it are read in its place");
                loss
            }));
            (self.memory, self.dropped) = (Memory::default(), HashSet::new());
        }
        Ok(replaced)
    }

    fn snapshot(&mut self, directory: &Path, number: u64) -> Result<(), OpenError> {
        let path = SNAPSHOT.path(directory, number);
        self.files.recovery.snapshot = Some(number);
        let mut frames = match Frames::open(&path, SNAPSHOT, number) {
            Err(OpenError::File { fault: fault @ (FileFault::Head | FileFault::Foreign { .. }), .. })
                if self.files.recover =>
            {
                let bytes = fs::metadata(&path).map_or(0, |data| data.len());
                return self.files.lose_rest(&path, bytes as usize, 0, fault.to_string());
            }
            opened => opened?,
        };
        self.files.recovery.snapshot_bytes = frames.file_bytes() as u64;
        if let Some(memory) = bulk::read_snapshot(&mut frames)? {
            self.memory = memory;
            return Ok(());
        }
        // In order, to find out what is wrong with it and to keep what stands before that.
        let mut last = None;
        while let Some(frame) = frames.next_frame()? {
            if frame.sequence == LAST {
                return Ok(());
            }
            last = Some(frame.sequence);
            let offset = frame.offset;
            if let Err(what) = take(&mut self.memory, &mut self.dropped, frame.payload, false) {
                return self.files.lose(&frames, offset, what);
            }
        }
        let (End::Torn { offset, .. } | End::Damaged { offset, .. }) = frames.end(last)? else {
            return self.files.lose(&frames, frames.file_bytes(), "its end is missing".to_owned());
        };
        self.files.lose(&frames, offset, "the checksum does not fit".to_owned())
    }

    /// Keeps the log behind a damaged snapshot as it is: the snapshot that is taken next removes it, with what is left out of it.
    fn keep_logs(&mut self, directory: &Path, first: u64, left_out: u64) -> Result<(), OpenError> {
        let why = match left_out {
            0 => "relationships in it whose nodes were lost with the snapshot are left out".to_owned(),
            _ => format!("changes in it whose types were lost with the snapshot are left out: {left_out}"),
        };
        for number in numbers(directory, LOG)?.into_iter().filter(|number| *number >= first) {
            let path = LOG.path(directory, number);
            let is_empty = fs::metadata(&path).is_ok_and(|data| data.len() <= HEAD_BYTES as u64);
            if is_empty || self.files.recovery.lost.iter().any(|loss| loss.path == path) {
                continue;
            }
            let kept = Some(set_aside(&path)?);
            self.files.recovery.lost.push(Loss { path, offset: 0, bytes: 0, why: why.clone(), kept });
        }
        Ok(())
    }

    /// Keys and links. A relationship without one of its nodes can only be where something was lost; it goes too.
    fn build(&mut self, directory: &Path) -> Result<WriterState, OpenError> {
        let (state, orphans) = bulk::build(&self.memory, &self.dropped);
        for at in orphans {
            if self.files.recovery.lost.is_empty() {
                let what = format!("relationship {} has lost a node", at.id());
                let fault = FileFault::Damaged { offset: 0, what };
                return Err(OpenError::File { path: directory.to_owned(), fault });
            }
            let why = format!("relationship {} had lost a node", at.id());
            self.files.recovery.lost.push(Loss {
                path: directory.to_owned(),
                offset: 0,
                bytes: 0,
                why,
                kept: None,
            });
        }
        Ok(state)
    }
}

/// Whether a node or relationship is of a type that was lost with a snapshot; the next type that is made gets its number.
fn is_type_lost(memory: &Memory, change: &Change<'_>) -> bool {
    let (side, at) = match *change {
        Change::PutNode { at, .. } => (Side::Nodes, at),
        Change::PutRelationship { at, .. } => (Side::Relationships, at),
        _ => return false,
    };
    memory.schema.load().side(side).get(at.type_number()).is_none()
}

/// The changes of one frame; `is_lossy` where what stands before them was lost in part. The result is how many are left out for that.
fn take(
    memory: &mut Memory,
    dropped: &mut HashSet<Ref>,
    payload: &[u8],
    is_lossy: bool,
) -> Result<u64, String> {
    let mut left_out = 0;
    let guard = crossbeam_epoch::pin();
    let mut input = Input::new(payload);
    while !input.is_empty() {
        let change = Change::read(&mut input).map_err(|damage| damage.to_string())?;
        match change {
            Change::Clear => {
                *memory = Memory::default();
                dropped.clear();
            }
            Change::PutNode { properties, .. } | Change::PutRelationship { properties, .. } => {
                check_properties(properties).map_err(|damage| damage.to_string())?;
                if is_lossy && is_type_lost(memory, &change) {
                    left_out += 1;
                    continue;
                }
                memory.put(&change, false, &guard);
                if let Change::PutNode { at, .. } = change {
                    dropped.remove(&at);
                }
            }
            Change::DropNode { at } => {
                memory.put(&change, false, &guard);
                dropped.insert(at);
            }
            change => memory.put(&change, false, &guard),
        }
    }
    Ok(left_out)
}
