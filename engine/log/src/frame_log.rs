//! What the frames of a log are made durable in: the files of a log, or something that keeps what they say in its own way.

use crate::error::LogError;
use crate::file::{LogFile, NextFile};
use std::io;
use std::time::Duration;

/// Takes frames one after the other, on the log's thread.
pub trait FrameLog {
    /// Makes a frame as durable as was asked for; nothing of it is done where it fails. Blocks.
    fn append(&mut self, frame: &mut [u8]) -> Result<(), LogError>;

    /// Why nothing more is taken, and frames that were acknowledged without a sync may be lost.
    fn suspect(&self) -> Option<&LogError> {
        None
    }

    /// Makes durable what is due, where that is done at intervals.
    fn sync_if_due(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// When [`Self::sync_if_due`] has something to do.
    fn sync_due_in(&self) -> Duration {
        Duration::MAX
    }

    /// Goes on in another file.
    fn rotate(&mut self, next: NextFile) -> io::Result<()> {
        drop(next);
        Err(io::Error::other("it has no files"))
    }

    /// Of the file that is appended to.
    fn number(&self) -> u64 {
        0
    }

    /// All that was appended is durable when it returns.
    fn sync(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// A fault of this program has broken off what was being made durable, and nobody knows what there is of it. Files take nothing more; a
    /// database takes the next frame as it does behind one that failed.
    fn give_up(&mut self) {}
}

impl FrameLog for LogFile {
    fn append(&mut self, frame: &mut [u8]) -> Result<(), LogError> {
        Self::append(self, frame)
    }

    fn suspect(&self) -> Option<&LogError> {
        Self::suspect(self)
    }

    fn sync_if_due(&mut self) -> io::Result<()> {
        Self::sync_if_due(self)
    }

    fn sync_due_in(&self) -> Duration {
        Self::sync_due_in(self)
    }

    fn rotate(&mut self, next: NextFile) -> io::Result<()> {
        Self::rotate(self, next)
    }

    fn number(&self) -> u64 {
        Self::number(self)
    }

    fn sync(&mut self) -> Result<(), LogError> {
        Self::sync(self)
    }

    fn close(&mut self) -> io::Result<()> {
        Self::close(self)
    }

    fn give_up(&mut self) {
        Self::give_up(self);
    }
}
