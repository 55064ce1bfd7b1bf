//! The checks: what is asked of the target, and how what the lab reports is held against the target's log.

use super::log::{Ending, Entry, percentile, true_response_times};
use super::report::Check;
use super::target::{FREEZE_FROM, FREEZE_TO};
use super::{Bench, SelftestError};
use prony_model::data::variable::Order;
use prony_model::measurement::figures::Figures;
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::tally::StartCounts;
use prony_model::{LoadModel, Nanos, PlanDraft, RequestDraft, ResultFile, Variable, WindowKind};

type Checked = Result<Vec<Check>, SelftestError>;
/// A name and what it does, in full or quickly.
type Entered = (&'static str, fn(&Bench, bool) -> Checked);

pub(super) const ALL: [Entered; 7] = [
    ("a fixed delay", fixed_delay),
    ("sends on schedule", schedule),
    ("a stall, at a constant rate", stall_in_the_open),
    ("the same stall, in a closed loop", stall_in_a_closed_loop),
    ("starts that find no user", drops),
    ("resets", resets),
    ("slow answers", slow_answers),
];

/// Waking up takes its time on both sides; a percentile has the histogram's thousandth beside that.
const TIME_ERROR: Nanos = Nanos::from_millis(1);
const SCHEDULE_ERROR: f64 = 0.01;
const PERCENTILE_ERROR: f64 = 0.02;
const SILENCE_ERROR: f64 = 0.05;
const RATE_PER_S: f64 = 500.0;
/// Enough for all starts of a stall to be on their way at once.
const USERS_IN_THE_OPEN: u32 = 700;
/// More than are busy at a time: what counts is when requests leave, not how fast connections open.
const USERS_ON_SCHEDULE: u32 = 32;
const USERS: u32 = 8;
const FIXED_MS: u64 = 5;
const STALL_MS: u64 = 10;
/// A closed loop that notices so little of a stall hides it.
const HIDDEN_P99: Nanos = Nanos::from_millis(200);

fn fixed_delay(bench: &Bench, is_quick: bool) -> Checked {
    let load = LoadModel::constant(USERS, seconds(is_quick, 1, 4));
    let (result, log) = bench.run(draft(bench, &format!("/fixed/{FIXED_MS}"), load))?;
    let truth: Vec<_> = log.iter().map(Entry::service_time).collect();
    Ok(vec![times("fixed delay, p50", percentile(&truth, 50.0), response(&result, 50.0))])
}

fn schedule(bench: &Bench, is_quick: bool) -> Checked {
    let length = seconds(is_quick, 2, 6);
    let load = LoadModel::open(RATE_PER_S, length, USERS_ON_SCHEDULE);
    let (result, log) = bench.run(draft(bench, &format!("/fixed/{FIXED_MS}"), load))?;
    let reached = pace(&log);
    let late = result.lab.lateness.percentile(99.0).unwrap_or_default();
    Ok(vec![Check {
        what: format!("arrivals a second, {RATE_PER_S} asked"),
        truth: format!("{reached:.1}/s"),
        reported: format!(
            "{:.1}/s, p99 sent {late} late",
            started(&result).started as f64 / length.as_secs_f64()
        ),
        bound: "1 %".to_owned(),
        holds: is_near(reached, RATE_PER_S, SCHEDULE_ERROR) && started(&result).started == log.len() as u64,
    }])
}

fn stall_in_the_open(bench: &Bench, is_quick: bool) -> Checked {
    let load = LoadModel::open(RATE_PER_S, seconds(is_quick, 5, 10), USERS_IN_THE_OPEN);
    let (result, log) = bench.run(draft(bench, &format!("/stall/{STALL_MS}"), load))?;
    let truth = true_response_times(&log, RATE_PER_S);
    let check = |percent: f64| {
        let (truth, reported) = (percentile(&truth, percent), response(&result, percent));
        Check {
            what: format!("stall of 1 s in 5 s, {RATE_PER_S}/s, p{percent}"),
            truth: truth.to_string(),
            reported: reported.to_string(),
            bound: "2 %".to_owned(),
            holds: is_near(reported.0 as f64, truth.0 as f64, PERCENTILE_ERROR),
        }
    };
    Ok(vec![check(90.0), check(99.0)])
}

fn stall_in_a_closed_loop(bench: &Bench, is_quick: bool) -> Checked {
    let load = LoadModel::constant(USERS, seconds(is_quick, 5, 10));
    let (result, _) = bench.run(draft(bench, &format!("/stall/{STALL_MS}"), load))?;
    let stall = FREEZE_TO.since(FREEZE_FROM);
    let silence = result.lab.longest_silence_ns;
    let hidden = response(&result, 99.0);
    Ok(vec![
        Check {
            what: format!("closed loop, {USERS} users, longest wait"),
            truth: stall.to_string(),
            reported: silence.to_string(),
            bound: "5 %".to_owned(),
            holds: is_near(silence.0 as f64, stall.0 as f64, SILENCE_ERROR),
        },
        Check {
            what: "closed loop, p99 hides it".to_owned(),
            truth: format!("stalled {stall}"),
            reported: hidden.to_string(),
            bound: format!("under {HIDDEN_P99}"),
            holds: hidden < HIDDEN_P99,
        },
    ])
}

fn drops(bench: &Bench, is_quick: bool) -> Checked {
    const SLOW_MS: u64 = 50;
    let mut load = LoadModel::open(200.0, seconds(is_quick, 1, 3), 4);
    if let Some(arrivals) = &mut load.arrivals {
        arrivals.wait_max = Nanos::from_millis(100);
    }
    let (result, log) = bench.run(draft(bench, &format!("/fixed/{SLOW_MS}"), load))?;
    let starts = started(&result);
    Ok(vec![Check {
        what: "200/s for 4 users of 50 ms: dropped".to_owned(),
        truth: format!("{} of {} came", log.len(), starts.due),
        reported: format!("{} started, {} dropped", starts.started, starts.dropped),
        bound: "exact".to_owned(),
        holds: starts.started == log.len() as u64
            && starts.started + starts.dropped == starts.due
            && starts.dropped > 0,
    }])
}

fn resets(bench: &Bench, is_quick: bool) -> Checked {
    let iterations = if is_quick { 20 } else { 100 };
    let (result, log) = bench.run(draft(bench, "/reset/5", counted(4, iterations)))?;
    let all = whole(&result);
    let reset = log.iter().filter(|entry| entry.ending == Ending::Reset).count() as u64;
    let read = all.outcomes.get(&OutcomeKind::Read).copied().unwrap_or(0);
    Ok(vec![Check {
        what: "every fifth connection reset".to_owned(),
        truth: format!("{reset} of {}", log.len()),
        reported: format!("{read} lost of {}", all.requests),
        bound: "exact".to_owned(),
        holds: read == reset && all.requests == log.len() as u64 && all.failures == reset,
    }])
}

fn slow_answers(bench: &Bench, is_quick: bool) -> Checked {
    let iterations = if is_quick { 3 } else { 10 };
    let (result, log) = bench.run(draft(bench, "/slow/10/10", counted(USERS, iterations)))?;
    let truth: Vec<_> = log.iter().map(Entry::service_time).collect();
    Ok(vec![times("answers in ten pieces, p50", percentile(&truth, 50.0), response(&result, 50.0))])
}

// ---- what they share

fn seconds(is_quick: bool, quick: u64, full: u64) -> Nanos {
    Nanos::from_secs(if is_quick { quick } else { full })
}

fn counted(users: u32, iterations: u64) -> LoadModel {
    LoadModel::per_user_iterations(users, iterations, Nanos::from_secs(60))
}

/// One request, which tells the target the number of its start.
fn draft(bench: &Bench, path: &str, load: LoadModel) -> PlanDraft {
    const STARTS_MAX: u64 = 20_000;
    let mut draft = PlanDraft::new("selftest", bench.address(), load);
    let numbers: Vec<_> = (0..STARTS_MAX).map(serde_json::Value::from).collect();
    draft.variables = vec![Variable::list("n", &numbers, Order::Sequential)];
    draft.requests = vec![RequestDraft::get("request", &format!("{path}?n=${{n}}"))];
    draft
}

fn whole(result: &ResultFile) -> &Figures {
    &result.window(WindowKind::Whole).expect("a result always holds the whole run").all
}

/// Zero where there were too few samples, which no check takes for the truth.
fn response(result: &ResultFile, percent: f64) -> Nanos {
    whole(result).response_time.percentile(percent).unwrap_or_default()
}

fn started(result: &ResultFile) -> StartCounts {
    let window = result.window(WindowKind::Whole).expect("a result always holds the whole run");
    window.by_scenario.iter().fold(StartCounts::default(), |mut sum, scenario| {
        sum.merge(&scenario.starts);
        sum
    })
}

fn times(what: &str, truth: Nanos, reported: Nanos) -> Check {
    Check {
        what: what.to_owned(),
        truth: truth.to_string(),
        reported: reported.to_string(),
        bound: format!("{TIME_ERROR} more"),
        holds: reported >= truth && reported.since(truth) <= TIME_ERROR,
    }
}

/// Arrivals a second between the first and the last tenth: a single late one at either end says nothing of the pace.
fn pace(log: &[Entry]) -> f64 {
    let mut arrivals: Vec<_> = log.iter().map(|entry| entry.arrived).collect();
    arrivals.sort_unstable();
    let (from, to) = (arrivals.len() / 10, arrivals.len() * 9 / 10);
    match (arrivals.get(from), arrivals.get(to)) {
        (Some(first), Some(last)) => (to - from) as f64 / last.since(*first).as_secs_f64().max(1e-9),
        _ => 0.0,
    }
}

fn is_near(value: f64, truth: f64, share: f64) -> bool {
    (value - truth).abs() <= truth * share
}
