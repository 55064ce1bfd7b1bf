//! Manifests: all names, which segments of rows and of aggregates there are, and the deletions that they do not know of yet. A manifest has the number of the
//! first file of the log that is read behind it, and takes the place of the one before it at one stroke.

use crate::format::{LOG, MANIFEST, SEGMENT, manifest};
use crate::ids::{TableId, TimeRange};
use crate::memory::{Memory, reading};
use crate::op::{Deleted, Op};
use crate::segment::{Segment, SegmentEntry};
use crate::tombstones::{Reach, Tombstone};
use prony_log::codec::{Damage, Input, put_signed, put_unsigned};
use prony_log::disk::{self, DiskFile, sync_directory};
use prony_log::frame_writer::FrameWriter;
use prony_log::frames::head;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

/// Of what follows in a manifest's frame.
const NAME: u8 = 1;
const SEGMENT_ENTRY: u8 = 2;
const NUMBER: u8 = 3;
const AGGREGATES_ENTRY: u8 = 4;
const REMOVED: u8 = 5;

/// Segments that count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    /// Of rows, in the order of their writes.
    pub(crate) rows: Vec<Arc<Segment>>,
    /// Of aggregates of rows that were removed.
    pub(crate) aggregates: Vec<Arc<Segment>>,
}

/// The segments that a manifest names.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) rows: Vec<SegmentEntry>,
    pub(crate) aggregates: Vec<SegmentEntry>,
}

impl Segments {
    pub(crate) fn of(memory: &Memory) -> Self {
        Self { rows: Vec::clone(&memory.segments), aggregates: Vec::clone(&memory.aggregates) }
    }

    /// Of all of them.
    fn has(&self, number: u64) -> bool {
        self.rows.iter().chain(&self.aggregates).any(|segment| segment.entry.number == number)
    }
}

pub(crate) fn temporary_path(directory: &Path) -> PathBuf {
    directory.join("manifest.part")
}

/// Writes a manifest with these segments, and removes what it has made needless. What could not be removed is told by the result within: the
/// manifest counts then, and the next one tries it again.
pub(crate) fn publish(
    directory: &Path,
    number: u64,
    Said { pieces, has_removals }: Said,
    segments: &Segments,
    is_given_up: &AtomicBool,
) -> io::Result<io::Result<()>> {
    let kind = manifest(has_removals || !segments.aggregates.is_empty());
    let temporary = temporary_path(directory);
    let write = || -> io::Result<()> {
        let file = DiskFile::create(temporary.clone())?;
        file.write_all_at(&head(kind, number), 0)?;
        let mut frames = FrameWriter::new(&file, is_given_up);
        for piece in pieces {
            frames.add(|to| to.extend_from_slice(&piece))?;
        }
        for (code, of) in [(SEGMENT_ENTRY, &segments.rows), (AGGREGATES_ENTRY, &segments.aggregates)] {
            for segment in of {
                frames.add(|to| {
                    to.push(code);
                    segment.entry.put(to);
                })?;
            }
        }
        frames.finish()?;
        file.sync_all()
    };
    if let Err(error) = write() {
        // What is there of it takes room that the log may need.
        let _ = disk::remove(&temporary);
        return Err(error);
    }
    disk::rename(&temporary, &MANIFEST.path(directory, number))?;
    sync_directory(directory)?;
    Ok(remove_needless(directory, number, segments))
}

/// Files that the manifest with this number has no use for: all that can be removed, also where one cannot.
pub(crate) fn remove_needless(directory: &Path, number: u64, segments: &Segments) -> io::Result<()> {
    let mut removed = Ok(());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_before =
            LOG.number_of(&name).or_else(|| MANIFEST.number_of(&name)).is_some_and(|of| of < number);
        let is_unused = SEGMENT.number_of(&name).is_some_and(|of| !segments.has(of));
        if is_before || is_unused {
            removed = removed.and(disk::remove(&entry.path()));
        }
    }
    removed
}

/// What a manifest says beside its segments.
#[derive(Debug)]
pub(crate) struct Said {
    pieces: Vec<Vec<u8>>,
    /// Rows or aggregates were removed, each without the other.
    has_removals: bool,
}

