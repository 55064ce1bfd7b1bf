//! Files of checked frames: logs, and snapshots of what logs have told.
//!
//! Both begin with a head of 24 bytes: magic, version, what it is, its number. Frames follow: the length of the payload
//! (4 bytes), its checksum (4), a sequence number (8; in a log it may be loose, which is its highest bit), the payload. The
//! checksum is CRC-32C (RFC 3720, B.4) over sequence number and payload. The payload of a log's frame begins with the time at which
//! it was written (8), in formats that have it. All numbers are little-endian.

use crate::codec::Input;
use crate::error::FileFault;
pub use crate::sizes::{FRAME_HEAD_BYTES, HEAD_BYTES, LOG_FRAME_HEAD_BYTES, TIME_BYTES};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// No file has more frames: what claims to be so far ahead is no frame.
pub(crate) const SEQUENCES_MAX: u64 = 1 << 40;
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
    /// From this version on the frames of its log tell their time, and a file beside the log says how far it is sure.
    pub timed_from: u32,
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

    /// Whether frames of a file of this version tell their time.
    pub(crate) const fn is_timed(self, version: u32) -> bool {
        self.is_log && version >= self.timed_from
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

/// As [`seal`], for a log: with the time before what the store has put into the frame.
pub fn seal_timed(frame: &mut [u8], sequence: u64, time_ms: u64) {
    frame[FRAME_HEAD_BYTES..LOG_FRAME_HEAD_BYTES].copy_from_slice(&time_ms.to_le_bytes());
    seal(frame, sequence);
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn checksum(sequence: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(sequence), payload)
}

/// What the file's head says, where it is the right one.
pub(crate) fn version_of(bytes: &[u8], kind: FileKind, number: u64) -> Result<u32, FileFault> {
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

/// What the head of a frame says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHead {
    pub(crate) payload_bytes: usize,
    checksum: u32,
    /// As it stands there, maybe [`LOOSE`].
    pub(crate) sequence: u64,
}

impl FrameHead {
    /// None where there are too few bytes.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut input = Input::new(bytes.get(..FRAME_HEAD_BYTES)?);
        let payload_bytes = u32::from_le_bytes(input.array().ok()?) as usize;
        let checksum = u32::from_le_bytes(input.array().ok()?);
        Some(Self { payload_bytes, checksum, sequence: input.u64().ok()? })
    }

    /// Payloads have something behind what each of the file's begins with, but for the [`LAST`] frame: so zeros are no frame.
    pub(crate) const fn is_possible(self, is_timed: bool) -> bool {
        let least = if is_timed { TIME_BYTES } else { 0 };
        self.payload_bytes > least || self.sequence == LAST
    }

    pub(crate) fn fits(self, payload: &[u8]) -> bool {
        checksum(&self.sequence.to_le_bytes(), payload) == self.checksum
    }
}

/// A sequence number without [`LOOSE`].
pub(crate) const fn bare(sequence: u64) -> u64 {
    if sequence == LAST { LAST } else { sequence & !LOOSE }
}
