//! A search in a terminal: the interval, how each load went, and what is to be known of its runs.

use crate::describe;
use crate::summary::push_finding;
use crate::table::{decimal, grouped};
use crate::text::table::{TextTable, judged};
use crate::text::{StyledText, TextLooks, Tone};
use prony_model::Nanos;
use prony_model::result::{ResultFile, RunState};
use prony_model::search::{SearchAnswer, SearchFile, SearchStep, StepVerdict, Trial};
use prony_model::units::percent;
use prony_model::verdict::finding::Finding;
use std::fmt::Write as _;

/// What the table of loads loses where it is too wide: p50, max, how many runs passed, p95, errors.
const LOST: [usize; 5] = [5, 8, 1, 6, 4];

/// For people; ends with a line break.
pub fn search_summary(file: &SearchFile, looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    text.push_as(Tone::Name, &file.name);
    let _ = writeln!(text, ": {}", describe::searched(file));
    push_state(&mut text, file.state);
    let _ = writeln!(text, "\n{}", answer(file));
    if let Some(note) = disagreement(file) {
        text.push_as(Tone::Doubtful, &note);
        text.push("\n");
    }
    text.push("\n");
    TextTable::with_head(&steps_table(file)).with_tone(judged::<2>).losing(&LOST).write(&mut text);
    for line in failures(file) {
        let _ = writeln!(text, "  {line}");
    }
    push_findings_of(&mut text, file.steps.iter().flat_map(|step| &step.runs).map(|run| &run.result));
    text.push_verdict(&sentence(file));
    text.into_string()
}

/// Of a search or a comparison that did not come to its end.
pub(crate) fn push_state(text: &mut StyledText, state: RunState) {
    if state != RunState::Completed {
        text.push_as(Tone::Doubtful, "stopped early: what follows is what was measured until then");
        text.push("\n");
    }
}

/// What the search comes to in one sentence, by the one rule.
pub(crate) fn sentence(file: &SearchFile) -> String {
    let passed = match file.answer {
        SearchAnswer::Between { passed, .. } | SearchAnswer::AtLeast { passed } => {
            format!("every objective was kept up to {}", shown_load(file, passed))
        }
        _ => String::new(),
    };
    describe::sentence(&file.kept_verdict(), &passed)
}

/// One sentence: the claim, or why there is none.
pub(crate) fn answer(file: &SearchFile) -> String {
    let show = |load| shown_load(file, load);
    match file.answer {
        SearchAnswer::Between { passed, failed } => {
            let width = file.interval.width().unwrap_or(0.0) * 100.0;
            format!(
                "the limit is between {} and {}: the first kept every objective, the second did not ({width:.1} % apart)",
                show(passed),
                show(failed)
            )
        }
        SearchAnswer::AtLeast { passed } if passed >= file.plan.highest => {
            format!(
                "at least {}, the most that was allowed: nothing failed; raise --max to go on",
                show(passed)
            )
        }
        SearchAnswer::AtLeast { passed } => {
            format!("at least {}: nothing failed until the search ended", show(passed))
        }
        SearchAnswer::Below { failed } => {
            format!("below {}: no load that was tried kept the objectives", show(failed))
        }
        SearchAnswer::LabLimited { passed, lab_limited } => {
            let bound =
                passed.map_or("no load passed".to_owned(), |passed| format!("at least {}", show(passed)));
            format!(
                "{bound}, and the limit is not known: at {} the lab itself was the limit, so no claim is made above that",
                show(lab_limited)
            )
        }
        SearchAnswer::Unknown => format!("nothing is known: {}", file.why_unknown()),
    }
}

pub(crate) fn shown_load(file: &SearchFile, load: u32) -> String {
    let number = load.to_string();
    file.vary.show(load).replacen(&number, &grouped(load.into()), 1)
}

