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
    let room = room(limit);
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

/// How many connections fit below a limit; none is no limit.
fn room(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| limit.saturating_sub(RESERVED).max(1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `prony/tests/descriptors.rs` has a process that is limited.
    #[test]
    fn some_descriptors_are_left_for_the_rest() {
        assert_eq!(room(None), usize::MAX);
        assert_eq!(room(Some(1024)), 896);
        assert_eq!(room(Some(RESERVED)), 1, "a server without any connection is none");
        assert_eq!(room(Some(0)), 1);
    }
}
