//! Each finding: a run in which it must appear, and the same run a little better, in which it must not.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_model::data::variable::Values;
use prony_model::measurement::clock::{ClockEvent, ClockEventKind};
use prony_model::measurement::counts::Computing;
use prony_model::measurement::figures::LatencyFigures;
use prony_model::measurement::histogram::Latencies;
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::plan::wire::Connections;
use prony_model::response::pointer::Pointer;
use prony_model::result::{
    LabFigures, Machine, Origin, OverTime, PlanSummary, ResultFile, RunState, SCHEMA, SCHEMA_VERSION,
    SecondRow, WorkerFigures, verdicts, window_results,
};
use prony_model::subscription::figures::{SubscriberRow, Subscribers};
use prony_model::subscription::tally::SubscriptionTally;
use prony_model::subscription::{FanOutDraft, SubscriptionDraft};
use prony_model::verdict::Judgement;
use prony_model::verdict::conclusion::{Conclusion, RunVerdict};
use prony_model::verdict::finding::{Finding, FindingKind};
use prony_model::verdict::findings::{TargetPlace, judge};
use prony_model::verdict::littles_law::{average_users, payload_not_carried, users_differ};
use prony_model::{
    LoadModel, Nanos, Outcome, Plan, PlanDraft, Record, RequestDraft, Stage, Target, ThinkTime, Threshold,
    TransportError, Variable,
};

/// A run that nothing is wrong with, unless something in it is changed.
struct Run {
    users: u32,
    hold: Nanos,
    holds: bool,
    warm_up: Nanos,
    successes: u64,
    failures: Vec<Outcome>,
    connections: Connections,
    think: Nanos,
    lab: LabFigures,
    place: TargetPlace,
    thresholds: &'static str,
    /// Of 1,000 starts of an open model; a closed one where it is absent.
    dropped: Option<u64>,
    /// How long an iteration keeps its user.
    iteration: Nanos,
    heard: Option<Heard>,
    workers: Vec<WorkerFigures>,
}

/// What 20 subscribers, all in force, have heard.
#[derive(Clone, Copy)]
struct Heard {
    /// Events of mutations that were sent before that.
    not_due: u64,
    events: u64,
    /// Of `events`.
    without_token: u64,
    /// Of each event.
    fan_out: Nanos,
    /// Of each read.
    read_late: Nanos,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            users: 10,
            hold: Nanos::from_secs(10),
            holds: true,
            warm_up: Nanos::ZERO,
            successes: 1_000,
            failures: Vec::new(),
            connections: Connections::Kept,
            think: Nanos::from_millis(10),
            lab: LabFigures::default(),
            place: TargetPlace::OtherMachine,
            thresholds: "p95<1s",
            dropped: None,
            iteration: Nanos::from_millis(150),
            heard: None,
            workers: Vec::new(),
        }
    }
}

impl Heard {
    const WELL: Self = Self {
        not_due: 0,
        events: 1_000,
        without_token: 0,
        fan_out: Nanos::from_millis(10),
        read_late: Nanos::from_micros(5),
    };

    fn subscribers(self, plan: &Plan) -> Subscribers {
        let windows = plan.windows();
        let mut tally = SubscriptionTally::new(1, windows.all().len());
        let links = &mut tally.links[0].counts;
        (links.attempted, links.made, links.asked, links.subscribed) = (20, 20, 20, 20);
        links.last_subscribed_ns = Some(Nanos::from_secs(3));
        let cell = tally.cell_mut(0, 0);
        (cell.counts.events, cell.counts.not_due) = (self.events, self.not_due);
        (cell.counts.due, cell.counts.without_token, cell.counts.acknowledged) =
            (self.events, self.without_token, 50);
        (0..self.events).for_each(|_| cell.from_send.record(self.fan_out));
        (0..1_000).for_each(|_| tally.read_lateness.record(self.read_late));
        Subscribers::of(plan, &windows, &tally, &[], plan.duration())
    }
}

