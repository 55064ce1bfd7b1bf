//! Who used the engine's processors while it was measured, and whether something beside the engine was the limit.

use std::time::{Duration, Instant};

use prony_model::verdict::finding::{Finding, FindingKind};
use prony_observe::usage::{Usage, busy_time};

use crate::display::count_of_processors;

/// Other processes may take this share of the engine's processors before a figure says nothing about the engine.
const OTHERS_SHARE_MAX: f64 = 0.15;

/// The engine's use at one moment, and that of its processors by everybody.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub at: Instant,
    pub engine: Usage,
    pub all: Option<Duration>,
}

impl Reading {
    /// `None` where the process is gone. Without `processors` nothing is said about others.
    pub(crate) fn take(process: u32, processors: Option<&[usize]>) -> Option<Self> {
        let engine = Usage::of(process).ok()?;
        let all = processors.and_then(|processors| busy_time(processors).ok());
        Some(Self { at: Instant::now(), engine, all })
    }
}

/// Processors' worth of time used by the engine and, on its processors, by others.
pub(crate) fn shares(first: &Reading, last: &Reading) -> Option<(f64, Option<f64>)> {
    let seconds = (last.at - first.at).as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let share = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / seconds;
    let engine = share(first.engine.processor_time, last.engine.processor_time);
    let others = first.all.zip(last.all).map(|(from, to)| (share(from, to) - engine).max(0.0));
    Some((engine, others))
}

/// What was short beside the engine, for people.
pub(crate) fn outside_limit(
    findings: &[Finding],
    shares: Option<(f64, Option<f64>)>,
    processors: usize,
) -> Option<String> {
    let is_outside = |finding: &&Finding| match finding.kind {
        FindingKind::GeneratorBound | FindingKind::TargetSharesCpu => true,
        // That requests fail is the engine's own.
        kind => finding.voids_claim && kind != FindingKind::ErrorsDominate,
    };
    if let Some((_, Some(others))) = shares
        && others > OTHERS_SHARE_MAX * processors as f64
    {
        let processors = count_of_processors(processors);
        return Some(format!("other processes used {others:.2} of the engine's {processors}"));
    }
    findings.iter().find(is_outside).map(|finding| finding.seen.clone())
}

/// The engine's processor time for each of `requests`.
pub(crate) fn microseconds_per_request(
    before: Option<Usage>,
    after: Option<Usage>,
    requests: u64,
) -> Option<f64> {
    let used = after?.processor_time.checked_sub(before?.processor_time)?;
    (requests > 0).then(|| used.as_secs_f64() * 1e6 / requests as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(start: Instant, second: u64, engine_ms: u64, all_ms: u64) -> Reading {
        let engine = Usage { processor_time: Duration::from_millis(engine_ms), ..Usage::default() };
        let all = Some(Duration::from_millis(all_ms));
        Reading { at: start + Duration::from_secs(second), engine, all }
    }

    #[test]
    fn what_others_take_is_told_apart() {
        let start = Instant::now();
        let (first, last) = (reading(start, 0, 0, 0), reading(start, 4, 2_000, 3_200));
        let (engine, others) = shares(&first, &last).unwrap();
        assert!((engine - 0.5).abs() < 1e-9);
        assert!((others.unwrap() - 0.3).abs() < 1e-9);
        assert!(shares(&first, &first).is_none());
    }

    #[test]
    fn a_busy_machine_is_no_fault_of_the_engine() {
        assert_eq!(outside_limit(&[], Some((0.9, Some(0.1))), 1), None);
        assert_eq!(
            outside_limit(&[], Some((0.5, Some(0.4))), 1).unwrap(),
            "other processes used 0.40 of the engine's 1 processor"
        );
        assert_eq!(outside_limit(&[], Some((1.5, Some(0.25))), 2), None);
    }

    #[test]
    fn processor_time_is_shared_out_over_the_requests() {
        let usage = |ms| Some(Usage { processor_time: Duration::from_millis(ms), ..Usage::default() });
        assert_eq!(microseconds_per_request(usage(100), usage(1_100), 10_000), Some(100.0));
        assert_eq!(microseconds_per_request(usage(100), usage(1_100), 0), None);
        assert_eq!(microseconds_per_request(None, usage(1_100), 1), None);
    }
}
