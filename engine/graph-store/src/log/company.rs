//! How long the log's thread waits for company: one frame for many writes costs less than many frames, and a write that
//! nobody joins should not wait. Decides by what came before; knows no clock.

use std::time::Duration;

/// A write waits no longer for others.
pub(crate) const WAITED_FOR: Duration = Duration::from_micros(400);
/// Frames between two at which it is tried whether more come than came.
const FRAMES_A_TRIAL: u32 = 32;

/// How many writes the next frame waits for.
#[derive(Debug)]
pub(crate) struct Company {
    wanted: u64,
    /// More are waited for than came before.
    is_trial: bool,
    frames: u32,
}

impl Default for Company {
    fn default() -> Self {
        Self { wanted: 1, is_trial: false, frames: 0 }
    }
}

impl Company {
    pub(crate) const fn wanted(&self) -> u64 {
        self.wanted
    }

    /// A frame had so many. Now and then, and as long as that many come, the next waits for twice as many; else for as
    /// many as came: of a few clients that each wait for their answer, no more ever come.
    pub(crate) fn had(&mut self, writes: u64) {
        let has_grown = self.is_trial && writes >= self.wanted;
        self.frames = (self.frames + 1) % FRAMES_A_TRIAL;
        self.is_trial = has_grown || self.frames == 0;
        self.wanted = if self.is_trial { writes.saturating_mul(2) } else { writes }.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many writes come while a frame waits for as many as it wants, each frame the same; what the frames have.
    fn frames(come: u64, count: usize) -> Vec<u64> {
        let mut company = Company::default();
        let frame = |_| {
            company.had(company.wanted().min(come));
            company.wanted()
        };
        (0..count).map(frame).collect()
    }

    #[test]
    fn one_writer_waits_for_nobody_but_at_a_trial() {
        let wanted = frames(1, 2 * FRAMES_A_TRIAL as usize);
        assert_eq!(wanted.iter().filter(|wanted| **wanted > 1).count(), 2, "{wanted:?}");
    }

    #[test]
    fn many_writers_are_found_by_doubling_and_then_waited_for() {
        let wanted = frames(48, 2 * FRAMES_A_TRIAL as usize);
        assert_eq!(wanted[31..40], [2, 4, 8, 16, 32, 64, 48, 48, 48]);
        assert_eq!(wanted[63], 96, "the next trial");
    }

    #[test]
    fn those_who_have_gone_are_not_waited_for() {
        let mut company = Company::default();
        company.had(100);
        assert_eq!(company.wanted(), 100);
        company.had(3);
        assert_eq!(company.wanted(), 3);
        company.had(0);
        assert_eq!(company.wanted(), 1);
    }
}