impl Run {
    fn plan(&self) -> Plan {
        let last = if self.holds { self.users } else { self.users + 1 };
        let stages = vec![Stage::new(Nanos::ZERO, self.users), Stage::new(self.hold, last)];
        let draft = |load| PlanDraft::new("f", Target::new("t", 80), load);
        let mut draft = match self.dropped {
            None => draft(LoadModel::closed(stages)).with_think_time(ThinkTime::constant(self.think)),
            Some(_) => draft(LoadModel::open(100.0, self.hold, self.users)),
        };
        draft.requests = vec![RequestDraft::get("a", "/")];
        draft.wire.connections = self.connections;
        draft.warm_up = self.warm_up;
        draft.thresholds = Threshold::parse_list(self.thresholds).unwrap();
        if self.heard.is_some() {
            let values = Values::Token { prefix: "t-".to_owned() };
            draft.variables = vec![Variable { name: "token".to_owned(), values }];
            draft.requests = vec![RequestDraft::get("a", "/?name=${token}")];
            let mut group = SubscriptionDraft::new("prices", "subscription { onSold { name } }", 20);
            group.fan_out = Some(FanOutDraft {
                request: "a".to_owned(),
                token: Some(Pointer::parse("/data/onSold/name").unwrap()),
                key: None,
                request_key: None,
                wait_max: Nanos::from_secs(1),
            });
            draft.subscriptions = vec![group];
        }
        draft.check().unwrap()
    }

    fn result(&self, plan: &Plan) -> ResultFile {
        let windows = plan.windows();
        let mut tally = Tally::new(&windows, TallyShape::of(plan));
        let all = (0..self.successes).map(|_| Outcome::Success).chain(self.failures.iter().copied());
        for outcome in all {
            let (start, end) = (Nanos::from_secs(1), Nanos::from_millis(1_010));
            let record = Record {
                request: 0,
                scheduled: start,
                started: start,
                first_byte: Some(end),
                ended: end,
                outcome,
                status: None,
                bytes_sent: 1,
                bytes_received: 1,
            };
            tally.record(&windows, &record);
        }
        let starts = tally.starts_at(&windows, Nanos::from_secs(1), 0);
        let dropped = self.dropped.unwrap_or(0);
        (starts.due, starts.started, starts.dropped) = (1_000, 1_000 - dropped, dropped);
        starts.completed = starts.started;
        starts.users_busy_ns = Nanos(self.iteration.0 * starts.completed);
        let windows = window_results(plan, None, &windows, &tally, plan.duration());
        let subscribers = self.heard.map(|heard| heard.subscribers(plan)).unwrap_or_default();
        ResultFile {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            state: RunState::Completed,
            origin: Origin::default(),
            plan: PlanSummary::of(plan, None),
            findings: Vec::new(),
            thresholds: verdicts(plan, &windows, &subscribers),
            verdict: None,
            windows,
            series: Vec::new(),
            over_time: OverTime::default(),
            lab: self.lab.clone(),
            observers: Vec::new(),
            counted: prony_model::result::Counted::default(),
            subscribers,
            workers: self.workers.clone(),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let plan = self.plan();
        judge(&plan, &self.result(&plan), &self.place)
    }
}

/// In the first run exactly this finding appears, with this number in its text; in the second none does.
fn check(kind: FindingKind, number: &str, with: &Run, without: &Run) {
    let findings = with.findings();
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [kind], "{findings:?}");
    assert!(findings[0].seen.contains(number), "{}", findings[0].seen);
    assert!(!findings[0].cause.is_empty() && !findings[0].try_next.is_empty());
    assert_eq!(without.findings(), [], "{}", kind.name());
}

fn late_by(time: Nanos) -> LabFigures {
    let mut lateness = Latencies::default();
    (0..1_000).for_each(|_| lateness.record(time));
    LabFigures { lateness: LatencyFigures::of(&lateness), ..LabFigures::default() }
}

#[test]
fn a_plain_run_has_no_findings() {
    assert_eq!(Run::default().findings(), []);
}

#[test]
fn generator_bound() {
    let busy = |share| Run {
        lab: LabFigures { busiest_thread_share: share, ..LabFigures::default() },
        ..Run::default()
    };
    check(FindingKind::GeneratorBound, "81 %", &busy(0.81), &busy(0.80));
    let late = |ms| Run { lab: late_by(Nanos::from_millis(ms)), ..Run::default() };
    check(FindingKind::GeneratorBound, "20 %", &late(2), &late(1));
}

