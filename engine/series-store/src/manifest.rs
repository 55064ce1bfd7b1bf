//! Manifests: all names, which segments there are, and the deletions that they do not know of yet. A manifest has the number of the
//! first file of the log that is read behind it, and takes the place of the one before it at one stroke.

use crate::format::{LOG, MANIFEST, SEGMENT};
use crate::memory::{Memory, reading};
use crate::op::Op;
use crate::segment::{Segment, SegmentEntry};
use crate::tombstones::Tombstone;
use prony_log::codec::{Damage, Input, put_unsigned};
use prony_log::disk::{self, DiskFile, sync_directory};
use prony_log::frames::{FrameWriter, head};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

/// Of what follows in a manifest's frame.
const NAME: u8 = 1;
const SEGMENT_ENTRY: u8 = 2;
const NUMBER: u8 = 3;

pub(crate) fn temporary_path(directory: &Path) -> PathBuf {
    directory.join("manifest.part")
}

/// Writes a manifest with these segments, and removes what it has made needless.
pub(crate) fn publish(
    directory: &Path,
    number: u64,
    names: Vec<Vec<u8>>,
    segments: &[Arc<Segment>],
    is_given_up: &AtomicBool,
) -> io::Result<()> {
    let temporary = temporary_path(directory);
    let write = || -> io::Result<()> {
        let file = DiskFile::create(temporary.clone())?;
        file.write_all_at(&head(MANIFEST, number), 0)?;
        let mut frames = FrameWriter::new(&file, is_given_up);
        for piece in names {
            frames.add(|to| to.extend_from_slice(&piece))?;
        }
        for segment in segments {
            frames.add(|to| {
                to.push(SEGMENT_ENTRY);
                segment.entry.put(to);
            })?;
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
    remove_needless(directory, number, segments)
}

/// Files that the manifest with this number has no use for.
pub(crate) fn remove_needless(directory: &Path, number: u64, segments: &[Arc<Segment>]) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_before =
            LOG.number_of(&name).or_else(|| MANIFEST.number_of(&name)).is_some_and(|of| of < number);
        let is_unused = SEGMENT
            .number_of(&name)
            .is_some_and(|of| segments.iter().all(|segment| segment.entry.number != of));
        if is_before || is_unused {
            disk::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// What a manifest says beside its segments, in pieces. Writers wait only while one of them is made.
pub(crate) fn names(memory: &RwLock<Memory>) -> Vec<Vec<u8>> {
    const PIECE_SERIES: usize = 4096;
    let (mut first, series_count) = (Vec::new(), {
        let memory = reading(memory);
        memory.catalog.series_count()
    });
    {
        let memory = reading(memory);
        put_types(&mut first, &memory);
        for (of, tombstone) in memory.tombstones.all() {
            put(&mut first, &Op::Delete { number: tombstone.number, of, range: tombstone.range });
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
    pieces
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
pub(crate) fn take(memory: &mut Memory, payload: &[u8]) -> Result<Vec<SegmentEntry>, Damage> {
    let mut segments = Vec::new();
    let mut input = Input::new(payload);
    while !input.is_empty() {
        match input.byte()? {
            NAME => match Op::take(&mut input)? {
                // Its rows are hidden by a deletion of their own, as long as there are any.
                Op::DropTable { table, .. } if (table.0 as usize) < memory.catalog.table_count() => {
                    memory.catalog.drop_table(table);
                }
                Op::Delete { number, of, range } => {
                    let tombstone = Tombstone { number, range };
                    Arc::make_mut(&mut memory.tombstones).add(of, tombstone);
                }
                op @ (Op::Table { .. } | Op::Attribute { .. } | Op::Series { .. }) => {
                    memory.catalog.name(&op)?;
                }
                Op::Row { .. } | Op::DropTable { .. } => return Err(Damage("a manifest has rows")),
            },
            SEGMENT_ENTRY => segments.push(SegmentEntry::take(&mut input)?),
            NUMBER => memory.last_number = input.unsigned()?,
            _ => return Err(Damage("a manifest says something unknown")),
        }
    }
    Ok(segments)
}
