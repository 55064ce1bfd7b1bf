//! The line that each run of a search or a comparison leaves, at most 80 columns wide; and the one of a load.

use crate::table::decimal;
use crate::text::columns::width;
use prony_model::result::ResultFile;
use prony_model::search::StepVerdict;
use prony_model::units::percent;

const COLUMNS: usize = 80;

/// `what` was run, its figures, and how it went. What does not fit is left out, the median first; an outcome that does
/// not fit stands on a line of its own.
pub fn run_line(what: &str, result: &ResultFile, outcome: &str) -> String {
    let all = &result.headline().all;
    let parts = [format!("{}/s", decimal(all.rate_per_s)), format!("{} errors", percent(all.error_share()))];
    let percentiles = [99.0, 95.0, 50.0].into_iter();
    let mut times: Vec<_> = percentiles
        .filter_map(|percentile| Some(format!("p{percentile} {}", all.response_time.percentile(percentile)?)))
        .collect();
    let line = |times: &[String]| {
        let times = times.iter().rev().cloned();
        format!("{what}: {}", parts.iter().cloned().chain(times).collect::<Vec<_>>().join(", "))
    };
    while width(&line(&times)) > COLUMNS && times.pop().is_some() {}
    let figures = line(&times);
    if outcome.is_empty() {
        figures
    } else if width(&figures) + 2 + width(outcome) <= COLUMNS {
        format!("{figures}; {outcome}")
    } else {
        format!("{figures}\n  {outcome}")
    }
}

/// The same where there is room for a few words.
pub fn run_word(what: &str, result: &ResultFile) -> String {
    let all = &result.headline().all;
    let p99 = all.response_time.percentile(99.0).map_or(String::new(), |p99| format!(", p99 {p99}"));
    format!("{what}: {}/s{p99}", decimal(all.rate_per_s))
}

/// How a load went in all its runs.
pub const fn step_verdict(verdict: StepVerdict) -> &'static str {
    match verdict {
        StepVerdict::Passed => "PASSED",
        StepVerdict::Failed => "FAILED",
        StepVerdict::LabLimited => "VOID, the lab itself is the limit",
        StepVerdict::Undecided => "UNDECIDED, its runs disagree",
    }
}