#[test]
fn ports_exhausted() {
    let run = |count| {
        let mut run = Run::default();
        run.lab.connections.ports_exhausted = count;
        run
    };
    check(FindingKind::PortsExhausted, "7 connections", &run(7), &run(0));
}

#[test]
fn errors_dominate() {
    let run = |count| Run { failures: vec![Outcome::Status(503); count], ..Run::default() };
    check(FindingKind::ErrorsDominate, "5.7 %", &run(60), &run(50));
}

/// Whoever has a limit at the target needs another advice than whoever has a wrong check.
#[test]
fn what_to_try_about_errors_goes_by_what_most_of_them_are() {
    let advice = |outcome: Outcome| {
        let run = Run { failures: vec![outcome; 60], ..Run::default() };
        let findings = run.findings();
        findings
            .iter()
            .find(|finding| finding.kind == FindingKind::ErrorsDominate)
            .map(|found| found.try_next.clone())
    };
    let advised = |outcome, part: &str| {
        let text = advice(outcome).expect("errors dominate");
        assert!(text.contains(part), "{text}");
    };
    advised(Outcome::Status(429), "raise it for the test");
    advised(Outcome::Status(401), "a key or token that is valid");
    advised(Outcome::Status(404), "whether the path");
    advised(Outcome::FailedCheck, "which check fails");
    advised(Outcome::Transport(TransportError::Connect), "the address is right");
    advised(Outcome::Transport(TransportError::Tls), "curl -v");
    advised(Outcome::Status(503), "the target's log for the first failures");
}

#[test]
fn ramp_in_verdict() {
    check(FindingKind::RampInVerdict, "10.0 s", &Run { holds: false, ..Run::default() }, &Run::default());
    let warming = Run { warm_up: Nanos::from_secs(10), ..Run::default() };
    check(FindingKind::RampInVerdict, "the warm-up took all 10.0 s", &warming, &Run::default());
}

#[test]
fn too_few_samples() {
    let run = |successes| Run { successes, ..Run::default() };
    check(FindingKind::TooFewSamples, "499 successes", &run(499), &run(500));
}

#[test]
fn too_short() {
    let run = |ms| Run { hold: Nanos::from_millis(ms), users: 100, ..Run::default() };
    check(FindingKind::TooShort, "4.90 s", &run(4_900), &run(5_000));
}

#[test]
fn timeouts_censor() {
    let run =
        |count| Run { failures: vec![Outcome::Transport(TransportError::Timeout); count], ..Run::default() };
    // 10 of 1,010.
    check(FindingKind::TimeoutsCensor, "percentiles above 99.010 are at least 30.0 s", &run(10), &run(0));
}

/// Latencies are those of successes: other failures do not stand before the requests that timed out.
#[test]
fn timeouts_censor_the_successes_and_not_other_failures() {
    let timeouts = vec![Outcome::Transport(TransportError::Timeout); 10];
    let others = vec![Outcome::Status(503); 40];
    let censored = Run { failures: [timeouts, others.clone()].concat(), ..Run::default() };
    let not = Run { failures: others, ..Run::default() };
    check(FindingKind::TimeoutsCensor, "percentiles above 99.010 are at least 30.0 s", &censored, &not);
}

#[test]
fn target_shares_cpu() {
    let place = TargetPlace::SameProcessors { process: Some("the target (nginx)".to_owned()), processors: 2 };
    let apart = Run { place: TargetPlace::OtherProcessors, ..Run::default() };
    check(
        FindingKind::TargetSharesCpu,
        "2 of the lab's processors",
        &Run { place, ..Run::default() },
        &apart,
    );
}

#[test]
fn connection_churn() {
    let run = |reopened, connections| {
        let mut run = Run { connections, ..Run::default() };
        run.lab.connections.reopened = reopened;
        run
    };
    check(
        FindingKind::ConnectionChurn,
        "11 connections",
        &run(11, Connections::Kept),
        &run(10, Connections::Kept),
    );
    assert_eq!(run(1_000, Connections::Fresh).findings(), []);
}

