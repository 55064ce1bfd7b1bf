//! What a connection has under way, by what is known of how long its statements take; and which statements may join them.

use std::cell::Cell;

/// What is known of how long a statement takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Others may stand behind it.
    Quick,
    /// It has not run yet, or not often enough.
    Unknown,
    /// Others had better not stand behind it.
    Slow,
}

/// Statements that were given a connection and have not ended.
#[derive(Debug, Default)]
pub(crate) struct Load {
    quick: Cell<u32>,
    unknown: Cell<u32>,
    slow: Cell<u32>,
}

/// Whether a statement may be given a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Yes,
    /// It would stand behind statements that may be slow, which is better only than no connection at all.
    Behind,
    No,
}

impl Load {
    pub(crate) fn begin(&self, pace: Pace) {
        let count = self.of(pace);
        count.set(count.get() + 1);
    }

    pub(crate) fn end(&self, pace: Pace) {
        let count = self.of(pace);
        count.set(count.get() - 1);
    }

    /// How many there are.
    pub(crate) fn total(&self) -> u32 {
        self.quick.get() + self.unknown.get() + self.slow.get()
    }

    /// Whether there are some that may be slow.
    pub(crate) fn is_held(&self) -> bool {
        self.unknown.get() + self.slow.get() > 0
    }

    /// Of a connection with this load among `connections` that there may be, of which `held` have statements that may be slow: one is left
    /// to those that are known to be quick, and behind one that is known to be slow stands none.
    pub(crate) fn admits(&self, pace: Pace, held: usize, connections: usize) -> Admission {
        let has_lane = connections > 1;
        match pace {
            Pace::Quick if has_lane && self.is_held() => Admission::Behind,
            Pace::Unknown | Pace::Slow if has_lane => {
                let may_hold = self.is_held() || held + 1 < connections;
                if may_hold && self.slow.get() == 0 { Admission::Yes } else { Admission::No }
            }
            Pace::Quick | Pace::Unknown | Pace::Slow => Admission::Yes,
        }
    }

    fn of(&self, pace: Pace) -> &Cell<u32> {
        match pace {
            Pace::Quick => &self.quick,
            Pace::Unknown => &self.unknown,
            Pace::Slow => &self.slow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What statements of each pace may do on a connection with this load.
    fn admitted(load: &[Pace], held: usize, connections: usize) -> [Admission; 3] {
        let there = Load::default();
        for pace in load {
            there.begin(*pace);
        }
        [Pace::Quick, Pace::Unknown, Pace::Slow].map(|pace| there.admits(pace, held, connections))
    }

    #[test]
    fn a_connection_is_left_to_quick_statements() {
        use Admission::{Behind, No, Yes};
        use Pace::{Quick, Slow, Unknown};
        assert_eq!(admitted(&[], 0, 4), [Yes; 3]);
        assert_eq!(admitted(&[Quick, Quick], 2, 4), [Yes; 3]);
        assert_eq!(admitted(&[Quick], 3, 4), [Yes, No, No], "the last is theirs");
        assert_eq!(admitted(&[Unknown], 3, 4), [Behind, Yes, Yes], "it is held already");
        assert_eq!(admitted(&[Unknown, Slow], 3, 4), [Behind, No, No]);
        assert_eq!(admitted(&[], 1, 2), [Yes, No, No]);
        assert_eq!(admitted(&[Slow], 1, 1), [Yes; 3], "one connection has no lane");
    }

    #[test]
    fn what_has_ended_holds_nothing() {
        let load = Load::default();
        load.begin(Pace::Slow);
        load.begin(Pace::Quick);
        assert_eq!((load.total(), load.is_held()), (2, true));
        load.end(Pace::Slow);
        assert_eq!((load.total(), load.is_held()), (1, false));
    }
}
