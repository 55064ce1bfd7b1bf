//! Sizes and the version of the format of a graph's files; `docs/graph-files.md` describes it.

/// Of the format. A reader reads its own and all earlier ones.
/// 2 has indexes of properties. 3 says of the frames of a log whether those before them were on the disk.
pub const VERSION: u32 = 3;
pub(crate) const HEAD_BYTES: usize = 24;
pub(crate) const FRAME_HEAD_BYTES: usize = 16;