#[test]
fn offered_load_limited() {
    // 10 users that think 100 ms can ask for 100 a second; 1,000 in 10 s are just that.
    let run = |ms| Run { think: Nanos::from_millis(ms), ..Run::default() };
    check(FindingKind::OfferedLoadLimited, "100.0/s of the 100.0/s", &run(100), &run(80));
}

#[test]
fn rate_not_reached() {
    let run = |dropped| Run { dropped: Some(dropped), ..Run::default() };
    check(FindingKind::RateNotReached, "989 of the 1000 iterations", &run(11), &run(0));
    check(FindingKind::RateNotReached, "98.9 %; 11 were dropped", &run(11), &run(0));
    let findings = run(11).findings();
    let cause = "none of the 10 users was free in time: an iteration keeps its user for 150 ms, so 100/s keep 15.0 busy";
    assert!(findings[0].cause.starts_with(cause), "{}", findings[0].cause);
    assert!(findings[0].try_next.starts_with("18 users or more"), "{}", findings[0].try_next);
    let busy = Run { lab: LabFigures { busiest_thread_share: 0.9, ..LabFigures::default() }, ..run(11) };
    let findings = busy.findings();
    assert_eq!((findings.len(), findings[1].kind), (2, FindingKind::RateNotReached));
    assert!(findings[1].cause.contains("the lab's own"));
}

#[test]
fn starts_dropped() {
    let run = |dropped| Run { dropped: Some(dropped), ..Run::default() };
    check(FindingKind::StartsDropped, "10 of the 1000 iterations", &run(10), &run(0));
    check(FindingKind::StartsDropped, "dropped, 0.10 %: no user was free", &run(1), &run(0));
    assert!(run(1).findings()[0].try_next.starts_with("18 users or more"));
    let short = Run { iteration: Nanos::from_millis(80), ..run(1) };
    let findings = short.findings();
    assert!(findings[0].cause.contains("100/s keep 8.0 busy by Little's law; they are enough in the mean"));
    assert!(findings[0].try_next.starts_with("some more users"));
}

#[test]
fn users_compute() {
    let run = Run::default();
    let plan = run.plan();
    let found = |longest| {
        let mut result = run.result(&plan);
        result.lab.processor_time_ns = Nanos::from_secs(4);
        let place = "mix (a.js:3:9)".to_owned();
        let total_ns = Nanos::from_secs(3);
        result.counted.computing = Computing { total_ns, longest_ns: longest, place };
        let findings = judge(&plan, &result, &run.place);
        findings.into_iter().find(|finding| finding.kind == FindingKind::UsersCompute)
    };
    let seen = found(Nanos::from_millis(100)).unwrap().seen;
    let expected =
        "a user computed for 100 ms without a wait, at mix (a.js:3:9); such users took 75 % of the lab's";
    assert!(seen.starts_with(expected), "{seen}");
    assert_eq!(found(Nanos(99_999_999)), None);
}

fn heard(heard: Heard) -> Run {
    Run { heard: Some(heard), ..Run::default() }
}

#[test]
fn subscribers_missing() {
    let run = heard(Heard::WELL);
    let plan = run.plan();
    let found = |subscribed, rejected| {
        let mut result = run.result(&plan);
        let links = &mut result.subscribers.groups[0].links;
        links.subscribed = subscribed;
        links.rejected.insert("no such field".to_owned(), rejected);
        let findings = judge(&plan, &result, &run.place);
        findings.into_iter().find(|finding| finding.kind == FindingKind::SubscribersMissing).unwrap()
    };
    let (some, none) = (found(19, 1), found(0, 20));
    assert!(some.seen.contains("of 20 subscriptions of `prices` 19 came into force"), "{}", some.seen);
    assert!(
        none.seen.ends_with("20 operations were rejected; most often (20): no such field"),
        "{}",
        none.seen
    );
    assert!(some.try_next.contains("raise the target's limits") && none.try_next.contains("correct `query`"));
}

