//! The files of a store of series and the version of their format; `docs/series-files.md` describes it.

use std::path::Path;

use prony_log::frames::FileKind;

/// Of the format. A reader reads its own and all earlier ones.
pub const VERSION: u32 = 1;
/// For messages.
pub(crate) const STORE: &str = "series";
pub(crate) const LOG: FileKind = kind(1, "log-", true);
pub(crate) const MANIFEST: FileKind = kind(2, "manifest-", false);
pub(crate) const SEGMENT: FileKind = kind(3, "segment-", false);

const fn kind(number: u32, prefix: &'static str, is_log: bool) -> FileKind {
    FileKind { store: STORE, magic: *b"PRONYSER", version: VERSION, number, prefix, is_log }
}

/// Whether a directory is a store of series, as one of its files says.
pub fn is_store(directory: &Path) -> bool {
    LOG.is_in(directory)
}
