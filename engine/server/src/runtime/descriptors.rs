//! File descriptors: the limit is raised as far as the system allows, and connections leave some for the rest.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For listeners, logs, databases and their journals.
const RESERVED: u64 = 128;

/// Fewer than these are worth a warning; every system allows more.
const FEW: usize = 4096;

/// Raises the soft limit to the hard one; the answer is how many connections fit, at most `wanted`.
pub(super) fn connections(wanted: usize) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = if raised.is_ok() { maximum } else { current };
    let room = limit.map_or(usize::MAX, |limit| limit.saturating_sub(RESERVED).max(1) as usize);
    if room < wanted {
        let hint = "the limit on open files is lower than max_connections; raise it with `ulimit -n`";
        if room < FEW {
            tracing::warn!(wanted, room, "{hint}");
        } else {
            tracing::info!(wanted, room, "{hint}");
        }
    }
    wanted.min(room)
}
