//! The files of a graph and the version of their format; `docs/graph-files.md` describes it.

use std::{fs, path::Path};

use prony_log::{frames::FileKind, log_state::LOG_STATE, reserve::RESERVE};

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

/// Whether a graph may be in a directory, or be made in it: a file has a name as a graph or a chain of backups gives it, or there is nothing
/// of others. Also true of a directory that cannot be read.
pub fn may_be_store(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return true };
    let mut has_others = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_numbered = [LOG, SNAPSHOT].iter().any(|kind| kind.number_of(&name).is_some());
        if is_numbered || name == LOG_STATE || name == CHAIN_MANIFEST {
            return true;
        }
        // A process that ended early has left nothing but these. Others use such names too, so that they are no sign of a graph.
        has_others |= name != "lock" && name != RESERVE;
    }
    !has_others
}
