//! Sizes of heads, and the name of the file that says how far a log is sure.

/// Of a file's head.
pub const HEAD_BYTES: usize = 24;
/// Of a frame's head.
pub const FRAME_HEAD_BYTES: usize = 16;
/// With which the payload of a log's frame begins: when it was written.
pub const TIME_BYTES: usize = 8;
/// Of all that stands in a frame of a log before what the store has put into it.
pub const LOG_FRAME_HEAD_BYTES: usize = FRAME_HEAD_BYTES + TIME_BYTES;
/// The name of that file, in the directory of the log.
pub const LOG_STATE: &str = "log-state";
