//! References: short words that stand both in a client's error and in the log's line with the details; and the bound on
//! such lines, so that a database that is down does not fill the disk.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// Lines of failed requests in one second. Whoever reads the log has seen the cause by then.
const LINES_PER_SECOND: u32 = 100;

/// Hands out references that differ within a process, and most likely between processes.
#[derive(Debug)]
pub(crate) struct References {
    process: u16,
    next: AtomicU32,
    started: Instant,
    /// Seconds since the start, the lines written in it, and those left out since the last report.
    second: AtomicU64,
    lines: AtomicU32,
    left_out: AtomicU32,
}

impl Default for References {
    fn default() -> Self {
        Self {
            process: RandomState::new().hash_one(std::process::id()) as u16,
            next: AtomicU32::new(1),
            started: Instant::now(),
            second: AtomicU64::new(0),
            lines: AtomicU32::new(0),
            left_out: AtomicU32::new(0),
        }
    }
}

impl References {
    pub(crate) fn next(&self) -> Box<str> {
        let number = self.next.fetch_add(1, Relaxed);
        format!("{:04x}-{number:x}", self.process).into_boxed_str()
    }

    /// Whether one more line may be written in this second.
    pub(crate) fn may_log(&self) -> bool {
        self.may_log_in(self.started.elapsed().as_secs())
    }

    fn may_log_in(&self, second: u64) -> bool {
        if self.second.swap(second, Relaxed) != second {
            self.lines.store(0, Relaxed);
            let left_out = self.left_out.swap(0, Relaxed);
            if left_out > 0 {
                tracing::warn!(left_out, "more requests failed than the log shows");
            }
        }
        let room = self.lines.fetch_add(1, Relaxed) < LINES_PER_SECOND;
        if !room {
            self.left_out.fetch_add(1, Relaxed);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_in_each_second() {
        let references = References::default();
        for second in [1, 2, 9] {
            let written = (0..1000).filter(|_| references.may_log_in(second)).count();
            assert_eq!(written, LINES_PER_SECOND as usize);
        }
        assert_eq!(references.left_out.load(Relaxed), 900);
    }

    #[test]
    fn references_differ() {
        let references = References::default();
        assert_ne!(references.next(), references.next());
    }
}
