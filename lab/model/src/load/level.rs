//! The load over a span of time.

use crate::units::Nanos;

/// A span in which the load (users, or starts a second) moves in a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub from: Nanos,
    pub to: Nanos,
    pub first: f64,
    pub last: f64,
}

impl Level {
    /// The load at a time within it.
    pub fn at(&self, time: Nanos) -> f64 {
        let (passed, length) = (time.since(self.from).0 as f64, self.to.since(self.from).0 as f64);
        if length > 0.0 { self.first + (self.last - self.first) * (passed / length) } else { self.last }
    }
}
