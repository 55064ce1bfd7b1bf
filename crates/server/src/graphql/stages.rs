//! The stages of a request and the time that each took.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

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

/// Times of the stages that a request has reached.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes([Option<Duration>; STAGES.len()]);

impl StageTimes {
    pub(crate) fn all(&self) -> impl Iterator<Item = Option<Duration>> {
        self.0.into_iter()
    }

    /// The value of a `Server-Timing` header (W3C Server Timing, section 3): milliseconds.
    pub(crate) fn server_timing(&self) -> String {
        let mut text = String::new();
        for (name, time) in STAGES.iter().zip(self.0) {
            let Some(time) = time else { continue };
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{name};dur={:.3}", time.as_secs_f64() * 1e3);
        }
        text
    }
}

/// Measures one stage after the other.
#[derive(Debug, Clone)]
pub(crate) struct StageClock {
    times: StageTimes,
    last: Instant,
}

impl StageClock {
    pub(crate) fn start() -> Self {
        Self { times: StageTimes::default(), last: Instant::now() }
    }

    pub(crate) fn ended(&mut self, stage: Stage) {
        let now = Instant::now();
        self.times.0[stage as usize] = Some(now - self.last);
        self.last = now;
    }

    pub(crate) fn times(&self) -> StageTimes {
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_were_not_reached_are_left_out() {
        let times =
            StageTimes([Some(Duration::from_micros(12)), Some(Duration::from_millis(3)), None, None, None]);
        assert_eq!(times.server_timing(), "parse;dur=0.012, validate;dur=3.000");
    }
}
