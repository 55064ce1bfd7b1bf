//! Made-up runs for the tests, counted by the same code as real ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]
#![allow(dead_code, unreachable_pub, reason = "each test program uses some of it")]

use prony_jtl::{Sample, Statistics, Timeline};
use prony_model::comparison::{ComparedRun, ComparisonFile, Side, Subject};
use prony_model::data::variable::{Order, Values};
use prony_model::measurement::counts::{CheckCount, FeederCount};
use prony_model::measurement::observation::{Observation, ObservedFigure, ObservedSeries, ObservedUnit};
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::result::over_time::RequestOverTime;
use prony_model::result::{
    CheckFigures, Counted, FeederFigures, LabFigures, Origin, OverTime, OverTimeTally, PlanSummary,
    ResultFile, RunState, SCHEMA, SCHEMA_VERSION, SecondRow, request_names, verdicts, window_results,
};
use prony_model::search::{self, Search, SearchFile, SearchPlan, SearchRun, SearchStep, Trial, Vary};
use prony_model::subscription::figures::{SubscriberRow, Subscribers};
use prony_model::subscription::tally::{EventCounts, LinkCounts, SubscriptionTally, count_reason};
use prony_model::subscription::{FanOutDraft, SubscriptionDraft};
use prony_model::verdict::findings::{TargetPlace, judge};
use prony_model::{
    LoadModel, Nanos, Outcome, Plan, PlanDraft, Record, RequestDraft, Target, ThinkTime, Threshold,
    TransportError, Variable,
};
use prony_report::{
    BarData, BarGroupData, BarsData, Document, NamedDocument, StudyData, StudyLineData, StudyPlotData,
    TableData, Unit,
};
use std::collections::BTreeMap;

/// Two numbers of users, of which one has published figures, and too few samples for a percentile.
pub fn study() -> StudyData {
    let line = |name: &str, is_published, values: [Option<f64>; 2]| StudyLineData {
        name: name.to_owned(),
        place: 0,
        is_published,
        values: values.to_vec(),
    };
    let lines =
        |ours: [Option<f64>; 2], theirs| vec![line("Q1", false, ours), line("Q1, published", true, theirs)];
    let bars = |values: [Option<f64>; 3]| {
        let names = ["p90", "p95", "p99"].into_iter().zip(values);
        names.map(|(name, ms)| BarData { name, ms }).collect()
    };
    StudyData {
        title: "What does it carry?".to_owned(),
        setting: "Prony on one processor.".to_owned(),
        differs: "What differs from the study: all of it.".to_owned(),
        users: vec![100, 1_000],
        plots: vec![
            StudyPlotData {
                title: "Throughput".to_owned(),
                unit: Unit::PerSecond,
                lines: lines([Some(11_000.0), Some(10_100.5)], [Some(2_261.0), None]),
            },
            StudyPlotData {
                title: "Response time, p95".to_owned(),
                unit: Unit::Milliseconds,
                lines: lines([Some(12.5), Some(130.0)], [Some(90.0), None]),
            },
        ],
        bars: vec![BarsData {
            title: "Q1".to_owned(),
            note: "by users".to_owned(),
            groups: vec![
                BarGroupData { name: "100".to_owned(), bars: bars([Some(11.0), Some(12.5), Some(20.0)]) },
                BarGroupData { name: "1 000".to_owned(), bars: bars([Some(120.0), Some(130.0), None]) },
            ],
        }],
        tables: vec![TableData {
            id: "study",
            title: "By users".to_owned(),
            note: "requests/s".to_owned(),
            head: ["Users", "Prony", "Published"].map(str::to_owned).to_vec(),
            rows: vec![["100", "11 000", "2 261"].map(str::to_owned).to_vec()],
        }],
        notes: vec!["Ended early.".to_owned()],
    }
}

/// 100 users for 20 s after a ramp of 10 s: each tenth of a second a request, every 20th answered with 503.
pub fn closed() -> ResultFile {
    counted(&closed_plan(), 300, closed_record)
}

/// As [`closed`], where every third request asks for something new (201), and after 12 s every seventh other deletes (204).
pub fn statuses() -> ResultFile {
    counted(&closed_plan(), 300, |index| {
        let record = closed_record(index);
        let status = match record.outcome {
            Outcome::Status(status) => status,
            _ if index.is_multiple_of(3) => 201,
            _ if index >= 120 && index.is_multiple_of(7) => 204,
            _ => 200,
        };
        Record { status: Some(status), ..record }
    })
}

