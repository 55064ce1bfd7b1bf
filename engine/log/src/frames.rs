//! Files of checked frames: logs, and snapshots of what logs have told.
//!
//! Both begin with a head of 24 bytes: magic, version, what it is, its number. Frames follow: the length of the payload
//! (4 bytes), its checksum (4), a sequence number (8; in a log it may be loose, which is its highest bit), the payload. The
//! checksum is CRC-32C (RFC 3720, B.4) over sequence number and payload. All numbers are little-endian.

use crate::codec::Input;
use crate::disk::DiskFile;
use crate::error::{FileFault, OpenError};
pub use crate::sizes::{FRAME_HEAD_BYTES, HEAD_BYTES};
use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// No file has more frames: what claims to be so far ahead is no frame.
const SEQUENCES_MAX: u64 = 1 << 40;
/// The sequence number of the frame that ends a snapshot, or a log that was closed: all before it is on the disk.
pub const LAST: u64 = u64::MAX;
/// Set in the sequence number of a log's frame, where not all before it in its file was on the disk when it was written:
/// after a loss of power it may be there, and others before it not.
pub const LOOSE: u64 = 1 << 63;

/// What a file is, as its name and its head say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    /// What the file belongs to, for messages: `graph`.
    pub store: &'static str,
    pub magic: [u8; 8],
    /// Of the format. A reader reads its own and all earlier ones.
    pub version: u32,
    pub number: u32,
    /// With what its name begins; the file's number follows in twelve digits.
    pub prefix: &'static str,
    /// Whether frames are added as long as the store is open: its end may be missing.
    pub is_log: bool,
}

impl FileKind {
    /// `log-000000000001`.
    pub fn path(self, directory: &Path, number: u64) -> PathBuf {
        directory.join(format!("{}{number:012}", self.prefix))
    }

    /// Whether a directory holds a file of this kind.
    pub fn is_in(self, directory: &Path) -> bool {
        let is_it = |entry: &fs::DirEntry| {
            let mut head = [0; 8];
            self.number_of(&entry.file_name().to_string_lossy()).is_some()
                && fs::File::open(entry.path()).and_then(|mut file| file.read_exact(&mut head)).is_ok()
                && head == self.magic
        };
        fs::read_dir(directory).is_ok_and(|entries| entries.flatten().any(|entry| is_it(&entry)))
    }

    /// The number in a file's name; none for other files.
    pub fn number_of(self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix)?;
        (digits.len() == 12).then(|| digits.parse().ok())?
    }
}

/// With what a file begins.
pub fn head(kind: FileKind, number: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&kind.magic);
    head[8..12].copy_from_slice(&kind.version.to_le_bytes());
    head[12..16].copy_from_slice(&kind.number.to_le_bytes());
    head[16..].copy_from_slice(&number.to_le_bytes());
    head
}

/// Puts the frame's head into the place that was kept for it before the payload.
pub fn seal(frame: &mut [u8], sequence: u64) {
    let (head, payload) = frame.split_at_mut(FRAME_HEAD_BYTES);
    head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[8..].copy_from_slice(&sequence.to_le_bytes());
    let checksum = checksum(&head[8..], payload);
    head[4..8].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(sequence: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(sequence), payload)
}

/// A file in memory, read frame by frame.
#[derive(Debug)]
pub struct Frames {
    path: PathBuf,
    bytes: Vec<u8>,
    at: usize,
    version: u32,
}

/// One good frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub sequence: u64,
    pub payload: &'a [u8],
    pub offset: usize,
}

/// Where the good frames end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the file's end.
    Clean,
    /// Something follows that may be what was being written when the machine or the process died: nothing but zeros, no
    /// good frame, or so many that are [`LOOSE`].
    Torn { offset: usize, bytes: usize, frames: u64 },
    /// A frame follows that was written when all before it was on the disk, which is not good.
    Damaged { offset: usize, next: usize },
}

impl Frames {
    pub fn open(path: &Path, kind: FileKind, number: u64) -> Result<Self, OpenError> {
        let bytes = fs::read(path).map_err(|cause| OpenError::Read { path: path.to_owned(), cause })?;
        Self::of(path, bytes, kind, number)
    }

    /// Of a file that was read; its name is for messages.
    pub fn of(path: &Path, bytes: Vec<u8>, kind: FileKind, number: u64) -> Result<Self, OpenError> {
        let version = match version_of(&bytes, kind, number) {
            Ok(version) => version,
            // Its head was being written; no frame can be lost.
            Err(FileFault::Foreign { .. } | FileFault::Head) if kind.is_log && bytes.len() <= HEAD_BYTES => {
                return Ok(Self { path: path.to_owned(), bytes: Vec::new(), at: 0, version: kind.version });
            }
            Err(fault) => return Err(OpenError::File { path: path.to_owned(), fault }),
        };
        Ok(Self { path: path.to_owned(), bytes, at: HEAD_BYTES, version })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Of the format in which it was written.
    pub const fn version(&self) -> u32 {
        self.version
    }

    pub fn file_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The file as it was read.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The next frame, where a good one stands there.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let (end, sequence) = good_frame(&self.bytes, self.at, |_| true)?;
        let offset = std::mem::replace(&mut self.at, end);
        let payload = &self.bytes[offset + FRAME_HEAD_BYTES..end];
        Some(Frame { sequence: bare(sequence), payload, offset })
    }

