//! How a run at a load is judged: objectives, the lab's own limit, samples too few, starts that were dropped.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::result::{
    LabFigures, Origin, PlanSummary, ResultFile, RunState, SCHEMA, SCHEMA_VERSION, verdicts, window_results,
};
use prony_model::search::{Trial, judge};
use prony_model::subscription::figures::Subscribers;
use prony_model::verdict::findings::{TargetPlace, judge as findings};
use prony_model::{LoadModel, Nanos, Outcome, PlanDraft, Record, RequestDraft, Target, Threshold};

struct Run {
    requests: u64,
    millis: u64,
    failures: u64,
    dropped: u64,
    busy: f64,
}

const GOOD: Run = Run { requests: 1_000, millis: 10, failures: 0, dropped: 0, busy: 0.1 };

fn check(objectives: &str, run: &Run, expected: Trial, reason: &str) {
    let objectives = Threshold::parse_list(objectives).unwrap();
    let load = LoadModel::open(100.0, Nanos::from_secs(10), 5);
    let mut draft = PlanDraft::new("search", Target::new("t", 80), load);
    draft.requests = vec![RequestDraft::get("get", "/")];
    draft.thresholds.clone_from(&objectives);
    let plan = draft.check().unwrap();
    let windows = plan.windows();
    let mut tally = Tally::new(&windows, TallyShape::of(&plan));
    for index in 0..run.requests {
        let start = Nanos::from_micros(index * 9_000_000 / run.requests);
        let outcome = if index < run.failures { Outcome::Status(500) } else { Outcome::Success };
        let ended = start.plus(Nanos::from_millis(run.millis));
        let (request, scheduled, started, first_byte) = (0, start, start, Some(ended));
        let (bytes_sent, bytes_received) = (1, 1);
        let record = Record {
            request,
            scheduled,
            started,
            first_byte,
            ended,
            outcome,
            status: None,
            bytes_sent,
            bytes_received,
        };
        tally.record(&windows, &record);
        let starts = tally.starts_at(&windows, start, 0);
        starts.due += 1;
        starts.started += 1;
    }
    let starts = tally.starts_at(&windows, Nanos::ZERO, 0);
    starts.due += run.dropped;
    starts.dropped += run.dropped;
    let windows = window_results(&plan, None, &windows, &tally, Nanos::from_secs(10));
    let mut result = ResultFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        plan: PlanSummary::of(&plan, None),
        findings: Vec::new(),
        thresholds: verdicts(&plan, &windows, &Subscribers::default()),
        verdict: None,
        windows,
        series: Vec::new(),
        over_time: prony_model::result::OverTime::default(),
        lab: LabFigures { busiest_thread_share: run.busy, ..LabFigures::default() },
        observers: Vec::new(),
        counted: prony_model::result::Counted::default(),
        subscribers: Subscribers::default(),
        workers: Vec::new(),
    };
    result.findings = findings(&plan, &result, &TargetPlace::OtherMachine);
    let (trial, why) = judge(&result, &objectives);
    assert_eq!(trial, expected, "{why}");
    assert!(why.contains(reason) && why.is_empty() == (trial == Trial::Passed), "{reason} in {why}");
}

#[test]
fn a_run_passes_when_every_objective_is_kept() {
    check("p95<500ms, errors<1%", &GOOD, Trial::Passed, "");
    check("p95<5ms, errors<1%", &GOOD, Trial::Failed, "p95<5ms: 10.0 ms");
    let failing = Run { failures: 20, ..GOOD };
    check("p95<500ms, errors<1%", &failing, Trial::Failed, "errors<1%: 2.00 %");
}

#[test]
fn a_run_that_the_lab_limited_says_nothing() {
    let busy = Run { busy: 0.95, millis: 900, ..GOOD };
    check("p95<500ms", &busy, Trial::LabLimited, "generator-bound");
}

#[test]
fn with_too_few_samples_the_slowest_answer_stands_in() {
    let few = Run { requests: 20, ..GOOD };
    check("p99<500ms", &few, Trial::Passed, "");
    check("p99<5ms", &few, Trial::Failed, "too few samples");
    check("p99<5ms", &Run { requests: 0, ..GOOD }, Trial::Failed, "too few samples");
}

#[test]
fn what_no_objective_names_fails_all_the_same() {
    check("p95<500ms", &Run { dropped: 100, ..GOOD }, Trial::Failed, "100 of 1100 starts");
    check("p95<500ms", &Run { dropped: 5, ..GOOD }, Trial::Passed, "");
    check("p95<500ms", &Run { failures: 200, ..GOOD }, Trial::Failed, "20.0 % of 1000 requests failed");
}
