//! Sizes of heads.

/// Of a file's head.
pub const HEAD_BYTES: usize = 24;
/// Of a frame's head.
pub const FRAME_HEAD_BYTES: usize = 16;
