//! The log of a store that is only read: it has no files, and takes nothing.

use crate::error::LogError;
use crate::frame_log::FrameLog;

/// Writes are taken back.
#[derive(Debug)]
pub struct ReadOnlyLog;

impl FrameLog for ReadOnlyLog {
    fn append(&mut self, _frame: &mut [u8]) -> Result<(), LogError> {
        Err(LogError::Closed)
    }
}
