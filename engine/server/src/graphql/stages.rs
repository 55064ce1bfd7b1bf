//! The stages of a request and the time that each took.

use std::fmt::Write as _;

use rustix::time::{ClockId, clock_gettime};

/// The stages in their order. `parse` reads the request's JSON; `validate` finds the operation, or parses and
/// validates its text, and coerces the variables; `plan` finds or makes the plan; `execute` waits for the
/// sources; `assemble` writes the response.
pub(crate) const STAGES: [&str; 5] = ["parse", "validate", "plan", "execute", "assemble"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Parse,
    Validate,
    Plan,
    Execute,
    Assemble,
}

/// Times, in ns, of the stages that a request has reached.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes([Option<u64>; STAGES.len()]);

impl StageTimes {
    /// In ns.
    pub(crate) fn all(&self) -> impl Iterator<Item = Option<u64>> {
        self.0.into_iter()
    }

    /// The value of a `Server-Timing` header (W3C Server Timing, section 3): milliseconds.
    pub(crate) fn server_timing(&self) -> String {
        let mut text = String::new();
        for (name, time) in STAGES.iter().zip(self.0) {
            let Some(time) = time else { continue };
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{name};dur={:.3}", time as f64 / 1e6);
        }
        text
    }
}

/// Measures one stage after the other.
#[derive(Debug, Clone)]
pub(crate) struct StageClock {
    times: StageTimes,
    last_ns: u64,
}

impl StageClock {
    pub(crate) fn start() -> Self {
        Self { times: StageTimes::default(), last_ns: now_ns() }
    }

    pub(crate) fn ended(&mut self, stage: Stage) {
        let now = now_ns();
        self.times.0[stage as usize] = Some(now.saturating_sub(self.last_ns));
        self.last_ns = now;
    }

    pub(crate) fn times(&self) -> StageTimes {
        self.times
    }
}

/// On the monotonic clock. Whole ns are compared and added in one step each, which `Instant` and `Duration` are not: a
/// request asks six times.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_were_not_reached_are_left_out() {
        let times = StageTimes([Some(12_000), Some(3_000_000), None, None, None]);
        assert_eq!(times.server_timing(), "parse;dur=0.012, validate;dur=3.000");
    }
}
