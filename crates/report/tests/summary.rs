//! The summary of a made-up run, as a terminal shows it; and what is refused as a result file.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::expect;
use prony_load_model::findings::{TargetPlace, judge};
use prony_load_model::result::{
    LabFigures, Origin, PlanSummary, ResultFile, RunState, SCHEMA, SCHEMA_VERSION, verdicts, window_results,
};
use prony_load_model::tally::{Tally, TallyShape};
use prony_load_model::{
    LoadModel, Nanos, Outcome, PlanDraft, Record, RequestDraft, Target, ThinkTime, Threshold,
};
use prony_report::{ReadError, json, read, summary};

/// 100 users for 20 s after a ramp of 10 s: each tenth of a second a request, every 20th answered with 503.
fn result() -> ResultFile {
    let load = LoadModel::ramp_and_hold(100, Nanos::from_secs(10), Nanos::from_secs(20));
    let mut draft = PlanDraft::new("shop", Target::new("shop.test", 80), load)
        .with_think_time(ThinkTime::constant(Nanos::from_secs(2)));
    draft.requests = vec![RequestDraft::get("list", "/"), RequestDraft::get("buy", "/buy")];
    draft.thresholds = Threshold::parse_list("p95<500ms, errors<1%, p99<1s").unwrap();
    let plan = draft.check().unwrap();
    let windows = plan.windows();
    let mut tally = Tally::new(&windows, TallyShape::of(&plan));
    for index in 0..300_u64 {
        let start = Nanos::from_millis(index * 100);
        let ended = start.plus(Nanos::from_millis(1 + index % 50));
        let outcome = if index % 20 == 0 { Outcome::Status(503) } else { Outcome::Success };
        let request = usize::from(index % 3 == 0);
        let (scheduled, started, first_byte) = (start, start, Some(ended));
        let record = Record {
            request,
            scheduled,
            started,
            first_byte,
            ended,
            outcome,
            bytes_sent: 100,
            bytes_received: 2_000,
        };
        tally.record(&windows, &record);
    }
    let windows = window_results(&plan, &windows, &tally, Nanos::from_secs(30));
    let mut result = ResultFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        plan: PlanSummary::of(&plan),
        findings: Vec::new(),
        thresholds: verdicts(&plan, &windows),
        windows,
        series: Vec::new(),
        lab: LabFigures { threads: 2, busiest_thread_share: 0.05, ..LabFigures::default() },
        observers: Vec::new(),
    };
    result.findings = judge(&plan, &result, &TargetPlace::OtherMachine);
    result
}

#[test]
fn the_summary_shows_findings_first_and_the_steady_state_beside_the_whole() {
    expect![[r"
        shop: http://shop.test, closed loop, up to 100 users, think time 2.00 s, seed 1

        ! too-few-samples: 190 successes, under 500: high percentiles are left out
          cause: a percentile needs at least five samples beyond it
          try: run longer or with more users

                                 steady state     whole run
          from, to            10.0 s – 30.0 s  0 s – 30.0 s
          requests                        200           300
          successes a second              9.5           9.5
          errors                       5.00 %        5.00 %
          received                   400.0 kB      600.0 kB
          response time min           1.00 ms       1.00 ms
          mean                        25.7 ms       25.7 ms
          p50                         26.0 ms       26.0 ms
          p75                         38.0 ms       38.0 ms
          p90                         46.0 ms       46.0 ms
          p95                         48.0 ms       48.0 ms
          max                         50.0 ms       50.0 ms

        by request (steady state)
                requests  a second  errors      p50      p95  p99      max
          list       134       6.3  5.22 %  26.0 ms  48.0 ms    -  50.0 ms
          buy         66       3.1  4.55 %  25.0 ms        -    -  50.0 ms

        failures (steady state)
          status 503  10

        thresholds (steady state)
          kept  p95<500ms            48.0 ms
          FAILED  errors<1%           5.00 %
          UNDECIDED  p99<1s  too few samples

        lab: 2 threads, busiest 5 %, 0 connections (0 again)
        a closed loop asks less while it waits, which hides stalls; the longest wait without any answer was 0 s
    "]].assert_eq(&summary(&result()));
}

#[test]
fn results_are_read_back_and_strangers_refused() {
    let text = json(&result()).unwrap();
    assert_eq!(read(&text).unwrap(), result());
    assert!(matches!(read("{}"), Err(ReadError::Json(_))));
    assert!(matches!(read(&text.replace("prony-result", "other")), Err(ReadError::Schema(_))));
    let newer = text.replace("\"schema_version\": 2", "\"schema_version\": 3");
    assert!(matches!(read(&newer), Err(ReadError::Version(3))));
}
