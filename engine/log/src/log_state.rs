//! How far a log is sure: a small file beside it that says up to where the log was on the disk when that was last written down.
//!
//! It is a lower bound. What is missing before it was lost after it had been on the disk, whether it is the end of a file or the newest
//! files; what stands behind it may have been written and not synced. It is written when a log is opened, goes on in another file, rests, and
//! is closed, and never for a single write. Two places of the file are written in turn, so that one of them is always whole.

use crate::codec::Input;
use crate::disk::{DiskFile, ReadFile, sync_directory};
use crate::error::{FileFault, OpenError};
use crate::frames::FileKind;
pub use crate::sizes::LOG_STATE;
use std::io;
use std::path::{Path, PathBuf};

/// Of this file's own format.
const VERSION: u32 = 1;
/// Each of the two places is a sector by itself, also on disks with large ones.
const PLACE_BYTES: usize = 4096;
/// Of the file.
pub const BYTES: u64 = 2 * PLACE_BYTES as u64;
const SAID_BYTES: usize = 48;

/// Up to where a log is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sure {
    /// Of the file of the log.
    pub number: u64,
    /// Bytes of that file.
    pub length: u64,
    /// Of the frame that comes next.
    pub sequence: u64,
}

/// The file, to be written.
#[derive(Debug)]
pub struct LogState {
    file: DiskFile,
    kind: FileKind,
    /// Rises by one with each time that it is written.
    turn: u64,
}

fn path(directory: &Path) -> PathBuf {
    directory.join(LOG_STATE)
}

/// What the file says last; none where there is no such file, or where nothing in it is whole.
pub fn read(directory: &Path, kind: FileKind) -> Result<Option<Sure>, OpenError> {
    Ok(last_said(directory, kind)?.map(|(_, sure)| sure))
}

fn last_said(directory: &Path, kind: FileKind) -> Result<Option<(u64, Sure)>, OpenError> {
    let path = path(directory);
    let mut bytes = vec![0; 2 * PLACE_BYTES];
    let read = match ReadFile::open(&path).and_then(|file| file.read_at(&mut bytes, 0)) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(OpenError::Read { path, cause }),
    };
    bytes.truncate(read);
    let mut last = None;
    for place in bytes.chunks(PLACE_BYTES) {
        match said(place, kind) {
            Some(Err(fault)) => return Err(OpenError::File { path, fault }),
            Some(Ok(said)) if last.is_none_or(|(turn, _)| said.0 > turn) => last = Some(said),
            _ => {}
        }
    }
    Ok(last)
}

/// What stands in one place: turn and bound; none where it is not whole.
fn said(place: &[u8], kind: FileKind) -> Option<Result<(u64, Sure), FileFault>> {
    let said = place.get(..SAID_BYTES).filter(|said| said[..8] == kind.magic)?;
    let mut input = Input::new(&said[8..]);
    let version = input.array().map(u32::from_le_bytes).ok()?;
    let checksum = input.array().map(u32::from_le_bytes).ok()?;
    if crc32c::crc32c_append(crc32c::crc32c(&said[..12]), &said[16..]) != checksum {
        return None;
    }
    if version > VERSION {
        return Some(Err(FileFault::Newer { version, known: VERSION }));
    }
    let turn = input.u64().ok()?;
    let sure = Sure { number: input.u64().ok()?, length: input.u64().ok()?, sequence: input.u64().ok()? };
    Some(Ok((turn, sure)))
}

fn put(kind: FileKind, turn: u64, sure: Sure) -> [u8; SAID_BYTES] {
    let mut said = [0; SAID_BYTES];
    said[..8].copy_from_slice(&kind.magic);
    said[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let numbers = [turn, sure.number, sure.length, sure.sequence];
    for (to, number) in said[16..].chunks_mut(8).zip(numbers) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&said[..12]), &said[16..]);
    said[12..16].copy_from_slice(&checksum.to_le_bytes());
    said
}

impl LogState {
    /// Makes the file where there is none or where nothing in it is whole; it and its name are on the disk, and it says `sure`.
    pub fn open(directory: &Path, kind: FileKind, sure: Sure) -> Result<Self, OpenError> {
        let last = last_said(directory, kind)?;
        let path = path(directory);
        let open = || -> io::Result<Self> {
            let Some((turn, _)) = last else {
                let file = DiskFile::create(path.clone())?;
                let mut bytes = vec![0; 2 * PLACE_BYTES];
                bytes[..SAID_BYTES].copy_from_slice(&put(kind, 0, sure));
                file.write_all_at(&bytes, 0)?;
                file.sync_all()?;
                sync_directory(directory)?;
                return Ok(Self { file, kind, turn: 0 });
            };
            let mut state = Self { file: DiskFile::open(path.clone())?, kind, turn };
            state.write(sure)?;
            Ok(state)
        };
        open().map_err(|cause| OpenError::Write { path: path.clone(), cause })
    }

    /// It is on the disk on return. Where it fails, what was said before holds.
    pub fn write(&mut self, sure: Sure) -> io::Result<()> {
        // Also where it fails: what stands in this place then may be anything, and the next one goes there again.
        let turn = self.turn + 1;
        let place = (turn % 2) as usize * PLACE_BYTES;
        self.file.write_all_at(&put(self.kind, turn, sure), place as u64)?;
        self.file.sync_data()?;
        self.turn = turn;
        Ok(())
    }
}
