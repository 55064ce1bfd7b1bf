//! Files of frames of a chain, and of a log that is made of them: written from the beginning to the end, and then read again.

use crate::chain::manifest::ChainFile;
use prony_log::disk::{DiskFile, ReadFile};
use prony_log::error::OpenError;
use prony_log::frame_reader::Frame;
use prony_log::frames::{FRAME_HEAD_BYTES, FileKind, LAST, LOG_FRAME_HEAD_BYTES, head, seal, seal_timed};
use std::io;
use std::path::Path;

/// Written at a time.
const PART_BYTES: usize = 1024 * 1024;

/// Of a frame with its number and time: two graphs have the same for one number by chance of one in four thousand millions.
pub(crate) fn frame_checksum(frame: &Frame<'_>) -> u32 {
    let head = [frame.sequence, frame.time_ms.unwrap_or_default()].map(u64::to_le_bytes).concat();
    crc32c::crc32c_append(crc32c::crc32c(&head), frame.payload)
}

/// A file of frames that is being written.
pub(crate) struct FrameFile {
    file: DiskFile,
    at: u64,
    buffer: Vec<u8>,
}

impl FrameFile {
    pub(crate) fn create(path: &Path, kind: FileKind, number: u64) -> io::Result<Self> {
        let file = DiskFile::create(path.to_owned())?;
        Ok(Self { file, at: 0, buffer: head(kind, number).to_vec() })
    }

    pub(crate) fn add(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let begin = self.buffer.len();
        self.buffer.resize(begin + LOG_FRAME_HEAD_BYTES, 0);
        self.buffer.extend_from_slice(frame.payload);
        // All before it is in the file: it is not loose any more.
        seal_timed(&mut self.buffer[begin..], frame.sequence, frame.time_ms.unwrap_or_default());
        if self.buffer.len() >= PART_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        // In parts: the syncs of a log beside it wait for no more.
        self.file.sync_data()
    }

    /// With the mark that all before it is on the disk; it is on return. Gives where the frames end.
    pub(crate) fn close(mut self) -> io::Result<u64> {
        let end = self.at + self.buffer.len() as u64;
        let begin = self.buffer.len();
        self.buffer.resize(begin + FRAME_HEAD_BYTES, 0);
        seal(&mut self.buffer[begin..], LAST);
        self.flush()?;
        self.file.sync_all()?;
        Ok(end)
    }
}

/// Length and checksum of a file, read from the disk.
pub(crate) fn measure(chain: &Path, name: String) -> Result<ChainFile, OpenError> {
    let path = chain.join(&name);
    let read = |cause| OpenError::Read { path: path.clone(), cause };
    let file = ReadFile::open(&path).map_err(read)?;
    file.forget_cached();
    let (mut part, mut bytes, mut checksum) = (vec![0; PART_BYTES], 0, 0);
    loop {
        let count = file.read_at(&mut part, bytes).map_err(read)?;
        if count == 0 {
            return Ok(ChainFile { name, bytes, checksum });
        }
        checksum = crc32c::crc32c_append(checksum, &part[..count]);
        bytes += count as u64;
    }
}