#[test]
fn subscribers_late() {
    let late = heard(Heard { not_due: 7, ..Heard::WELL });
    check(
        FindingKind::SubscribersLate,
        "7 events of mutations were owed to nobody",
        &late,
        &heard(Heard::WELL),
    );
    let seen = &late.findings()[0].seen;
    assert!(seen.contains("`prices`") && seen.contains("at 3.00 s"), "{seen}");
}

#[test]
fn events_unmatched() {
    let run = |without_token| heard(Heard { without_token, ..Heard::WELL });
    let seen = "none of the 1000 events of `prices` has a token of this run at `/data/onSold/name`, and 50 mutations";
    check(FindingKind::EventsUnmatched, seen, &run(1_000), &run(999));
}

#[test]
fn where_nothing_was_due_it_is_not_shown_that_nothing_is_missed() {
    let judged = |events| {
        let thresholds = "missed == 0, duplicated == 0, out_of_order == 0, lost == 0";
        let run = Run { thresholds, ..heard(Heard { events, ..Heard::WELL }) };
        let result = run.result(&run.plan());
        (
            RunVerdict::of(&result).conclusion == Conclusion::Passed,
            result.thresholds.iter().map(|v| v.judgement).collect::<Vec<_>>(),
        )
    };
    let (kept, undecided) = (Judgement::Kept, Judgement::Undecided);
    assert_eq!(judged(1), (true, vec![kept; 4]));
    assert_eq!(judged(0), (false, vec![undecided, undecided, undecided, kept]));
}

#[test]
fn receipts_late() {
    let late = |fan_out, read_late| {
        let (fan_out, read_late) = (Nanos::from_micros(fan_out), Nanos::from_micros(read_late));
        Heard { fan_out, read_late, ..Heard::WELL }
    };
    let kind = FindingKind::ReceiptsLate;
    check(kind, "20 % of the p99 fan-out latency", &heard(late(10_000, 2_000)), &heard(late(10_000, 1_000)));
    // A large share of little is noise of the system's timers.
    check(kind, "60 %", &heard(late(1_000, 600)), &heard(late(600, 490)));
    // Late reads of nothing that is matched say nothing.
    assert_eq!(heard(Heard { events: 0, ..late(10_000, 9_000) }).findings(), []);
}

#[test]
fn the_reached_share_of_the_rate_is_judged() {
    let judged = |dropped| {
        let run = Run { dropped: Some(dropped), thresholds: "rate>=99%", ..Run::default() };
        let verdict = run.result(&run.plan()).thresholds.remove(0);
        (verdict.judgement, verdict.measured.unwrap())
    };
    assert_eq!(judged(10), (Judgement::Kept, "99.00 %".to_owned()));
    assert_eq!(judged(11), (Judgement::Failed, "98.90 %".to_owned()));
}

#[test]
fn clock() {
    let run = |events: &[(ClockEventKind, i64)]| {
        let event = |(kind, ms): &(_, _)| ClockEvent {
            kind: *kind,
            at_ns: Nanos::from_secs(3),
            by_ns: ms * 1_000_000,
        };
        let clock = events.iter().map(event).collect();
        Run { lab: LabFigures { clock, ..LabFigures::default() }, ..Run::default() }
    };
    let (step, sleep) = (ClockEventKind::WallStep, ClockEventKind::Suspension);
    check(FindingKind::Clock, "set back by 500 ms at 3.00 s", &run(&[(step, -500)]), &run(&[]));
    let both = run(&[(step, 9_000), (sleep, 2_000)]);
    check(FindingKind::Clock, "slept for 2.00 s until 3.00 s after the start; 1 further", &both, &run(&[]));
}

#[test]
fn findings_that_void_the_claim_come_first() {
    let run = Run { successes: 10, failures: vec![Outcome::Status(500); 5], ..Run::default() };
    let kinds: Vec<_> = run.findings().iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::ErrorsDominate, FindingKind::TooFewSamples]);
}

#[test]
fn thresholds_are_kept_failed_or_undecided() {
    let run = Run {
        thresholds: "p95<1s, p95<1ms, p99.99<1s, errors<1%, rate>=100/s, requests>1000",
        ..Run::default()
    };
    let judgements: Vec<_> = run.result(&run.plan()).thresholds.iter().map(|v| v.judgement).collect();
    let (kept, failed, undecided) = (Judgement::Kept, Judgement::Failed, Judgement::Undecided);
    assert_eq!(judgements, [kept, failed, undecided, kept, kept, failed]);
}

