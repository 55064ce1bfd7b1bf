//! How far a run is, from the runner's words into those of the display, which do not know each other.

use prony_load::Progress;
use prony_report::ProgressLine;

pub(crate) fn line(progress: &Progress) -> ProgressLine {
    ProgressLine {
        elapsed: progress.elapsed,
        duration: progress.duration,
        last: progress.last,
        subscribers: progress.subscribers,
        asked_per_s: progress.asked_per_s,
        requests: progress.requests,
        failures: progress.failures,
        waited: progress.waited,
        dropped: progress.dropped,
        findings: progress.findings.clone(),
    }
}
