//! Writes the frames of a file that is written once: of a snapshot or a manifest.

use crate::disk::DiskFile;
use crate::frames::{LAST, seal};
use crate::sizes::{FRAME_HEAD_BYTES, HEAD_BYTES};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

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