fn disagreement(file: &SearchFile) -> Option<String> {
    let (low, high) = file.interval.undecided?;
    let loads = if low == high {
        shown_load(file, low)
    } else {
        format!("{} to {}", shown_load(file, low), shown_load(file, high))
    };
    Some(format!("runs at {loads} disagreed to the end: the limit is near, and moves"))
}

pub(crate) fn steps_table(file: &SearchFile) -> Vec<Vec<String>> {
    let head = ["load", "passed", "outcome", "a second", "errors", "p50", "p95", "p99", "max"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for step in file.steps_by_load() {
        let passed = step.runs.iter().filter(|run| run.trial == Trial::Passed).count();
        let all = |figure: fn(&ResultFile) -> Option<f64>| median(step, figure);
        let time = |figure| all(figure).map_or("-".to_owned(), |ns| Nanos(ns as u64).to_string());
        rows.push(vec![
            shown_load(file, step.load),
            format!("{passed} of {}", step.runs.len()),
            verdict(step).to_owned(),
            all(|result| Some(result.headline().all.rate_per_s)).map_or("-".to_owned(), decimal),
            all(|result| Some(result.headline().all.error_share())).map_or("-".to_owned(), percent),
            time(|result| percentile(result, 50.0)),
            time(|result| percentile(result, 95.0)),
            time(|result| percentile(result, 99.0)),
            time(|result| result.headline().all.response_time.max_ns.map(|time| time.0 as f64)),
        ]);
    }
    rows
}

fn percentile(result: &ResultFile, percentile: f64) -> Option<f64> {
    result.headline().all.response_time.percentile(percentile).map(|time| time.0 as f64)
}

fn verdict(step: &SearchStep) -> &'static str {
    match step.verdict {
        Some(StepVerdict::Passed) => "passed",
        Some(StepVerdict::Failed) => "FAILED",
        Some(StepVerdict::LabLimited) => "LAB LIMITED",
        Some(StepVerdict::Undecided) => "UNDECIDED",
        None => "not ended",
    }
}

/// Of the runs that have the figure; the mean of the two in the middle where they are even in number.
fn median(step: &SearchStep, figure: fn(&ResultFile) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = step.runs.iter().filter_map(|run| figure(&run.result)).collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[values.len().div_ceil(2) - 1];
    Some(f64::midpoint(lower, upper))
}

/// Why loads did not pass, one line each, with the last reason of their runs.
fn failures(file: &SearchFile) -> Vec<String> {
    let line = |step: &&SearchStep| {
        if step.verdict == Some(StepVerdict::Passed) {
            return None;
        }
        let mut reasons = step.runs.iter().map(|run| &run.reason).filter(|reason| !reason.is_empty());
        let reason = step.note.as_ref().or(reasons.next_back())?;
        Some(format!("{}: {reason}", shown_load(file, step.load)))
    };
    file.steps_by_load().iter().filter_map(line).collect()
}

/// Each kind of finding once, with how many of the runs have it and what one of them says.
pub(crate) fn push_findings_of<'a>(text: &mut StyledText, results: impl Iterator<Item = &'a ResultFile>) {
    let mut kinds: Vec<(usize, &Finding)> = Vec::new();
    let mut runs = 0;
    for result in results {
        runs += 1;
        for (index, finding) in result.findings.iter().enumerate() {
            // Each worker of a run may have found the same.
            if result.findings[..index].iter().any(|before| before.kind == finding.kind) {
                continue;
            }
            match kinds.iter_mut().find(|(_, known)| known.kind == finding.kind) {
                Some((count, _)) => *count += 1,
                None => kinds.push((1, finding)),
            }
        }
    }
    kinds.sort_by_key(|(_, finding)| (!finding.voids_claim, finding.kind));
    for (count, finding) in kinds {
        let weight = match finding {
            finding if finding.voids_claim => " (figures of such runs are not about the target)",
            finding if finding.is_upper_bound() => " (times of such runs are too long if anything)",
            _ => "",
        };
        text.push("\n");
        push_finding(text, finding, &format!("{weight} in {count} of {runs} runs"));
    }
}
