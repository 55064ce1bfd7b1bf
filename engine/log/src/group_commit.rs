//! How many writes the log's thread waits for before it writes a frame: one frame for many writes costs less than many
//! frames, and a write that no other joins should not wait. It decides by the frames before and reads no clock.

use std::time::Duration;

/// The longest that a write waits for others to share its frame.
pub(crate) const WAIT_MAX: Duration = Duration::from_micros(400);
/// After so many frames, one waits for more writes than came before, to find out whether more would come.
const FRAMES_A_TRIAL: u32 = 32;

/// The number of writes that the next frame waits for.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    size: u64,
    /// The next frame waits for more writes than the one before it had.
    is_trial: bool,
    frames: u32,
}

impl Default for GroupCommit {
    fn default() -> Self {
        Self { size: 1, is_trial: false, frames: 0 }
    }
}

impl GroupCommit {
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Takes in how many writes a frame had. The next frame waits for as many: a few clients, each of which waits for its
    /// response before it writes again, never send more. A trial waits for twice as many, and goes on doubling as long as
    /// they come.
    pub(crate) fn record(&mut self, writes: u64) {
        let has_grown = self.is_trial && writes >= self.size;
        self.frames = (self.frames + 1) % FRAMES_A_TRIAL;
        self.is_trial = has_grown || self.frames == 0;
        self.size = if self.is_trial { writes.saturating_mul(2) } else { writes }.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes after each of `count` frames, where `come` writes come while each frame waits.
    fn frames(come: u64, count: usize) -> Vec<u64> {
        let mut group_commit = GroupCommit::default();
        let frame = |_| {
            group_commit.record(group_commit.size().min(come));
            group_commit.size()
        };
        (0..count).map(frame).collect()
    }

    #[test]
    fn one_writer_waits_for_nobody_but_at_a_trial() {
        let sizes = frames(1, 2 * FRAMES_A_TRIAL as usize);
        assert_eq!(sizes.iter().filter(|size| **size > 1).count(), 2, "{sizes:?}");
    }

    #[test]
    fn many_writers_are_found_by_doubling_and_then_waited_for() {
        let sizes = frames(48, 2 * FRAMES_A_TRIAL as usize);
        assert_eq!(sizes[31..40], [2, 4, 8, 16, 32, 64, 48, 48, 48]);
        assert_eq!(sizes[63], 96, "the next trial");
    }

    #[test]
    fn those_who_have_gone_are_not_waited_for() {
        let mut group_commit = GroupCommit::default();
        group_commit.record(100);
        assert_eq!(group_commit.size(), 100);
        group_commit.record(3);
        assert_eq!(group_commit.size(), 3);
        group_commit.record(0);
        assert_eq!(group_commit.size(), 1);
    }
}
