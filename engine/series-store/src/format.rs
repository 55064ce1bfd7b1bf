//! The files of a store of series and the version of their format; `docs/series-files.md` describes it.

use std::path::Path;

use prony_log::frames::FileKind;

/// Of the format. A reader reads its own and all earlier ones. Only a manifest that names aggregates, or rows that were removed without
/// theirs, is of version 2: what knows nothing of them could serve too little, or rows again that are in an aggregate.
pub const VERSION: u32 = 2;
/// Of segments and of other manifests.
const VERSION_WITHOUT_AGGREGATES: u32 = 1;
/// Of logs. 2 has the time of each frame, and a file beside the log that says how far it is sure.
const LOG_VERSION: u32 = 2;
/// For messages.
pub(crate) const STORE: &str = "series";
pub(crate) const LOG: FileKind = kind(LOG_VERSION, 1, "log-", true);
pub(crate) const MANIFEST: FileKind = kind(VERSION, 2, "manifest-", false);
pub(crate) const SEGMENT: FileKind = kind(VERSION_WITHOUT_AGGREGATES, 3, "segment-", false);

const fn kind(version: u32, number: u32, prefix: &'static str, is_log: bool) -> FileKind {
    FileKind { store: STORE, magic: *b"PRONYSER", version, timed_from: LOG_VERSION, number, prefix, is_log }
}

/// As manifests are written.
pub(crate) const fn manifest(has_aggregates: bool) -> FileKind {
    let version = if has_aggregates { VERSION } else { VERSION_WITHOUT_AGGREGATES };
    FileKind { version, ..MANIFEST }
}

/// Whether a directory is a store of series, as one of its files says.
pub fn is_store(directory: &Path) -> bool {
    LOG.is_in(directory)
}
