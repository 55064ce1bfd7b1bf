//! Made-up runs for the tests, counted by the same code as real ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]
#![allow(dead_code, unreachable_pub, reason = "each test program uses some of it")]

use prony_load_model::findings::{TargetPlace, judge};
use prony_load_model::observation::{Observation, ObservedFigure, ObservedSeries, ObservedUnit};
use prony_load_model::result::{
    LabFigures, Origin, PlanSummary, ResultFile, RunState, SCHEMA, SCHEMA_VERSION, SecondRow, verdicts,
    window_results,
};
use prony_load_model::tally::{Tally, TallyShape};
use prony_load_model::{
    LoadModel, Nanos, Outcome, Plan, PlanDraft, Record, RequestDraft, Target, ThinkTime, Threshold,
    TransportError,
};
use prony_report::{Document, NamedDocument};

/// 100 users for 20 s after a ramp of 10 s: each tenth of a second a request, every 20th answered with 503.
pub fn closed() -> ResultFile {
    let load = LoadModel::ramp_and_hold(100, Nanos::from_secs(10), Nanos::from_secs(20));
    let mut draft = PlanDraft::new("shop", Target::new("shop.test", 80), load)
        .with_think_time(ThinkTime::constant(Nanos::from_secs(2)));
    draft.requests = vec![RequestDraft::get("list", "/"), RequestDraft::get("buy", "/buy")];
    draft.thresholds = Threshold::parse_list("p95<500ms, errors<1%, p99<1s").unwrap();
    let record = |index: u64| {
        let start = Nanos::from_millis(index * 100);
        let outcome = if index.is_multiple_of(20) { Outcome::Status(503) } else { Outcome::Success };
        let request = usize::from(index.is_multiple_of(3));
        let service = Nanos::from_millis(1 + index % 50);
        request_record(request, start, start, service, outcome)
    };
    counted(&draft.check().unwrap(), 300, record)
}

/// 100 starts a second for 30 s. After each 10 s the target stands still for 300 ms, which later starts feel too.
pub fn open() -> ResultFile {
    let load = LoadModel::open(100.0, Nanos::from_secs(30), 20);
    let mut draft = PlanDraft::new("steady rate", Target::new("shop.test", 80), load);
    draft.requests = vec![RequestDraft::get("list", "/")];
    draft.thresholds = Threshold::parse_list("p95<500ms, errors<5%").unwrap();
    let record = |index: u64| {
        let due = Nanos::from_millis(index * 10);
        let stalled = index % 1_000 < 30 && index >= 1_000;
        let waited = if stalled { Nanos::from_millis(300 - index % 1_000 * 10) } else { Nanos::ZERO };
        let service = Nanos::from_micros(1_500 + index * 7_919 % 2_000);
        let outcome =
            if index % 500 == 7 { Outcome::Transport(TransportError::Timeout) } else { Outcome::Success };
        request_record(0, due, due.plus(waited), service, outcome)
    };
    let mut result = counted(&draft.check().unwrap(), 3_000, record);
    result.observers = vec![observer("process nginx (4711)", 0.4), observer("lab", 0.2)];
    result
}

fn request_record(request: usize, due: Nanos, started: Nanos, service: Nanos, outcome: Outcome) -> Record {
    let ended = started.plus(service);
    Record {
        request,
        scheduled: due,
        started,
        first_byte: Some(ended),
        ended,
        outcome,
        bytes_sent: 100,
        bytes_received: 2_000,
    }
}

fn counted(plan: &Plan, records: u64, record: impl Fn(u64) -> Record) -> ResultFile {
    let windows = plan.windows();
    let shape = TallyShape::of(plan);
    let mut total = Tally::new(&windows, shape);
    let mut series: Vec<SecondRow> = Vec::new();
    let mut second = (0, Tally::new(&windows, shape));
    for record in (0..records).map(record) {
        let now = record.scheduled.0 / 1_000_000_000;
        if now > second.0 {
            series.push(SecondRow::of(second.0, &second.1));
            total.merge(&second.1);
            second = (now, Tally::new(&windows, shape));
        }
        second.1.started += 1;
        second.1.users_active = 100;
        second.1.record(&windows, &record);
        let starts = second.1.starts_at(&windows, record.scheduled, 0);
        starts.due += 1;
        starts.started += 1;
        starts.completed += 1;
        starts.waited += u64::from(record.started > record.scheduled);
    }
    series.push(SecondRow::of(second.0, &second.1));
    total.merge(&second.1);
    let windows = window_results(plan, &windows, &total, plan.duration());
    let mut result = ResultFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        plan: PlanSummary::of(plan),
        findings: Vec::new(),
        thresholds: verdicts(plan, &windows),
        windows,
        series,
        lab: LabFigures { threads: 2, busiest_thread_share: 0.05, ..LabFigures::default() },
        observers: Vec::new(),
        counted: prony_load_model::result::Counted::default(),
    };
    result.findings = judge(plan, &result, &TargetPlace::OtherMachine);
    result
}

