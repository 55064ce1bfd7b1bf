//! From a directory to the store in memory: the newest manifest, the segments that it names, and the log behind it.

use crate::format::{LOG, MANIFEST};
use crate::manifest::{Entries, Segments, remove_needless, take, temporary_path};
use crate::memory::Memory;
use crate::options::Options;
use crate::segment::{Segment, SegmentEntry};
use prony_log::disk::{self, sync_directory};
use prony_log::error::OpenError;
use prony_log::file::LogFile;
use prony_log::frame_reader::{End, Frames};
use prony_log::frames::LAST;
use prony_log::recover::{Loss, Recovering, Recovery, Tail, numbers, resume};
use prony_log::set_aside::set_aside;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

pub(crate) struct Recovered {
    pub(crate) memory: Memory,
    pub(crate) log: LogFile,
    pub(crate) recovery: Recovery,
    /// Of the manifest that was read, or of the first file of the log where there is none.
    pub(crate) manifest: u64,
    /// Whether what is needless could be removed: nobody reads it, and the store can be used without that.
    pub(crate) removed: io::Result<()>,
}

/// A store as its files have it.
pub(crate) struct Loaded {
    pub(crate) memory: Memory,
    pub(crate) recovery: Recovery,
    first: u64,
    tail: Option<Tail>,
}

pub(crate) fn recover(directory: &Path, options: &Options) -> Result<Recovered, OpenError> {
    let Loaded { memory, recovery, first, tail } = load(directory, options)?;
    let log = resume(directory, LOG, (first, tail), options.durability)?;
    let removed = clean(directory, first, &memory, recovery.lost.is_empty())?;
    Ok(Recovered { memory, log, recovery, manifest: first, removed })
}

/// The store in a directory that another process may have open, as its files have it; empty where there is no directory. Changes no file.
pub(crate) fn look(directory: &Path, options: &Options) -> Result<Loaded, OpenError> {
    if directory.exists() {
        let options = Options { recover: false, ..options.clone() };
        return prony_log::recover::look(|| load(directory, &options));
    }
    Ok(Loaded { memory: Memory::default(), recovery: Recovery::default(), first: 1, tail: None })
}

/// Changes no file, but for those that [`Options::recover`] leaves out.
pub(crate) fn load(directory: &Path, options: &Options) -> Result<Loaded, OpenError> {
    let mut files = Recovering { recovery: Recovery::default(), recover: options.recover };
    let mut memory = Memory::default();
    let manifest = numbers(directory, MANIFEST)?.last().copied();
    if let Some(number) = manifest {
        read_manifest(&mut files, directory, number, &mut memory)?;
    }
    let first = manifest.unwrap_or(1);
    let tail = files.logs(directory, LOG, first, &mut |payload| {
        memory.apply(payload).map_err(|damage| damage.to_string())
    })?;
    Ok(Loaded { memory, recovery: files.recovery, first, tail })
}

/// Names and segments, as a manifest has them.
pub(crate) fn read_manifest(
    files: &mut Recovering,
    directory: &Path,
    number: u64,
    memory: &mut Memory,
) -> Result<(), OpenError> {
    let mut frames = Frames::open(&MANIFEST.path(directory, number), MANIFEST, number)?;
    files.recovery.snapshot = Some(number);
    files.recovery.snapshot_bytes = frames.file_bytes() as u64;
    let (mut last, mut entries) = (None, Entries::default());
    loop {
        let Some(frame) = frames.next_frame()? else {
            let offset = match frames.end(last)? {
                End::Torn { offset, .. } | End::Damaged { offset, .. } => offset,
                End::Clean => frames.file_bytes(),
            };
            files.lose(&frames, offset, "the checksum does not fit, or its end is missing".to_owned())?;
            break;
        };
        if frame.sequence == LAST {
            break;
        }
        last = Some(frame.sequence);
        let offset = frame.offset;
        if let Err(damage) = take(memory, &mut entries, frame.payload) {
            files.lose(&frames, offset, damage.to_string())?;
            break;
        }
    }
    memory.segments = open_segments(files, directory, entries.rows)?;
    memory.aggregates = open_segments(files, directory, entries.aggregates)?;
    Ok(())
}

fn open_segments(
    files: &mut Recovering,
    directory: &Path,
    entries: Vec<SegmentEntry>,
) -> Result<Arc<Vec<Arc<Segment>>>, OpenError> {
    let mut segments = Vec::new();
    for entry in entries {
        match Segment::open(directory, entry) {
            Ok(segment) => segments.push(Arc::new(segment)),
            Err(OpenError::File { path, fault }) if files.recover => {
                let why = fault.to_string();
                let bytes = entry.index_at + entry.index_bytes;
                let kept = Some(set_aside(&path)?);
                files.recovery.lost.push(Loss { path, offset: 0, bytes, why, kept });
            }
            Err(OpenError::Read { path, cause }) if files.recover && cause.kind() == ErrorKind::NotFound => {
                let why = "the file is missing".to_owned();
                files.recovery.lost.push(Loss { path, offset: 0, bytes: 0, why, kept: None });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Arc::new(segments))
}

/// What was not finished, or not cleaned up after; within, whether all of it could be removed.
fn clean(directory: &Path, first: u64, memory: &Memory, is_whole: bool) -> Result<io::Result<()>, OpenError> {
    let removed = match disk::remove(&temporary_path(directory)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    // The names of the manifest, of its segments and of the log: a process that was killed may have synced none. Nothing that they
    // replace goes before that, and nothing at all where something was lost.
    sync_directory(directory).map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })?;
    if !is_whole {
        return Ok(removed);
    }
    Ok(removed.and(remove_needless(directory, first, &Segments::of(memory))))
}
