//! Segments: files of blocks, sorted by series and time, that are written once. What is known of the blocks stands behind them, and is
//! kept in memory.

use crate::block::{self, BLOCK_ROWS, BLOCK_TEXT_BYTES, BlockMeta, WHOLE_DAYS_ROWS};
use crate::columns::Wanted;
use crate::error::ReadError;
use crate::format::SEGMENT;
use crate::ids::{SeriesId, TimeMs};
use crate::op::OpNumber;
use crate::rows::{OnDuplicate, RowAt, Rows};
use prony_log::codec::{Damage, Input, put_length, put_unsigned};
use prony_log::disk::DiskFile;
use prony_log::error::{FileFault, OpenError};
use prony_log::frames::{HEAD_BYTES, head};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is written beside the log reaches the disk in parts of this size: the log's syncs wait for no more of it.
const PART_BYTES: usize = 1024 * 1024;

/// What a manifest says of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    /// All its rows were made by writes up to this one, and all later ones are in none before it.
    pub(crate) last_number: OpNumber,
    pub(crate) rows: u64,
    pub(crate) index_at: u64,
    pub(crate) index_bytes: u64,
    pub(crate) index_checksum: u32,
}

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) entry: SegmentEntry,
    path: PathBuf,
    file: File,
    /// By series, then by time.
    blocks: Vec<BlockMeta>,
    /// Where each block begins in the file.
    offsets: Vec<u64>,
    pub(crate) first_ms: TimeMs,
    pub(crate) last_ms: TimeMs,
}

impl Segment {
    pub(crate) fn open(directory: &Path, entry: SegmentEntry) -> Result<Self, OpenError> {
        let path = SEGMENT.path(directory, entry.number);
        let read = |cause| OpenError::Read { path: path.clone(), cause };
        let damaged = |offset: u64, what: &str| OpenError::File {
            path: path.clone(),
            fault: FileFault::Damaged { offset: offset as usize, what: what.to_owned() },
        };
        let file = File::open(&path).map_err(read)?;
        let length = file.metadata().map_err(read)?.len();
        let ends_at = entry.index_at.checked_add(entry.index_bytes);
        if ends_at.is_none_or(|end| end > length) {
            return Err(damaged(length, "its end is missing"));
        }
        let mut first = [0; HEAD_BYTES];
        file.read_exact_at(&mut first, 0).map_err(read)?;
        if first != head(SEGMENT, entry.number) {
            return Err(OpenError::File { path, fault: FileFault::Head });
        }
        let mut index = vec![0; entry.index_bytes as usize];
        file.read_exact_at(&mut index, entry.index_at).map_err(read)?;
        if crc32c::crc32c(&index) != entry.index_checksum {
            return Err(damaged(entry.index_at, "the checksum of its index does not fit"));
        }
        let blocks = read_index(&index).map_err(|damage| damaged(entry.index_at, damage.0))?;
        Ok(Self::new(entry, path, file, blocks))
    }

    fn new(entry: SegmentEntry, path: PathBuf, file: File, blocks: Vec<BlockMeta>) -> Self {
        let mut offset = HEAD_BYTES as u64;
        let offsets = blocks.iter().map(|block| {
            let begin = offset;
            offset += u64::from(block.bytes);
            begin
        });
        let offsets = offsets.collect();
        let first_ms = blocks.iter().map(|block| block.first_ms).min().unwrap_or(TimeMs::MAX);
        let last_ms = blocks.iter().map(|block| block.last_ms).max().unwrap_or(TimeMs::MIN);
        Self { entry, path, file, blocks, offsets, first_ms, last_ms }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Of the file.
    pub(crate) const fn bytes(&self) -> u64 {
        self.entry.index_at + self.entry.index_bytes
    }

    pub(crate) fn blocks(&self) -> &[BlockMeta] {
        &self.blocks
    }

    pub(crate) fn block(&self, place: usize) -> &BlockMeta {
        &self.blocks[place]
    }

    /// The places of a series' blocks.
    pub(crate) fn places(&self, series: SeriesId) -> std::ops::Range<usize> {
        let from = self.blocks.partition_point(|block| block.series < series);
        let count = self.blocks[from..].partition_point(|block| block.series == series);
        from..from + count
    }

    /// The bytes of a block, read into `buffer`.
    pub(crate) fn read_bytes(&self, place: usize, buffer: &mut Vec<u8>) -> Result<(), ReadError> {
        let (block, at) = (&self.blocks[place], self.offsets[place]);
        buffer.resize(block.bytes as usize, 0);
        self.file
            .read_exact_at(buffer, at)
            .map_err(|cause| ReadError::File { path: self.path.clone(), cause: cause.into() })?;
        if crc32c::crc32c(buffer) != block.checksum {
            return Err(self.damaged(place, Damage("the checksum of a block does not fit")));
        }
        Ok(())
    }

    pub(crate) fn damaged(&self, place: usize, damage: Damage) -> ReadError {
        ReadError::Damaged { path: self.path.clone(), offset: self.offsets[place], what: damage.0 }
    }
}

fn read_index(index: &[u8]) -> Result<Vec<BlockMeta>, Damage> {
    let mut input = Input::new(index);
    let blocks = input.list(12, BlockMeta::take)?;
    let is_ordered = blocks.is_sorted_by_key(|block| block.series);
    if !is_ordered || !input.is_empty() {
        return Err(Damage("the blocks are not in order"));
    }
    Ok(blocks)
}

/// A segment that is being written.
#[derive(Debug)]
pub(crate) struct SegmentWriter<'a> {
    file: DiskFile,
    number: u64,
    policy: OnDuplicate,
    /// Where the part begins that is gathered.
    at: u64,
    part: Vec<u8>,
    blocks: Vec<BlockMeta>,
    rows: u64,
    /// Rows of the series that is written, to be put together with those that follow.
    pending: Rows,
    /// Of the texts of these.
    pending_text_bytes: usize,
    is_given_up: &'a AtomicBool,
}