fn closed_plan() -> Plan {
    let load = LoadModel::ramp_and_hold(100, Nanos::from_secs(10), Nanos::from_secs(20));
    let mut draft = PlanDraft::new("shop", Target::new("shop.test", 80), load)
        .with_think_time(ThinkTime::constant(Nanos::from_secs(2)));
    draft.requests = vec![RequestDraft::get("list", "/"), RequestDraft::get("buy", "/buy")];
    draft.thresholds = Threshold::parse_list("p95<500ms, errors<1%, p99<1s").unwrap();
    draft.check().unwrap()
}

fn closed_record(index: u64) -> Record {
    let start = Nanos::from_millis(index * 100);
    let outcome = if index.is_multiple_of(20) { Outcome::Status(503) } else { Outcome::Success };
    let request = usize::from(index.is_multiple_of(3));
    let service = Nanos::from_millis(1 + index % 50);
    request_record(request, start, start, service, outcome)
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
    let count = CheckCount { passed: 2_980, failed: 14 };
    let check = CheckFigures { request: "list".to_owned(), name: "body contains \"id\"".to_owned(), count };
    let feeder = FeederFigures {
        name: "user".to_owned(),
        origin: "users.csv".to_owned(),
        rows: 5_000,
        order: Order::Sequential,
        count: FeederCount { rows_taken: 3_000, users_stopped: 0 },
    };
    result.counted =
        Counted { checks: vec![check], feeders: vec![feeder], iterations_cut: 6, ..Counted::default() };
    result
}

/// As [`closed`], beside subscribers whose events take from 1 to 50 ms: one event in a hundred is missed, one in two hundred
/// doubled, and three of 600 connections are refused.
pub fn subscribed() -> ResultFile {
    let load = LoadModel::ramp_and_hold(100, Nanos::ZERO, Nanos::from_secs(20));
    let mut draft = PlanDraft::new("shop", Target::new("shop.test", 80), load);
    draft.variables =
        vec![Variable { name: "token".to_owned(), values: Values::Token { prefix: "t-".to_owned() } }];
    draft.requests = vec![RequestDraft::get("sell", "/?t=${token}")];
    let mut group = SubscriptionDraft::new("prices", "subscription { onSold { name } }", 600);
    group.per_client = 2;
    let fan_out = FanOutDraft {
        request: "sell".to_owned(),
        token: None,
        key: None,
        request_key: None,
        wait_max: Nanos::from_secs(1),
    };
    group.fan_out = Some(fan_out);
    draft.subscriptions = vec![group];
    draft.thresholds = Threshold::parse_list("fan_out_latency p99<100ms, missed == 0").unwrap();
    let plan = draft.check().unwrap();
    let mut result = counted(&plan, 200, |index| {
        let start = Nanos::from_millis(index * 100);
        request_record(0, start, start, Nanos::from_millis(2), Outcome::Success)
    });
    result.subscribers = subscribers(&plan);
    result.thresholds = verdicts(&plan, &result.windows, &result.subscribers);
    result.findings = judge(&plan, &result, &TargetPlace::OtherMachine);
    result.judge();
    result
}

/// The same, of a plan without users; the latencies that were measured stay.
pub fn subscribed_alone() -> ResultFile {
    let mut result = subscribed();
    for scenario in &mut result.plan.scenarios {
        scenario.load = LoadModel::ramp_and_hold(0, Nanos::ZERO, Nanos::from_secs(20));
    }
    result
}

fn subscribers(plan: &Plan) -> Subscribers {
    let windows = plan.windows();
    let (mut total, mut series) = (SubscriptionTally::new(1, windows.all().len()), Vec::new());
    for second in 0..20 {
        let mut tally = SubscriptionTally::new(1, windows.all().len());
        for event in 0..200 {
            let time = Nanos::from_millis(1 + (event * 7 + second) % 50);
            let cell = tally.cell_mut(0, 0);
            cell.from_send.record(time);
            cell.from_acknowledgement.record(Nanos(time.0 / 2));
            tally.interval_from_send.record(time);
        }
        let counts = EventCounts {
            events: 201,
            bytes: 20_000,
            missed: 2,
            duplicated: 1,
            due: 202,
            acknowledged: 10,
            published: 10,
            ..EventCounts::default()
        };
        tally.cell_mut(0, 0).counts = counts;
        tally.interval = counts;
        tally.active = 1_194;
        series.push(SubscriberRow::of(second, &tally));
        total.merge(&tally);
    }
    let links = &mut total.links[0];
    links.counts = LinkCounts {
        attempted: 600,
        made: 597,
        asked: 1_194,
        subscribed: 1_194,
        first_attempt_ns: Some(Nanos::ZERO),
        last_made_ns: Some(Nanos::from_secs(2)),
        ..LinkCounts::default()
    };
    (0..3).for_each(|_| count_reason(&mut links.counts.refused, "status 503"));
    (0..597).for_each(|number| {
        links.connect.record(Nanos::from_micros(300 + number));
        links.acknowledge.record(Nanos::from_micros(600 + number));
        links.subscribe.record(Nanos::from_micros(200 + number));
    });
    Subscribers::of(plan, &windows, &total, &series, plan.duration())
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
        status: match outcome {
            Outcome::Transport(_) => None,
            Outcome::Status(status) => Some(status),
            _ => Some(200),
        },
        bytes_sent: 100,
        bytes_received: 2_000,
    }
}

