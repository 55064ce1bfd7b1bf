//! Numbers of users that move in straight lines: who of them is active when.

use super::level::Level;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A part of a run in which the number of users moves in a straight line from where the
/// stage before ended (0 before the first) to `users`. A duration of zero is a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub duration_ns: Nanos,
    pub users: u32,
}

impl Stage {
    pub const fn new(duration: Nanos, users: u32) -> Self {
        Self { duration_ns: duration, users }
    }
}

/// A span in which one user is active: from `start` up to, not including, `stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    pub start: Nanos,
    pub stop: Nanos,
}

/// How many users there are, over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSchedule {
    pub stages: Vec<Stage>,
}

impl UserSchedule {
    /// `users` from the first moment, for `duration`.
    pub fn constant(users: u32, duration: Nanos) -> Self {
        Self { stages: vec![Stage::new(Nanos::ZERO, users), Stage::new(duration, users)] }
    }

    /// The users and their time, where they are as [`Self::constant`] makes them.
    pub fn as_constant(&self) -> Option<(u32, Nanos)> {
        match self.stages[..] {
            [Stage { duration_ns: Nanos::ZERO, users: first }, Stage { duration_ns, users }] => {
                (first == users).then_some((users, duration_ns))
            }
            _ => None,
        }
    }

    pub fn duration(&self) -> Nanos {
        self.stages.iter().fold(Nanos::ZERO, |sum, stage| sum.plus(stage.duration_ns))
    }

    pub fn users_max(&self) -> u32 {
        self.stages.iter().map(|stage| stage.users).max().unwrap_or(0)
    }

    /// Those that are there at the moment at which the last stage ends.
    pub fn last(&self) -> u32 {
        self.stages.last().map_or(0, |stage| stage.users)
    }

    /// None once the last stage has ended.
    pub fn active_at(&self, time: Nanos) -> u32 {
        let active = segments(&self.stages).filter(|s| s.begin <= time && time < s.end).last();
        active.map_or(0, |segment| segment.users_at(time))
    }

    /// User `k` (from 0) is active while more than `k` users are: the first to come is the last to go.
    pub fn activities_of(&self, user: u32) -> Vec<Activity> {
        let mut spans: Vec<Activity> = Vec::new();
        for segment in segments(&self.stages) {
            let Some(span) = segment.activity_of(user) else { continue };
            match spans.last_mut() {
                Some(last) if last.stop == span.start => last.stop = span.stop,
                _ => spans.push(span),
            }
        }
        spans
    }

    pub(super) fn levels(&self) -> Vec<Level> {
        let level = |segment: UsersSegment| Level {
            from: segment.begin,
            to: segment.end,
            first: f64::from(segment.from),
            last: f64::from(segment.to),
        };
        segments(&self.stages).map(level).collect()
    }
}

fn segments(stages: &[Stage]) -> impl Iterator<Item = UsersSegment> + '_ {
    let (mut begin, mut users_before) = (Nanos::ZERO, 0);
    stages.iter().map(move |stage| {
        let end = begin.plus(stage.duration_ns);
        let segment = UsersSegment { begin, end, from: users_before, to: stage.users };
        (begin, users_before) = (end, stage.users);
        segment
    })
}

/// One stage with its place in time.
#[derive(Debug, Clone, Copy)]
struct UsersSegment {
    begin: Nanos,
    end: Nanos,
    from: u32,
    to: u32,
}

impl UsersSegment {
    fn length(self) -> u128 {
        u128::from(self.end.since(self.begin).0)
    }

    /// Rising, the k-th user is counted once the line reaches k; falling, it leaves when the line does.
    fn users_at(self, time: Nanos) -> u32 {
        let passed = u128::from(time.since(self.begin).0);
        let change = u128::from(self.to.abs_diff(self.from));
        let moved = |round_up: bool| {
            let product = change * passed;
            (if round_up { product.div_ceil(self.length()) } else { product / self.length() }) as u32
        };
        if self.to >= self.from { self.from + moved(false) } else { self.from - moved(true) }
    }

    fn activity_of(self, user: u32) -> Option<Activity> {
        if self.begin == self.end {
            return None;
        }
        let (start, stop) = if self.to >= self.from {
            (self.crossing_up(user)?, self.end)
        } else {
            (self.begin, self.crossing_down(user)?)
        };
        (start < stop).then_some(Activity { start, stop })
    }

    /// The first moment at which the rising line is at `user + 1` or above.
    fn crossing_up(self, user: u32) -> Option<Nanos> {
        if user < self.from {
            return Some(self.begin);
        }
        if user >= self.to {
            return None;
        }
        let steps = u128::from(user + 1 - self.from);
        let offset = (steps * self.length()).div_ceil(u128::from(self.to - self.from));
        Some(self.begin.plus(Nanos(offset as u64)))
    }

    /// The first moment at which the falling line is below `user + 1`.
    fn crossing_down(self, user: u32) -> Option<Nanos> {
        if user < self.to {
            return Some(self.end);
        }
        if user >= self.from {
            return None;
        }
        let steps = u128::from(self.from - user - 1);
        let offset = steps * self.length() / u128::from(self.from - self.to);
        Some(self.begin.plus(Nanos(offset as u64 + 1)))
    }
}