impl<'a> SegmentWriter<'a> {
    pub(crate) fn create(
        directory: &Path,
        number: u64,
        policy: OnDuplicate,
        is_given_up: &'a AtomicBool,
    ) -> io::Result<Self> {
        let file = DiskFile::create(SEGMENT.path(directory, number))?;
        let part = head(SEGMENT, number).to_vec();
        let (blocks, pending) = (Vec::new(), Rows::default());
        Ok(Self {
            file,
            number,
            policy,
            at: 0,
            part,
            blocks,
            rows: 0,
            pending,
            pending_text_bytes: 0,
            is_given_up,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// A block as it is, where it is worth that: one with few rows and bytes is put together with the next one of its series. Else its rows
    /// are to be [given](Self::rows).
    pub(crate) fn try_copy(&mut self, block: &BlockMeta, bytes: &[u8]) -> io::Result<bool> {
        let is_single = self.policy == OnDuplicate::Append || !block.has_equal_times;
        let is_large = block.rows as usize >= WHOLE_DAYS_ROWS || block.bytes as usize >= BLOCK_TEXT_BYTES / 2;
        if !self.pending.is_empty() || !is_large || !is_single {
            return Ok(false);
        }
        self.part.extend_from_slice(bytes);
        self.blocks.push(block.clone());
        self.rows += u64::from(block.rows);
        self.flush(PART_BYTES)?;
        Ok(true)
    }

    /// Rows of the series, behind those before them.
    pub(crate) fn rows(&mut self, series: SeriesId, rows: Rows) -> io::Result<()> {
        self.pending_text_bytes += rows.text_bytes();
        if self.pending.is_empty() {
            self.pending = rows;
        } else {
            let order: Vec<RowAt> = (0..rows.len() as u32).map(|row| (0, row)).collect();
            self.pending.gather(&[&rows], &order);
        }
        if self.pending.len() <= BLOCK_ROWS && self.pending_text_bytes <= BLOCK_TEXT_BYTES {
            return Ok(());
        }
        self.write_pending(series, BLOCK_ROWS)
    }

    /// The series has no more rows.
    pub(crate) fn end_series(&mut self, series: SeriesId) -> io::Result<()> {
        self.write_pending(series, 0)
    }

    /// Writes blocks until so many rows are left at most, which are one block.
    fn write_pending(&mut self, series: SeriesId, most: usize) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let (mut from, mut text_bytes) = (0, std::mem::take(&mut self.pending_text_bytes));
        while pending.len() - from > most || from < pending.len() && text_bytes > BLOCK_TEXT_BYTES {
            let next = from + block::next_block(&pending.times[from..]);
            let (rows, of_rows) = pending.texts_within(from..next, BLOCK_TEXT_BYTES);
            self.write(series, &pending.part(from, from + rows))?;
            from += rows;
            text_bytes = text_bytes.saturating_sub(of_rows);
        }
        self.pending = pending.part(from, pending.len());
        self.pending_text_bytes = text_bytes;
        Ok(())
    }

    fn write(&mut self, series: SeriesId, rows: &Rows) -> io::Result<()> {
        self.blocks.push(block::write(&mut self.part, series, rows));
        self.rows += rows.len() as u64;
        self.flush(PART_BYTES)
    }

    fn flush(&mut self, at_bytes: usize) -> io::Result<()> {
        if self.part.len() < at_bytes {
            return Ok(());
        }
        if self.is_given_up.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store is being closed"));
        }
        self.file.write_all_at(&self.part, self.at)?;
        self.file.sync_data()?;
        self.at += self.part.len() as u64;
        self.part.clear();
        Ok(())
    }

    /// Writes what is left and the index; none where there are no rows. The file's name is not on the disk yet.
    pub(crate) fn finish(mut self, last_number: OpNumber) -> io::Result<Option<Segment>> {
        if self.blocks.is_empty() {
            return Ok(None);
        }
        let index_at = self.at + self.part.len() as u64;
        let mut index = Vec::new();
        put_length(&mut index, self.blocks.len());
        self.blocks.iter().for_each(|block| block.put(&mut index));
        self.part.extend_from_slice(&index);
        self.flush(0)?;
        self.file.sync_all()?;
        let entry = SegmentEntry {
            number: self.number,
            last_number,
            rows: self.rows,
            index_at,
            index_bytes: index.len() as u64,
            index_checksum: crc32c::crc32c(&index),
        };
        let path = self.file.path().to_owned();
        let file = File::open(&path)?;
        Ok(Some(Segment::new(entry, path, file, self.blocks)))
    }
}

impl SegmentEntry {
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        for number in [self.number, self.last_number, self.rows, self.index_at, self.index_bytes] {
            put_unsigned(to, number);
        }
        to.extend_from_slice(&self.index_checksum.to_le_bytes());
    }

    pub(crate) fn take(input: &mut Input<'_>) -> Result<Self, Damage> {
        Ok(Self {
            number: input.unsigned()?,
            last_number: input.unsigned()?,
            rows: input.unsigned()?,
            index_at: input.unsigned()?,
            index_bytes: input.unsigned()?,
            index_checksum: u32::from_le_bytes(input.array()?),
        })
    }
}

/// Rows of a block of a segment.
pub(crate) fn read_block(
    segment: &Segment,
    place: usize,
    wanted: Wanted<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Rows, ReadError> {
    segment.read_bytes(place, buffer)?;
    segment.block(place).read(buffer, wanted).map_err(|damage| segment.damaged(place, damage))
}