fn row_of((second, tally): &(u64, Tally)) -> SecondRow {
    SecondRow::of(*second, tally, &tally.response_times())
}

fn counted(plan: &Plan, records: u64, record: impl Fn(u64) -> Record) -> ResultFile {
    let windows = plan.windows();
    let shape = TallyShape::of(plan);
    let mut total = Tally::new(&windows, shape);
    let mut series: Vec<SecondRow> = Vec::new();
    let mut over_time = OverTimeTally::default();
    let mut second = (0, Tally::new(&windows, shape));
    for record in (0..records).map(record) {
        let now = record.scheduled.0 / 1_000_000_000;
        if now > second.0 {
            series.push(row_of(&second));
            over_time.add(second.0, &second.1);
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
    series.push(row_of(&second));
    over_time.add(second.0, &second.1);
    total.merge(&second.1);
    let over_time = over_time.saved(&request_names(plan, None, &total));
    let windows = window_results(plan, None, &windows, &total, plan.duration());
    let mut result = ResultFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        plan: PlanSummary::of(plan, None),
        findings: Vec::new(),
        thresholds: verdicts(plan, &windows, &Subscribers::default()),
        verdict: None,
        windows,
        series,
        over_time,
        lab: LabFigures { threads: 2, busiest_thread_share: 0.05, ..LabFigures::default() },
        observers: Vec::new(),
        counted: Counted::default(),
        subscribers: Subscribers::default(),
        workers: Vec::new(),
    };
    result.findings = judge(plan, &result, &TargetPlace::OtherMachine);
    result.judge();
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

pub fn named_search() -> NamedDocument {
    NamedDocument { name: "find.prony.json".to_owned(), document: Document::Search(Box::new(search())) }
}

pub fn named_comparison() -> NamedDocument {
    let document = Document::Comparison(Box::new(comparison()));
    NamedDocument { name: "compare.prony.json".to_owned(), document }
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
                covered_ns: Nanos::from_secs(1),
                workers_missing: 0,
                late_p99_ns: None,
            }
        })
        .collect();
    result.over_time = day_over_time();
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

/// Five minutes an interval, as the collector makes them of a day: latencies over four octaves, and an outage at noon.
fn day_over_time() -> OverTime {
    const INTERVALS: u64 = 288;
    let interval = |index: u64| (0..64).map(move |bucket| 20_000 / (1 + bucket) + (index * 7 + bucket) % 90);
    let is_out = |index: u64| index == 144;
    let latencies = (0..INTERVALS).map(|index| {
        if is_out(index) {
            Vec::new()
        } else {
            [110 + index % 5].into_iter().chain(interval(index)).collect()
        }
    });
    let failures = (0..INTERVALS).map(|index| if is_out(index) { 120_000 } else { index % 3 });
    let failures: Vec<u64> = failures.collect();
    let request = |name: &str| RequestOverTime {
        name: name.to_owned(),
        ended: (0..INTERVALS).map(|index| 400_000 + index * 13).collect(),
        failures: failures.clone(),
        p95_ns: (0..INTERVALS)
            .map(|index| (!is_out(index)).then(|| Nanos::from_micros(3_000 + index * 7)))
            .collect(),
    };
    OverTime {
        interval_ns: Nanos::from_secs(300),
        latencies: latencies.collect(),
        failures: [(OutcomeKind::Status, failures.clone())].into(),
        statuses: [(503, failures.clone())].into(),
        expected_statuses: BTreeMap::new(),
        requests: vec![request("list"), request("größer & <b>")],
    }
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
    result.judge();
    result
}

/// A run of ten seconds in which answers take `slowness` times as long as usual; `run` makes it one of several.
fn short(slowness: f64, rate: f64, run: u64) -> ResultFile {
    let load = LoadModel::open(rate, Nanos::from_secs(10), 20);
    let mut draft = PlanDraft::new("shop", Target::new("shop.test", 80), load);
    draft.requests = vec![RequestDraft::get("list", "/")];
    let record = |index: u64| {
        let due = Nanos((index as f64 / rate * 1e9) as u64);
        let luck = ((index * 7_919 + run * 31) % 1_000) as f64 / 1_000.0;
        let millis = (2.0 + luck + 3.0 * luck.powi(20)) * slowness * (1.0 + 0.002 * (run % 5) as f64);
        request_record(0, due, due, Nanos::from_secs_f64(millis / 1e3), Outcome::Success)
    };
    counted(&draft.check().unwrap(), (rate * 10.0) as u64, record)
}

