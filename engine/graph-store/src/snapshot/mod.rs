//! Snapshots: the whole graph in one file, written while the graph changes.
//!
//! What is written is each slot as it was at some moment after the log's file of the same number was begun. Read
//! together with that file and those after it, it gives the graph as it is (see [`crate::types::change`]).
//!
//! What is taken back is in no file of the log, and so must not be in a snapshot either. Where an operation takes back what it has changed, the slots that
//! were read meanwhile are read again (`slots.rs`); where the log fails, the snapshot is written anew, and in the end writes wait for
//! it (`snapshotter.rs`).

pub(crate) mod check;
pub(crate) mod recover;
pub(crate) mod slots;
pub(crate) mod snapshotter;
pub(crate) mod throttle;

use crate::format::{LOG, SNAPSHOT};
use crate::snapshot::slots::SlotReader;
use crate::snapshot::throttle::Throttle;
use crate::state::Shared;
use crate::types::change::{Change, Side};
use crate::types::schema::Type;
use crate::types::value::Kind;
use prony_log::codec::Input;
use prony_log::disk::{self, DiskFile, sync_directory};
use prony_log::error::{LogError, OpenError, is_disk_full};
use prony_log::frame_reader::Frames;
use prony_log::frame_writer::FrameWriter;
use prony_log::frames::{LAST, head};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// By so much at a time a file is made shorter before it is removed.
const SHORTENED_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Clone, thiserror::Error)]
pub enum SnapshotError {
    #[error("cannot begin a new file of the log")]
    Rotate(#[source] Arc<io::Error>),
    #[error("cannot write the snapshot {}; the log is kept whole", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
    #[error("the snapshot {} is not what was written when it is read again: {why}; the log is kept whole", path.display())]
    NotAsWritten { path: PathBuf, why: String },
    #[error("the log could not be written while the snapshot was taken")]
    Log(#[source] LogError),
    #[error("cannot remove all files in {} that a snapshot has made needless", directory.display())]
    Remove {
        directory: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
}

impl SnapshotError {
    /// True where there is no room on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Rotate(cause) | Self::Write { cause, .. } => is_disk_full(cause),
            Self::NotAsWritten { .. } | Self::Remove { .. } => false,
            Self::Log(error) => error.is_disk_full(),
        }
    }
}

/// What a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotReport {
    pub number: u64,
    pub nodes: u64,
    pub relationships: u64,
    pub bytes: u64,
}

/// Written under a name that nobody reads.
#[derive(Debug)]
pub(crate) struct Written {
    temporary: PathBuf,
    report: SnapshotReport,
}

/// What there is of one that fails is the caller's to remove.
pub(crate) fn write(
    directory: &Path,
    number: u64,
    shared: &Shared,
    is_given_up: &AtomicBool,
    throttle: &mut Throttle<'_>,
) -> Result<Written, SnapshotError> {
    let temporary = temporary_path(directory);
    let written = write_file(&temporary, number, shared, is_given_up, throttle)
        .map_err(|cause| SnapshotError::Write { path: temporary.clone(), cause: cause.into() })
        .and_then(|report| {
            // What it takes the place of goes for good.
            let read = read_back(&temporary, report, is_given_up, throttle);
            read.map(|()| report).map_err(|why| SnapshotError::NotAsWritten { path: temporary.clone(), why })
        });
    written.map(|report| Written { temporary, report })
}

/// Reads a snapshot as a start would, from the disk: every frame is good and in its place, and all that was written is there.
fn read_back(
    path: &Path,
    report: SnapshotReport,
    is_given_up: &AtomicBool,
    throttle: &mut Throttle<'_>,
) -> Result<(), String> {
    let said = |error: OpenError| error.to_string();
    let mut frames = Frames::open(path, SNAPSHOT, report.number).map_err(said)?;
    frames.forget_cached();
    let (mut nodes, mut relationships) = (0, 0);
    for number in 0.. {
        let Some(frame) = frames.next_frame().map_err(said)? else {
            return Err(format!("frame {number} is not good"));
        };
        if frame.sequence == LAST {
            break;
        }
        if frame.sequence != number {
            return Err(format!("frame {} stands in the place of {number}", frame.sequence));
        }
        let mut input = Input::new(frame.payload);
        while !input.is_empty() {
            match Change::read(&mut input).map_err(|damage| damage.to_string())? {
                Change::PutNode { .. } => nodes += 1,
                Change::PutRelationship { .. } => relationships += 1,
                _ => {}
            }
            if throttle.is_rest_due() {
                throttle.rest();
            }
        }
        if is_given_up.load(Ordering::Relaxed) {
            return Err("the store is being closed".to_owned());
        }
    }
    let (wanted, bytes) = ((report.nodes, report.relationships), frames.file_bytes() as u64);
    if (nodes, relationships) != wanted || bytes != report.bytes {
        return Err(format!(
            "it has {nodes} nodes and {relationships} relationships in {bytes} bytes, of {} and {} in {}",
            wanted.0, wanted.1, report.bytes
        ));
    }
    Ok(())
}