    /// Where the frames begin and end that stand before the one that is the last of a snapshot, as far as their lengths
    /// tell; none where there is no last one.
    pub fn spans(&self) -> Option<Vec<Range<usize>>> {
        let (mut spans, mut at) = (Vec::new(), self.at);
        loop {
            let mut head = Input::new(self.bytes.get(at..at + FRAME_HEAD_BYTES)?);
            let length = u32::from_le_bytes(head.array().ok()?) as usize;
            head.skip(4).ok()?;
            if head.u64() == Ok(LAST) {
                good_frame(&self.bytes, at, |_| true)?;
                return Some(spans);
            }
            let end = at + FRAME_HEAD_BYTES + length;
            spans.push(at..end);
            at = end;
        }
    }

    /// The payload of the frame that stands there, where it is good.
    pub fn payload(&self, span: &Range<usize>) -> Option<&[u8]> {
        let (end, _) = good_frame(&self.bytes, span.start, |_| true)?;
        (end == span.end).then(|| &self.bytes[span.start + FRAME_HEAD_BYTES..end])
    }

    /// How many bytes stand behind the good frames, without the zeros that a log has ahead of them.
    fn bytes_behind(&self) -> usize {
        let behind = &self.bytes[self.at..];
        behind.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    }

    /// Why there is no next frame.
    pub fn end(&self, last: Option<u64>) -> End {
        if self.at == self.bytes.len() {
            return End::Clean;
        }
        // Asked before the checksum is worked out: else a long stretch of damage would take for ever.
        let first = last.map_or(0, |last| last.saturating_add(1));
        let later = first..=first.saturating_add(SEQUENCES_MAX);
        let is_later = |sequence: u64| sequence == LAST || later.contains(&bare(sequence));
        let (mut from, mut frames) = (self.at + 1, 0);
        let end = (self.bytes.len() + 1).saturating_sub(FRAME_HEAD_BYTES);
        let good = |at: usize| Some((at, good_frame(&self.bytes, at, is_later)?));
        while let Some((next, (next_end, sequence))) = (from..end).find_map(good) {
            if sequence == LAST || sequence & LOOSE == 0 {
                return End::Damaged { offset: self.at, next };
            }
            (from, frames) = (next_end, frames + 1);
        }
        End::Torn { offset: self.at, bytes: self.bytes_behind(), frames }
    }
}

/// A sequence number without [`LOOSE`].
const fn bare(sequence: u64) -> u64 {
    if sequence == LAST { LAST } else { sequence & !LOOSE }
}

/// What the file's head says, where it is the right one.
fn version_of(bytes: &[u8], kind: FileKind, number: u64) -> Result<u32, FileFault> {
    let foreign = FileFault::Foreign { store: kind.store };
    let head = bytes.get(..HEAD_BYTES).filter(|head| head[..8] == kind.magic).ok_or(foreign)?;
    let mut head = Input::new(&head[8..]);
    let version = head.array().map(u32::from_le_bytes).unwrap_or_default();
    if version > kind.version {
        return Err(FileFault::Newer { version, known: kind.version });
    }
    let is_it = head.array().map(u32::from_le_bytes) == Ok(kind.number) && head.u64() == Ok(number);
    if version > 0 && is_it { Ok(version) } else { Err(FileFault::Head) }
}

/// Where a good frame at this place ends, and its sequence number as it stands there. Payloads are never empty but for the
/// [`LAST`] frame, so zeros are no frame.
fn good_frame(bytes: &[u8], at: usize, is_wanted: impl Fn(u64) -> bool) -> Option<(usize, u64)> {
    let head = bytes.get(at..at + FRAME_HEAD_BYTES)?;
    let mut input = Input::new(head);
    let length = u32::from_le_bytes(input.array().ok()?) as usize;
    let checksum_found = u32::from_le_bytes(input.array().ok()?);
    let sequence = input.u64().ok()?;
    let end = at.checked_add(FRAME_HEAD_BYTES)?.checked_add(length)?;
    let payload = bytes.get(at + FRAME_HEAD_BYTES..end)?;
    let is_possible = is_wanted(sequence) && (length > 0 || sequence == LAST);
    (is_possible && checksum(&head[8..], payload) == checksum_found).then_some((end, sequence))
}

/// Frames written one behind the other, for snapshots.
#[derive(Debug)]
pub struct FrameWriter<'a> {
    file: &'a DiskFile,
    at: u64,
    frame: Vec<u8>,
    sequence: u64,
    unsynced_bytes: usize,
    is_given_up: &'a AtomicBool,
}

/// What is written beside the log reaches the disk in parts of this size: the log's syncs wait for no more of it.
const UNSYNCED_BYTES_MAX: usize = 1024 * 1024;
/// Payload after which a frame of a snapshot is written.
const PAYLOAD_BYTES: usize = 128 * 1024;

impl<'a> FrameWriter<'a> {
    /// Behind the file's head.
    pub fn new(file: &'a DiskFile, is_given_up: &'a AtomicBool) -> Self {
        Self {
            file,
            at: HEAD_BYTES as u64,
            frame: vec![0; FRAME_HEAD_BYTES],
            sequence: 0,
            unsynced_bytes: 0,
            is_given_up,
        }
    }

    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        write(&mut self.frame);
        if self.frame.len() >= PAYLOAD_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is left and the frame that says that this is all.
    pub fn finish(mut self) -> io::Result<()> {
        if self.frame.len() > FRAME_HEAD_BYTES {
            self.flush()?;
        }
        self.sequence = LAST;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_given_up.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store is being closed"));
        }
        seal(&mut self.frame, self.sequence);
        self.file.write_all_at(&self.frame, self.at)?;
        self.at += self.frame.len() as u64;
        self.unsynced_bytes += self.frame.len();
        if self.unsynced_bytes > UNSYNCED_BYTES_MAX {
            self.file.sync_data()?;
            self.unsynced_bytes = 0;
        }
        self.frame.truncate(FRAME_HEAD_BYTES);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }
}