#[test]
fn a_result_reads_back_as_it_was_written() {
    let run = Run { failures: vec![Outcome::Status(503), Outcome::GraphQlErrors], ..Run::default() };
    let mut result = run.result(&run.plan());
    result.findings = run.findings();
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<ResultFile>(&text).unwrap(), result);
}

/// A thousand requests of 10 ms in 10 s are one user in the system, whatever became of them.
#[test]
fn average_users_are_those_of_littles_law_failures_among_them() {
    let failed = Run { successes: 400, failures: vec![Outcome::Status(500); 600], ..Run::default() };
    for run in [Run::default(), failed] {
        let plan = run.plan();
        let result = run.result(&plan);
        let window = result.headline();
        let average = average_users(&window.all, window.window.length()).unwrap();
        assert!((average - 1.0).abs() < 0.01, "{average}");
        assert_eq!(users_differ(&result, 1), None);
        let finding = users_differ(&result, 10).unwrap();
        assert_eq!(finding.kind, FindingKind::AverageUsersDiffer);
        assert!(
            finding.seen.contains("1.0 users") && finding.seen.contains("fewer than the 10"),
            "{finding:?}"
        );
        assert!(finding.cause.contains("think time") && !finding.voids_claim, "{finding:?}");
    }
    let without_waits = Run { think: Nanos::ZERO, ..Run::default() };
    let plan = without_waits.plan();
    assert!(users_differ(&without_waits.result(&plan), 10).unwrap().cause.contains("lab and the script"));
    let open = Run { dropped: Some(0), ..Run::default() };
    let plan = open.plan();
    assert_eq!(users_differ(&open.result(&plan), 10), None);
}

#[test]
fn a_message_that_neither_requests_nor_responses_can_hold_is_told() {
    let run = Run::default();
    let plan = run.plan();
    let result = run.result(&plan);
    assert_eq!(payload_not_carried(&result, 1), None);
    let finding = payload_not_carried(&result, 50).unwrap();
    assert!(finding.seen.contains("the 50 of the message"), "{finding:?}");
}

/// Two workers that nothing is wrong with.
fn workers(change: impl Fn(&mut WorkerFigures)) -> Run {
    let worker = |name: &str| WorkerFigures {
        name: name.to_owned(),
        users: 5,
        threads: 2,
        ..WorkerFigures::default()
    };
    let mut second = worker("größer");
    change(&mut second);
    Run { workers: vec![worker("a"), second], ..Run::default() }
}

#[test]
fn workers_that_are_lost_void_the_run() {
    let lost = workers(|worker| {
        (worker.lost_at_ns, worker.reason) = (Some(Nanos::from_secs(3)), "it was silent".to_owned());
    });
    let seen = "1 of 2 workers were lost, with 5 of 10 users, `größer` first, at 3.00 s: it was silent";
    check(FindingKind::WorkerLost, seen, &lost, &workers(|_| {}));
    assert!(lost.findings()[0].voids_claim);
}

/// Who takes a share over stands in the result as a worker as well, and may be lost in turn.
#[test]
fn workers_that_are_lost_are_counted_without_the_shares_that_they_took_over() {
    let lost = |worker: &mut WorkerFigures| {
        (worker.lost_at_ns, worker.reason) = (Some(Nanos::from_secs(3)), "it was silent".to_owned());
    };
    let mut run = workers(lost);
    let mut taker = run.workers[1].clone();
    (taker.name, taker.takes_over) = ("a for größer".to_owned(), Some("größer".to_owned()));
    taker.lost_at_ns = Some(Nanos::from_secs(20));
    run.workers.push(taker);
    let seen = "1 of 2 workers were lost, with 5 of 10 users, `größer` first, at 3.00 s: it was silent";
    check(FindingKind::WorkerLost, seen, &run, &workers(|_| {}));
}