/// What a manifest says beside its segments, and that `removed` is removed too. Writers wait only while a piece of it is made.
pub(crate) fn names(memory: &RwLock<Memory>, removed: &[(TableId, Tombstone)]) -> Said {
    const PIECE_SERIES: usize = 4096;
    let (mut first, series_count) = (Vec::new(), {
        let memory = reading(memory);
        memory.catalog.series_count()
    });
    let mut has_removals = !removed.is_empty();
    {
        let memory = reading(memory);
        put_types(&mut first, &memory);
        for (of, tombstone) in memory.tombstones.all() {
            match (of, tombstone.reach) {
                (_, Reach::All) | (Deleted::Series(_), _) => {
                    put(&mut first, &Op::Delete { number: tombstone.number, of, range: tombstone.range });
                }
                (Deleted::Table(table), _) => {
                    has_removals = true;
                    put_removed(&mut first, table, &tombstone);
                }
            }
        }
        for (table, tombstone) in removed {
            put_removed(&mut first, *table, tombstone);
        }
        first.push(NUMBER);
        put_unsigned(&mut first, memory.last_number);
    }
    let mut pieces = vec![first];
    for from in (0..series_count).step_by(PIECE_SERIES) {
        let memory = reading(memory);
        let mut piece = Vec::new();
        for (id, of) in memory.catalog.series_from(from).take(PIECE_SERIES.min(series_count - from)) {
            put(&mut piece, &Op::Series { id, table: of.table, entity: &of.entity, path: &of.path });
        }
        pieces.push(piece);
    }
    Said { pieces, has_removals }
}

fn put_removed(to: &mut Vec<u8>, table: TableId, of: &Tombstone) {
    to.push(REMOVED);
    put_unsigned(to, of.number);
    put_unsigned(to, u64::from(table.0));
    to.push(u8::from(of.reach == Reach::Aggregates));
    put_signed(to, of.range.from_ms);
    put_signed(to, of.range.to_ms);
}

fn take_removed(memory: &mut Memory, input: &mut Input<'_>) -> Result<(), Damage> {
    let (number, table) = (input.unsigned()?, TableId(input.u32()?));
    let reach = match input.byte()? {
        0 => Reach::Rows,
        1 => Reach::Aggregates,
        _ => return Err(Damage("something unknown is removed")),
    };
    let range = TimeRange { from_ms: input.signed()?, to_ms: input.signed()? };
    memory.catalog.check_table(table)?;
    Arc::make_mut(&mut memory.tombstones).add(Deleted::Table(table), Tombstone { number, range, reach });
    Ok(())
}

fn put(to: &mut Vec<u8>, op: &Op<'_>) {
    to.push(NAME);
    op.put(to);
}

fn put_types(to: &mut Vec<u8>, memory: &Memory) {
    for (id, table) in memory.catalog.tables() {
        put(to, &Op::Table { id, tenant: &table.tenant, name: &table.name });
        for (attribute, of) in table.ids() {
            let (name, declared) = (&*of.name, &*of.declared);
            put(to, &Op::Attribute { table: id, id: attribute, name, declared, kind: of.kind });
        }
        if table.is_dropped {
            put(to, &Op::DropTable { number: 0, table: id });
        }
    }
}

/// Does what a frame of a manifest says; gives the segments that it names.
pub(crate) fn take(memory: &mut Memory, entries: &mut Entries, payload: &[u8]) -> Result<(), Damage> {
    let mut input = Input::new(payload);
    while !input.is_empty() {
        match input.byte()? {
            NAME => match Op::take(&mut input)? {
                // Its rows are hidden by a deletion of their own, as long as there are any.
                Op::DropTable { table, .. } if (table.0 as usize) < memory.catalog.table_count() => {
                    memory.catalog.drop_table(table);
                }
                Op::Delete { number, of, range } => {
                    let tombstone = Tombstone { number, range, reach: Reach::All };
                    Arc::make_mut(&mut memory.tombstones).add(of, tombstone);
                }
                op @ (Op::Table { .. } | Op::Attribute { .. } | Op::Series { .. }) => {
                    memory.catalog.name(&op)?;
                }
                Op::Row { .. } | Op::DropTable { .. } => return Err(Damage("a manifest has rows")),
            },
            SEGMENT_ENTRY => entries.rows.push(SegmentEntry::take(&mut input)?),
            AGGREGATES_ENTRY => entries.aggregates.push(SegmentEntry::take(&mut input)?),
            REMOVED => take_removed(memory, &mut input)?,
            NUMBER => memory.last_number = input.unsigned()?,
            _ => return Err(Damage("a manifest says something unknown")),
        }
    }
    Ok(())
}