pub(crate) fn temporary_path(directory: &Path) -> PathBuf {
    directory.join("snapshot.part")
}

impl Written {
    /// Takes the place of the snapshot before and of the log before it, at one stroke. What could not be removed of these is told by the
    /// result within: the snapshot counts then, and the next one tries it again.
    pub(crate) fn publish(
        self,
        directory: &Path,
        throttle: &mut Throttle<'_>,
    ) -> Result<(SnapshotReport, io::Result<()>), SnapshotError> {
        let path = SNAPSHOT.path(directory, self.report.number);
        let renamed = disk::rename(&self.temporary, &path).and_then(|()| sync_directory(directory));
        renamed.map_err(|cause| SnapshotError::Write { path, cause: cause.into() })?;
        Ok((self.report, remove_before(directory, self.report.number, Some(throttle))))
    }
}

/// Files that the snapshot with this number has made needless: all that can be removed, also where one cannot.
pub(crate) fn remove_before(
    directory: &Path,
    number: u64,
    mut throttle: Option<&mut Throttle<'_>>,
) -> io::Result<()> {
    let mut removed = Ok(());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let of = LOG.number_of(&name).or_else(|| SNAPSHOT.number_of(&name));
        if of.is_some_and(|of| of < number) {
            if let Some(throttle) = &mut throttle {
                // What cannot be made shorter may still be removed.
                let _ = shorten(entry.path(), throttle);
            }
            removed = removed.and(disk::remove(&entry.path()));
        }
    }
    removed
}

/// To remove many megabytes at once would keep the log from the disk meanwhile. What a backup or a check reads stays as it is: they
/// have opened it, and it goes once they are done.
fn shorten(path: PathBuf, throttle: &mut Throttle<'_>) -> io::Result<()> {
    let file = DiskFile::open(path)?;
    if !file.lock_against_readers() {
        return Ok(());
    }
    let mut length = file.bytes()?;
    while length > SHORTENED_BYTES {
        length -= SHORTENED_BYTES;
        file.set_len(length)?;
        throttle.rest();
    }
    Ok(())
}

fn write_type(side: Side, number: u16, of: &Type, to: &mut Vec<u8>) {
    Change::Type { side, number, name: &of.name }.write(to);
    // Its number must not be given again: there may still be values under it.
    if let Some(dropped) = of.last_dropped() {
        Change::Property { side, of: number, number: dropped, name: "", kind: Kind::Boolean }.write(to);
        Change::DropProperty { side, of: number, number: dropped }.write(to);
    }
    for (name, property) in &of.properties {
        Change::Property { side, of: number, number: property.number, name, kind: property.kind }.write(to);
        if property.is_indexed {
            Change::Index { side, of: number, number: property.number }.write(to);
        }
    }
}

fn write_file(
    path: &Path,
    number: u64,
    shared: &Shared,
    is_given_up: &AtomicBool,
    throttle: &mut Throttle<'_>,
) -> io::Result<SnapshotReport> {
    let file = DiskFile::create(path.to_owned())?;
    file.write_all_at(&head(SNAPSHOT, number), 0)?;
    let mut frames = FrameWriter::new(&file, is_given_up);
    let mut report = SnapshotReport { number, nodes: 0, relationships: 0, bytes: 0 };
    let mut slots = SlotReader::begin(shared);
    let schema = slots.schema();
    for side in [Side::Nodes, Side::Relationships] {
        for (number, of) in schema.side(side).all() {
            frames.add(|to| write_type(side, number, of, to))?;
        }
    }
    report.nodes = write_slots(&mut slots, Side::Nodes, &mut frames, throttle)?;
    report.relationships = write_slots(&mut slots, Side::Relationships, &mut frames, throttle)?;
    frames.finish()?;
    file.sync_all()?;
    report.bytes = file.bytes()?;
    Ok(report)
}

/// How many of the slots are filled.
fn write_slots(
    slots: &mut SlotReader<'_>,
    side: Side,
    frames: &mut FrameWriter<'_>,
    throttle: &mut Throttle<'_>,
) -> io::Result<u64> {
    let (memory, schema) = (slots.memory(), slots.schema());
    let mut write = |change: &[u8]| frames.add(|to| to.extend_from_slice(change));
    let mut filled = 0;
    // One for all, given up in each rest: a new one for each slot would also free what others have replaced.
    let mut guard = crossbeam_epoch::pin();
    let numbers = schema.side(side).all().map(|(number, _)| number);
    for at in numbers.flat_map(|number| memory.slots_of(side, number)) {
        let is_rest_due = throttle.is_rest_due();
        if is_rest_due || slots.is_full() {
            filled += slots.confirm(&guard, &mut write)?;
        }
        if is_rest_due {
            guard.repin_after(|| throttle.rest());
        }
        slots.read(side, at, &guard);
    }
    Ok(filled + slots.confirm(&guard, &mut write)?)
}