/// Doubling from 100 a second to 400, then halving the distance; the limit is near 330.
pub fn search() -> SearchFile {
    let plan = SearchPlan {
        start: 100,
        lowest: 1,
        highest: 10_000,
        growth: 2.0,
        resolution: 1.1,
        repeats: 3,
        steps_max: 20,
    };
    let mut search = Search::new(plan);
    let mut steps: Vec<SearchStep> = Vec::new();
    let mut runs: u32 = 0;
    while let Some(load) = search.next_load() {
        runs += 1;
        let (rate, limit) = (f64::from(load), 325.0 + f64::from(runs % 3) * 8.0);
        let slowness = if rate < limit { 1.0 / (1.02 - (rate / 400.0).powi(2)) } else { rate / 20.0 };
        let trial = if rate < limit { Trial::Passed } else { Trial::Failed };
        let reason = if rate < limit { "" } else { "p95<10ms was not kept" };
        let result = short(slowness, rate, u64::from(runs));
        let run = SearchRun { trial, reason: reason.to_owned(), result };
        let verdict = search.record(load, trial);
        match steps.last_mut() {
            Some(step) if step.load == load => {
                step.runs.push(run);
                step.verdict = verdict;
            }
            _ => steps.push(SearchStep { load, verdict, note: None, runs: vec![run] }),
        }
    }
    let mut file = SearchFile {
        schema: search::SCHEMA.to_owned(),
        schema_version: search::SCHEMA_VERSION,
        state: RunState::Completed,
        origin: Origin::default(),
        name: "shop".to_owned(),
        target: "http://shop.test".to_owned(),
        vary: Vary::Rate,
        objectives: vec!["p95<10ms".to_owned()],
        plan,
        interval: search.interval(),
        answer: search.interval().answer(),
        verdict: None,
        steps,
    };
    file.conclude(search.interval());
    file
}

/// Five runs of each; B takes a twentieth longer.
pub fn comparison() -> ComparisonFile {
    let subject = |given: &str| Subject {
        given: given.to_owned(),
        name: "shop".to_owned(),
        target: "http://shop.test".to_owned(),
    };
    let mut file =
        ComparisonFile::new(Origin::default(), subject("before.toml"), subject("after.toml"), true);
    file.state = RunState::Completed;
    for run in 0..10 {
        let side = Side::of_run(run);
        let slowness = if side == Side::A { 1.0 } else { 1.05 };
        let rate = 300.0 + (run * 7 % 5) as f64;
        file.runs.push(ComparedRun { side, result: short(slowness, rate, run as u64) });
    }
    file.judge(&[]);
    file
}

/// An hour of two labels and a transaction of both, with failures at half time, and a label that is markup.
pub fn samples() -> (Statistics, Timeline) {
    let (mut statistics, mut timeline) = (Statistics::default(), Timeline::default());
    let mut add = |sample: Sample<'_>| {
        statistics.add(&sample);
        timeline.add(&sample);
    };
    for number in 0..36_000_i64 {
        let noise = (number * 7_919 % 1_000) as u64;
        let is_bad = (17_000..18_000).contains(&number) && number % 3 == 0;
        let (label, code) =
            if number % 2 == 0 { ("list", "200") } else { ("<img src=x onerror=alert(1)>", "201") };
        let sample = Sample {
            timestamp_ms: 1_700_000_000_000 + number * 100,
            elapsed_ms: 20 + noise / 4 + if is_bad { 900 } else { 0 },
            label: label.into(),
            response_code: if is_bad { "503" } else { code }.into(),
            response_message: if is_bad { "Service </script> Unavailable" } else { "OK" }.into(),
            thread_name: format!("Users 1-{}", number % 10).into(),
            is_success: !is_bad,
            bytes: 2_000,
            sent_bytes: 300,
            group_threads: 10,
            all_threads: 10,
            latency_ms: 15 + noise / 5,
            connect_ms: noise % 3,
            ..Sample::default()
        };
        let whole = Sample {
            label: "checkout".into(),
            response_message: "Number of samples in transaction : 1, number of failing samples : 0".into(),
            ..sample.clone()
        };
        add(sample);
        add(whole);
    }
    (statistics, timeline)
}
