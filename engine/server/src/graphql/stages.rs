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

/// What a clock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClockKind {
    #[default]
    Monotonic,
    /// The processor time of the thread: what stages cost, without what they wait for.
    Processor,
}

/// Times, in ns, of the stages that a request has reached.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes {
    stages: [Option<u64>; STAGES.len()],
    /// Of counting it by its rules, between plan and execution; a part of the execution where it is not known by itself.
    admit: Option<u64>,
    /// Of the execution, what passed before its sources were asked.
    waited_ns: u64,
    kind: ClockKind,
}

impl StageTimes {
    /// In ns, as far as time has passed: nothing of processor time.
    pub(crate) fn all(&self) -> impl Iterator<Item = Option<u64>> {
        let passed = self.kind == ClockKind::Monotonic;
        self.stages.into_iter().map(move |time| time.filter(|_| passed))
    }

    /// Of all stages together, in ns; none where no time has passed.
    pub(crate) fn total_ns(&self) -> Option<u64> {
        self.all().flatten().reduce(u64::saturating_add)
    }

    /// Of the execution, what its sources took; none where nothing was executed, or no time has passed.
    pub(super) fn sources_ns(&self) -> Option<u64> {
        let execute_ns = self.all().nth(Stage::Execute as usize).flatten()?;
        Some(execute_ns.saturating_sub(self.waited_ns))
    }

    /// The value of a `Server-Timing` header (W3C Server Timing, section 3): milliseconds.
    pub(crate) fn server_timing(&self) -> String {
        let mut text = String::new();
        let stages = STAGES.iter().zip(self.stages);
        for (name, time) in stages.chain([(&"admit", self.admit)]) {
            let Some(time) = time else { continue };
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let digits = if self.kind == ClockKind::Processor { 6 } else { 3 };
            let _ = write!(text, "{separator}{name};dur={:.digits$}", time as f64 / 1e6);
        }
        text
    }
}

/// Measures one stage after the other.
#[derive(Debug, Clone)]
pub(crate) struct StageClock {
    times: StageTimes,
    last_ns: u64,
    kind: ClockKind,
}

impl StageClock {
    pub(crate) fn start() -> Self {
        Self::of(ClockKind::Monotonic)
    }

    pub(crate) fn of(kind: ClockKind) -> Self {
        let times = StageTimes { kind, ..StageTimes::default() };
        Self { times, last_ns: now_ns(kind), kind }
    }

    pub(crate) fn ended(&mut self, stage: Stage) {
        self.times.stages[stage as usize] = Some(self.lap());
    }

    /// The operation is counted by its rules. Only who asks for processor time is told that apart.
    pub(crate) fn admitted(&mut self) {
        if self.kind == ClockKind::Processor {
            self.times.admit = Some(self.lap());
        }
    }

    /// The operation has waited for a place or for what counts it: a part of its execution, in which no source was asked.
    pub(super) fn waited(&mut self) {
        self.times.waited_ns = now_ns(self.kind).saturating_sub(self.last_ns);
    }

    /// Since the last time.
    fn lap(&mut self) -> u64 {
        let now = now_ns(self.kind);
        let passed = now.saturating_sub(self.last_ns);
        self.last_ns = now;
        passed
    }

    pub(crate) fn times(&self) -> StageTimes {
        self.times
    }
}

/// Whole ns are compared and added in one step each, which `Instant` and `Duration` are not: a
/// request asks six times.
fn now_ns(kind: ClockKind) -> u64 {
    let now = clock_gettime(match kind {
        ClockKind::Monotonic => ClockId::Monotonic,
        ClockKind::Processor => ClockId::ThreadCPUTime,
    });
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_were_not_reached_are_left_out() {
        let stages = [Some(12_000), Some(3_000_000), None, None, None];
        let times = StageTimes { stages, ..StageTimes::default() };
        assert_eq!(times.server_timing(), "parse;dur=0.012, validate;dur=3.000");
        assert_eq!(times.all().flatten().count(), 2);
    }

    #[test]
    fn what_was_waited_for_is_no_time_of_sources() {
        let stages = [Some(500), Some(70), Some(9), Some(4_000), None];
        let times = StageTimes { stages, waited_ns: 1_500, ..StageTimes::default() };
        assert_eq!((times.total_ns(), times.sources_ns()), (Some(4_579), Some(2_500)));
        let of_processor = StageTimes { kind: ClockKind::Processor, ..times };
        assert_eq!((of_processor.total_ns(), of_processor.sources_ns()), (None, None));
        let kept = StageTimes { stages: [Some(1), Some(2), Some(3), None, None], ..StageTimes::default() };
        assert_eq!((kept.total_ns(), kept.sources_ns()), (Some(6), None));
    }

    #[test]
    fn what_is_waited_for_is_a_part_of_the_execution() {
        let mut clock = StageClock::start();
        clock.ended(Stage::Plan);
        clock.waited();
        let first_ns = clock.times.waited_ns;
        clock.waited();
        let waited_ns = clock.times.waited_ns;
        clock.ended(Stage::Execute);
        let execute_ns = clock.times.stages[Stage::Execute as usize].expect("it has ended");
        assert!(first_ns <= waited_ns && waited_ns <= execute_ns, "{clock:?}");
        assert_eq!(clock.times().sources_ns(), Some(execute_ns - waited_ns));
    }

    #[test]
    fn processor_time_is_told_and_not_counted_as_time() {
        let mut clock = StageClock::of(ClockKind::Processor);
        clock.ended(Stage::Parse);
        std::thread::sleep(std::time::Duration::from_millis(20));
        clock.ended(Stage::Plan);
        clock.admitted();
        let times = clock.times();
        assert!(times.stages[Stage::Plan as usize].is_some_and(|ns| ns < 15_000_000), "{times:?}");
        assert!(times.server_timing().contains(", admit;dur="), "{times:?}");
        assert_eq!(times.all().flatten().count(), 0);
    }
}