fn observer(name: &str, processors: f64) -> Observation {
    let points = |value: f64| {
        (0..30).map(|second| (Nanos::from_secs(second), value * (1.0 + second as f64 / 60.0))).collect()
    };
    let series =
        |name: &str, unit, value| ObservedSeries { name: name.to_owned(), unit, points: points(value) };
    let figure = |name: &str, unit, value| ObservedFigure { name: name.to_owned(), unit, value };
    Observation {
        name: name.to_owned(),
        series: vec![
            series("processors used", ObservedUnit::Processors, processors),
            series("resident memory", ObservedUnit::Bytes, 3e7),
        ],
        summary: vec![
            figure("processors used at most", ObservedUnit::Processors, processors * 1.5),
            figure("memory at most", ObservedUnit::Bytes, 4.5e7),
        ],
        faults: vec![(Nanos::from_secs(3), "its threads could not be counted".to_owned())],
    }
}

pub fn named(name: &str, result: ResultFile) -> NamedDocument {
    NamedDocument { name: name.to_owned(), document: Document::Run(Box::new(result)) }
}

/// A whole day, a row a second, with a rate that follows the hours, an outage at noon and one slow second.
pub fn day() -> ResultFile {
    const SECONDS: u64 = 86_400;
    let mut result = open();
    let rates = (0..SECONDS).map(|second| {
        let hour = second as f64 / 3_600.0;
        let noise = (second * 2_654_435_761 % 1_000) as f64 / 1_000.0;
        (2_000.0 + 1_500.0 * (hour / 24.0 * std::f64::consts::TAU).sin() + 200.0 * noise, noise)
    });
    result.series = rates
        .enumerate()
        .map(|(second, (rate, noise))| {
            let second = second as u64;
            let is_out = (43_200..43_260).contains(&second);
            let time = |micros: f64| (!is_out).then(|| Nanos::from_micros(micros as u64));
            let slowest = if second == 30_000 { 4_000_000.0 } else { 20_000.0 + 30_000.0 * noise };
            SecondRow {
                second,
                users: 500,
                started: rate as u64,
                dropped: if is_out { 40 } else { 0 },
                successes: if is_out { 0 } else { rate as u64 - 3 },
                failures: if is_out { rate as u64 } else { second % 3 },
                timeouts: 0,
                bytes_received: 2_000 * rate as u64,
                p50_ns: time(900.0 + rate / 4.0 + 80.0 * noise),
                p95_ns: time(2_000.0 + rate + 300.0 * noise),
                p99_ns: time(5_000.0 + 2.0 * rate + 900.0 * noise),
                max_ns: time(slowest),
            }
        })
        .collect();
    let end = Nanos::from_secs(SECONDS);
    for window in &mut result.windows {
        window.window.to_ns = end;
    }
    for observer in &mut result.observers {
        for series in &mut observer.series {
            let highest = series.points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let value = |second: u64| highest * (0.6 + 0.4 * ((second * 40_503 % 997) as f64 / 997.0));
            series.points = (0..SECONDS).map(|second| (Nanos::from_secs(second), value(second))).collect();
        }
    }
    result
}

/// Texts that would be markup, would end the script element, or would run off the page.
pub fn hostile() -> ResultFile {
    let mut result = closed();
    let name = "<img src=x onerror=\"document.title='broken'\"></script><script>document.title='broken'</script><!--";
    name.clone_into(&mut result.plan.name);
    result.plan.targets = vec!["\"prony:data\"<!--prony:plain-->".to_owned()];
    result.state = RunState::Running;
    for window in &mut result.windows {
        name.clone_into(&mut window.by_request[0].name);
        window.by_request[1].name = "long".repeat(100);
    }
    for finding in &mut result.findings {
        name.clone_into(&mut finding.seen);
    }
    name.clone_into(&mut result.thresholds[0].threshold);
    result.observers = vec![observer(name, 0.5)];
    result
}

/// A run that cannot be believed.
pub fn void() -> ResultFile {
    let mut result = closed();
    result.lab.busiest_thread_share = 0.97;
    let plan =
        PlanDraft::new("shop", Target::new("shop.test", 80), LoadModel::constant(1, Nanos::from_secs(1)));
    let plan = PlanDraft { requests: vec![RequestDraft::get("list", "/")], ..plan }.check().unwrap();
    result.findings = judge(&plan, &result, &TargetPlace::OtherMachine);
    result
}