/// What its worker kept is not among the files that the result is made of, so that no worker is known to have been lost.
#[test]
fn a_share_that_nobody_handed_over_voids_the_run() {
    let run = workers(|_| {});
    let plan = run.plan();
    let judged = |lacking: u64| {
        let mut result = run.result(&plan);
        let row = |second| SecondRow {
            second,
            workers_missing: u32::from(second < lacking),
            ..SecondRow::default()
        };
        result.series = (0..10).map(row).collect();
        let mut found = judge(&plan, &result, &TargetPlace::OtherMachine);
        found.retain(|finding| finding.kind == FindingKind::WorkerLost);
        found.pop()
    };
    assert_eq!(judged(0), None);
    let found = judged(10).unwrap();
    assert_eq!(found.seen, "10 of 10 seconds lack a share of the load, or more");
    assert!(found.voids_claim, "{found:?}");
}

#[test]
fn workers_apart() {
    let uncertain = |ms| workers(|worker| worker.clock_uncertainty_ns = Nanos::from_millis(ms));
    check(FindingKind::WorkersApart, "`größer` is known to 6.00 ms only", &uncertain(6), &uncertain(5));
    let ahead = |ms: i64| workers(|worker| worker.clock_offset_ns = ms * 1_000_000);
    check(FindingKind::WorkersApart, "is 7.00 ms behind the coordinator's", &ahead(-7), &ahead(-5));
    check(FindingKind::WorkersApart, "is 9.00 ms ahead of the coordinator's", &ahead(9), &ahead(5));
}

#[test]
fn worker_late() {
    let late = |ms| workers(|worker| worker.start_late_ns = Nanos::from_millis(ms));
    check(FindingKind::WorkerLate, "`größer` began 12.0 ms after", &late(12), &late(5));
}

#[test]
fn workers_differ() {
    let kernel = |kernel: &str| {
        workers(|worker| worker.machine = Machine { kernel: kernel.to_owned(), ..Machine::default() })
    };
    check(FindingKind::WorkersDiffer, "different kernels (, 6.1)", &kernel("6.1"), &kernel(""));
    let limit = |limit| workers(|worker| worker.descriptors_max = limit);
    check(FindingKind::WorkersDiffer, "limits of open files (0, 1024)", &limit(1024), &limit(0));
}

/// It is said once, with the name, and not of the merged figures again.
#[test]
fn what_a_worker_finds_of_itself_is_said_of_it() {
    let busy = |share| LabFigures { busiest_thread_share: share, ..LabFigures::default() };
    let own = Run { lab: busy(0.9), ..Run::default() }.findings();
    let of_worker = Run {
        lab: busy(0.9),
        workers: workers(|worker| worker.findings.clone_from(&own)).workers,
        ..Run::default()
    };
    let seen = "worker `größer`: the busiest thread of the lab was busy for 90 %";
    check(FindingKind::GeneratorBound, seen, &of_worker, &workers(|_| {}));
}

/// When a finding was so, in milliseconds of a run of ten calm seconds in which this happened.
fn span(kind: FindingKind, run: &Run, happened: impl Fn(&mut ResultFile)) -> Option<(u64, u64)> {
    let plan = run.plan();
    let mut result = run.result(&plan);
    let calm = |second| SecondRow {
        second,
        successes: 100,
        p99_ns: Some(Nanos::from_millis(10)),
        late_p99_ns: Some(Nanos::from_micros(50)),
        ..SecondRow::default()
    };
    result.series = (0..10).map(calm).collect();
    happened(&mut result);
    let findings = judge(&plan, &result, &run.place);
    let found = findings.iter().find(|finding| finding.kind == kind).unwrap();
    found.span.map(|span| (span.from_ns.0 / 1_000_000, span.to_ns.0 / 1_000_000))
}

