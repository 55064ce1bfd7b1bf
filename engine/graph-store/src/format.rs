//! The files of a graph and the version of their format; `docs/graph-files.md` describes it.

use std::path::Path;

use prony_log::frames::FileKind;

/// Of the format. A reader reads its own and all earlier ones.
/// 2 has indexes of properties. 3 says of the frames of a log whether those before them were on the disk. 4 has the time of each frame
/// of a log, and a file beside the log that says how far it is sure.
pub const VERSION: u32 = 4;
const TIMED_FROM: u32 = 4;
/// For messages.
pub(crate) const STORE: &str = "graph";
pub(crate) const LOG: FileKind = kind(1, "log-", true);
pub(crate) const SNAPSHOT: FileKind = kind(2, "snapshot-", false);
/// The name of the file that makes a directory a chain of backups.
pub const CHAIN_MANIFEST: &str = "backup-manifest";
/// In a chain of backups: frames of the log.
pub(crate) const INCREMENT: FileKind = kind(3, "increment-", true);

const fn kind(number: u32, prefix: &'static str, is_log: bool) -> FileKind {
    FileKind {
        store: STORE,
        magic: *b"PRONYGRF",
        version: VERSION,
        timed_from: TIMED_FROM,
        number,
        prefix,
        is_log,
    }
}

/// Whether a directory is a graph, as one of its files says.
pub fn is_store(directory: &Path) -> bool {
    LOG.is_in(directory)
}
