//! Reads a file frame by frame: no more of it is in memory than a part of fixed size, or one frame where that is longer.

use crate::disk::ReadFile;
use crate::error::{FileFault, OpenError};
use crate::frames::{
    FRAME_HEAD_BYTES, FileKind, FrameHead, HEAD_BYTES, LAST, LOOSE, SEQUENCES_MAX, TIME_BYTES, bare,
    version_of,
};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Read at a time.
const WINDOW_BYTES: usize = 1024 * 1024;

/// A file, read frame by frame.
#[derive(Debug)]
pub struct Frames {
    path: PathBuf,
    file: ReadFile,
    /// Of the file, as it was when it was opened.
    length: usize,
    at: usize,
    version: u32,
    is_timed: bool,
    window: Window,
}

/// The part of the file that is in memory.
#[derive(Debug, Default)]
struct Window {
    bytes: Vec<u8>,
    at: usize,
}

impl Window {
    /// How many bytes of it stand from there on, where that is enough for a frame's head.
    fn rest(&self, at: usize) -> Option<usize> {
        let end = self.at + self.bytes.len();
        (at >= self.at && at + FRAME_HEAD_BYTES <= end).then(|| end - at)
    }
}

/// One good frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub sequence: u64,
    /// When it was written, in milliseconds since 1970; none in formats that do not say so.
    pub time_ms: Option<u64>,
    pub payload: &'a [u8],
    pub offset: usize,
    /// Where the next one begins.
    pub end: usize,
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
        let file = ReadFile::open(path).map_err(|cause| cannot_read(path, cause))?;
        Self::new(file, path, kind, number)
    }

    /// Of a file that is open, whatever has become of its name, which is for messages.
    pub fn of(file: File, path: &Path, kind: FileKind, number: u64) -> Result<Self, OpenError> {
        Self::new(ReadFile::of(file, path), path, kind, number)
    }

    fn new(file: ReadFile, path: &Path, kind: FileKind, number: u64) -> Result<Self, OpenError> {
        let length = file.bytes().map_err(|cause| cannot_read(path, cause))? as usize;
        let (path, window) = (path.to_owned(), Window::default());
        let mut frames = Self { path, file, length, at: 0, version: kind.version, is_timed: false, window };
        let head = frames.bytes_at(0, HEAD_BYTES.min(length))?.unwrap_or_default();
        match version_of(head, kind, number) {
            Ok(version) => {
                frames.version = version;
                frames.at = HEAD_BYTES;
                frames.is_timed = kind.is_timed(version);
            }
            // Its head was being written; no frame can be lost.
            Err(FileFault::Foreign { .. } | FileFault::Head) if kind.is_log && length <= HEAD_BYTES => {
                frames.length = 0;
            }
            Err(fault) => return Err(OpenError::File { path: frames.path, fault }),
        }
        Ok(frames)
    }

    /// Reads from the disk what it has not read yet.
    pub fn forget_cached(&self) {
        self.file.forget_cached();
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Of the format in which it was written.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Whether its frames tell their time, which came with a format that also has a file of what is sure beside its log.
    pub const fn is_timed(&self) -> bool {
        self.is_timed
    }

    pub const fn file_bytes(&self) -> usize {
        self.length
    }

    /// So many bytes from there on; none where the file has fewer.
    fn bytes_at(&mut self, at: usize, count: usize) -> Result<Option<&[u8]>, OpenError> {
        let Some(end) = at.checked_add(count).filter(|end| *end <= self.length) else { return Ok(None) };
        let Window { bytes, at: begin } = &mut self.window;
        if at < *begin || end > *begin + bytes.len() {
            bytes.resize(count.max(WINDOW_BYTES).min(self.length - at), 0);
            *begin = at;
            let read = self.file.read_at(bytes, at as u64).map_err(|cause| cannot_read(&self.path, cause))?;
            if read < bytes.len() {
                // It has become shorter meanwhile.
                bytes.truncate(read);
                self.length = at + read;
                if end > self.length {
                    return Ok(None);
                }
            }
        }
        let from = at - self.window.at;
        Ok(Some(&self.window.bytes[from..from + count]))
    }

    /// Where a good frame at this place ends, and its sequence number as it stands there. It is in the window then.
    fn good_frame(&mut self, at: usize) -> Result<Option<(usize, u64)>, OpenError> {
        let is_timed = self.is_timed;
        let head = self.bytes_at(at, FRAME_HEAD_BYTES)?.and_then(FrameHead::of);
        let Some(head) = head.filter(|head| head.is_possible(is_timed)) else { return Ok(None) };
        let bytes = FRAME_HEAD_BYTES + head.payload_bytes;
        let whole = self.bytes_at(at, bytes)?;
        let is_good = whole.is_some_and(|whole| head.fits(&whole[FRAME_HEAD_BYTES..]));
        Ok(is_good.then_some((at + bytes, head.sequence)))
    }

    /// The next frame, where a good one stands there.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, OpenError> {
        let Some((end, sequence)) = self.good_frame(self.at)? else { return Ok(None) };
        let offset = std::mem::replace(&mut self.at, end);
        let whole = &self.window.bytes[offset - self.window.at..end - self.window.at];
        let payload = &whole[FRAME_HEAD_BYTES..];
        let (time_ms, payload) = match payload.split_first_chunk::<TIME_BYTES>() {
            Some((time, rest)) if self.is_timed => (Some(u64::from_le_bytes(*time)), rest),
            _ => (None, payload),
        };
        Ok(Some(Frame { sequence: bare(sequence), time_ms, payload, offset, end }))
    }

    /// Where the frames begin and end that stand before the one that is the last of a snapshot, as far as their lengths
    /// tell; none where there is no last one, or where they are not numbered from 0 on.
    pub fn spans(&mut self) -> Result<Option<Vec<Range<usize>>>, OpenError> {
        let (mut spans, mut at) = (Vec::new(), self.at);
        loop {
            let head = self.bytes_at(at, FRAME_HEAD_BYTES)?.and_then(FrameHead::of);
            let Some(head) = head else { return Ok(None) };
            if head.sequence == LAST {
                return Ok(self.good_frame(at)?.map(|_| spans));
            }
            if head.sequence != spans.len() as u64 {
                return Ok(None);
            }
            let end = at + FRAME_HEAD_BYTES + head.payload_bytes;
            spans.push(at..end);
            at = end;
        }
    }

    /// The payload of the frame that stands there, read into `buffer`, where it is good.
    pub fn payload<'b>(&self, span: &Range<usize>, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        if span.end > self.length {
            return None;
        }
        buffer.resize(span.len(), 0);
        let read = self.file.read_at(buffer, span.start as u64).ok()?;
        let head = FrameHead::of(buffer)?;
        let payload = &buffer[FRAME_HEAD_BYTES..];
        (read == span.len() && head.is_possible(false) && head.fits(payload)).then_some(payload)
    }

    /// How many bytes stand behind the good frames, without the zeros that a log has ahead of them.
    fn bytes_behind(&mut self) -> Result<usize, OpenError> {
        let (mut at, mut behind) = (self.at, 0);
        while at < self.length {
            let count = WINDOW_BYTES.min(self.length - at);
            let Some(part) = self.bytes_at(at, count)? else { break };
            if let Some(last) = part.iter().rposition(|byte| *byte != 0) {
                behind = at + last + 1 - self.at;
            }
            at += count;
        }
        Ok(behind)
    }

    /// Why there is no next frame.
    pub fn end(&mut self, last: Option<u64>) -> Result<End, OpenError> {
        let offset = self.at;
        if offset == self.length {
            return Ok(End::Clean);
        }
        let first = last.map_or(0, |last| last.saturating_add(1));
        let (mut from, mut frames) = (offset + 1, 0);
        while let Some((next, next_end, sequence)) = self.find_frame(from, first)? {
            if sequence == LAST || sequence & LOOSE == 0 {
                return Ok(End::Damaged { offset, next });
            }
            (from, frames) = (next_end, frames + 1);
        }
        Ok(End::Torn { offset, bytes: self.bytes_behind()?, frames })
    }

    /// The first good frame from a place on whose number is not before `first`: where it begins and ends, and its number.
    fn find_frame(&mut self, from: usize, first: u64) -> Result<Option<(usize, usize, u64)>, OpenError> {
        // Asked before the checksum is worked out: else a long stretch of damage would take for ever.
        let later = first..=first.saturating_add(SEQUENCES_MAX);
        let (is_timed, mut at) = (self.is_timed, from);
        while at + FRAME_HEAD_BYTES <= self.length {
            let (count, length) =
                (self.window.rest(at).unwrap_or(WINDOW_BYTES.min(self.length - at)), self.length);
            let Some(part) = self.bytes_at(at, count)? else { return Ok(None) };
            let is_wanted = |place: &usize| {
                FrameHead::of(&part[*place..]).is_some_and(|head| {
                    (head.sequence == LAST || later.contains(&bare(head.sequence)))
                        && head.is_possible(is_timed)
                        && head.payload_bytes <= length - at - place
                })
            };
            let Some(place) = (0..=count - FRAME_HEAD_BYTES).find(is_wanted) else {
                // A head may begin in this part and end behind it.
                at += count - FRAME_HEAD_BYTES + 1;
                continue;
            };
            at += place;
            if let Some((end, sequence)) = self.good_frame(at)? {
                return Ok(Some((at, end, sequence)));
            }
            at += 1;
        }
        Ok(None)
    }
}

fn cannot_read(path: &Path, cause: io::Error) -> OpenError {
    OpenError::Read { path: path.to_owned(), cause }
}