#[test]
fn findings_of_some_seconds_say_which() {
    let timeouts = vec![Outcome::Transport(TransportError::Timeout); 10];
    let run = Run { failures: timeouts, ..Run::default() };
    let timed_out = |seconds: [usize; 2]| {
        span(FindingKind::TimeoutsCensor, &run, |result| {
            for second in seconds {
                result.series[second].timeouts = 5;
            }
        })
    };
    assert_eq!(timed_out([3, 5]), Some((3_000, 6_000)));
    assert_eq!(timed_out([9, 9]), Some((9_000, 10_000)));
    assert_eq!(timed_out([0, 9]), None, "the whole run is no part of it");

    let run = Run { failures: vec![Outcome::Status(503); 60], ..Run::default() };
    let failed = span(FindingKind::ErrorsDominate, &run, |result| {
        (result.series[2].failures, result.series[4].failures) = (60, 5);
    });
    assert_eq!(failed, Some((2_000, 3_000)), "five of 105 are no more than 5 %");

    let run = Run { lab: late_by(Nanos::from_millis(2)), ..Run::default() };
    let late = |by| span(FindingKind::GeneratorBound, &run, |result| result.series[7].late_p99_ns = Some(by));
    assert_eq!(late(Nanos::from_millis(2)), Some((7_000, 8_000)));
    assert_eq!(late(Nanos::from_millis(1)), None);

    let run = Run { dropped: Some(5), ..Run::default() };
    let dropped = span(FindingKind::StartsDropped, &run, |result| result.series[4].dropped = 5);
    assert_eq!(dropped, Some((4_000, 5_000)));
    let run = Run { dropped: Some(50), ..Run::default() };
    let dropped = span(FindingKind::RateNotReached, &run, |result| result.series[4].dropped = 50);
    assert_eq!(dropped, Some((4_000, 5_000)));
}

#[test]
fn findings_on_machines_say_when() {
    let mut run = Run::default();
    run.lab.connections.ports_exhausted = 7;
    let exhausted = span(FindingKind::PortsExhausted, &run, |result| {
        let failures = [(OutcomeKind::Connect, vec![0, 3, 0, 1, 0])].into();
        result.over_time = OverTime { interval_ns: Nanos::from_secs(2), failures, ..OverTime::default() };
    });
    assert_eq!(exhausted, Some((2_000, 8_000)));

    let event = ClockEvent { kind: ClockEventKind::WallStep, at_ns: Nanos::from_secs(3), by_ns: 500_000_000 };
    let run = Run { lab: LabFigures { clock: vec![event], ..LabFigures::default() }, ..Run::default() };
    assert_eq!(span(FindingKind::Clock, &run, |_| {}), Some((3_000, 3_000)));

    let lost = workers(|worker| worker.lost_at_ns = Some(Nanos::from_secs(3)));
    let missing = span(FindingKind::WorkerLost, &lost, |result| {
        result.series[4..].iter_mut().for_each(|row| row.workers_missing = 1);
    });
    assert_eq!(missing, Some((4_000, 10_000)));
    assert_eq!(span(FindingKind::WorkerLost, &lost, |_| {}), Some((3_000, 3_000)));
    let late = workers(|worker| worker.start_late_ns = Nanos::from_millis(12));
    assert_eq!(span(FindingKind::WorkerLate, &late, |_| {}), Some((0, 12)));
}

#[test]
fn findings_on_subscribers_say_when() {
    let late = heard(Heard { not_due: 7, ..Heard::WELL });
    assert_eq!(span(FindingKind::SubscribersLate, &late, |_| {}), Some((0, 3_000)));
    let lost = |losses: u64| {
        span(FindingKind::SubscribersMissing, &heard(Heard::WELL), |result| {
            let group = &mut result.subscribers.groups[0];
            (group.links.subscribed, group.links.completed) = (19, losses);
            let active = |second| match second {
                0..2 => 20,
                2..9 => 19,
                _ => 0,
            };
            result.subscribers.series = (0..10)
                .map(|second| SubscriberRow { second, active: active(second), ..SubscriberRow::default() })
                .collect();
        })
    };
    assert_eq!(lost(1), Some((2_000, 3_000)), "all are given up at the end");
    assert_eq!(lost(0), None, "one that never came into force is of no moment");
}

#[test]
fn findings_of_older_files_have_no_span() {
    let text = r#"{"kind":"clock","voids_claim":false,"seen":"","cause":"","try_next":""}"#;
    let finding: Finding = serde_json::from_str(text).unwrap();
    assert_eq!(finding.span, None);
    assert_eq!(serde_json::to_string(&finding).unwrap(), text);
}
