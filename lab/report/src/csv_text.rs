//! Results as CSV (RFC 4180): the seconds of runs, and their figures.

use crate::subscribers::Count;
use prony_model::load::windows::Window;
use prony_model::measurement::figures::{Figures, LatencyFigures, PERCENTILES};
use prony_model::result::ResultFile;
use prony_model::subscription::figures::{SubscriberGroup, SubscriberRow, SubscriberWindow};
use prony_model::{Nanos, WindowKind};
use std::iter;

const SERIES: [&str; 21] = [
    "run",
    "second",
    "users",
    "asked_per_s",
    "started",
    "dropped",
    "successes",
    "failures",
    "timeouts",
    "bytes_received",
    "p50_ns",
    "p95_ns",
    "p99_ns",
    "max_ns",
    "subscriptions",
    "events",
    "missed",
    "fan_out_p50_ns",
    "fan_out_p99_ns",
    "fan_out_max_ns",
    "covered_s",
];

/// One row for each second of each run.
pub fn series_csv(runs: &[(String, &ResultFile)]) -> String {
    let mut table = Csv::new();
    table.row(SERIES);
    for (label, result) in runs {
        // Either none or one for each second of the run.
        let subscribers = result.subscribers.series.iter().map(Some).chain(iter::repeat(None));
        for (row, subscribers) in result.series.iter().zip(subscribers) {
            let asked =
                result.plan.asked_per_s(row.second).map(|rate| format!("{rate:.3}")).unwrap_or_default();
            let counts =
                [row.started, row.dropped, row.successes, row.failures, row.timeouts, row.bytes_received];
            let times = [row.p50_ns, row.p95_ns, row.p99_ns, row.max_ns];
            let begin = [label.clone(), row.second.to_string(), row.users.to_string(), asked];
            let rest = counts.map(|count| count.to_string()).into_iter().chain(times.map(time));
            let covered = row.covered_ns.as_secs_f64().to_string();
            let cells = begin.into_iter().chain(rest).chain(subscribers_cells(subscribers));
            table.row(cells.chain([covered]));
        }
    }
    table.text()
}

/// What subscribers saw in a second; empty where the run has none.
fn subscribers_cells(row: Option<&SubscriberRow>) -> [String; 6] {
    row.map_or_else(Default::default, |row| {
        let [active, events, missed] = [row.active, row.events, row.missed].map(|count| count.to_string());
        let [p50, p99, max] = [row.p50_ns, row.p99_ns, row.max_ns].map(time);
        [active, events, missed, p50, p99, max]
    })
}

/// One row for each run, window and request name, which is empty for all requests together; then one for each group of
/// subscribers, in which what belongs to requests is empty.
pub fn figures_csv(runs: &[(String, &ResultFile)]) -> String {
    let mut table = Csv::new();
    let (request_head, event_head) = (request_head(), event_head());
    let nothing = |head: &[String]| vec![String::new(); head.len()];
    let (no_request, no_events) = (nothing(&request_head), nothing(&event_head));
    let head = ["run", "window", "from_s", "to_s"].map(str::to_owned);
    table.row(head.iter().chain(&request_head).chain(&event_head));
    for (label, result) in runs {
        for window in &result.windows {
            let begin = window_cells(label, &window.window);
            let by_request =
                window.by_request.iter().map(|request| (request.name.as_str(), &request.figures));
            for (name, figures) in iter::once(("", &window.all)).chain(by_request) {
                table.row(begin.iter().chain(&request_cells(name, figures)).chain(&no_events));
            }
            for group in &result.subscribers.groups {
                let Some(window) = group.window(window.window.kind) else { continue };
                table.row(begin.iter().chain(&no_request).chain(&event_cells(group, window)));
            }
        }
    }
    table.text()
}

fn window_cells(label: &str, window: &Window) -> [String; 4] {
    [
        label.to_owned(),
        window_id(window.kind).to_owned(),
        window.from_ns.as_secs_f64().to_string(),
        window.to_ns.as_secs_f64().to_string(),
    ]
}

fn request_head() -> Vec<String> {
    let first = [
        "request",
        "requests",
        "successes",
        "failures",
        "answered",
        "rate_per_s",
        "bytes_sent",
        "bytes_received",
    ];
    let mut head = first.map(str::to_owned).to_vec();
    head.extend(["response", "service", "first_byte"].into_iter().flat_map(times_head));
    head
}

fn request_cells(name: &str, figures: &Figures) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    let counts = [figures.requests, figures.successes, figures.failures, figures.answered];
    cells.extend(counts.map(|count| count.to_string()));
    cells.push(format!("{:.3}", figures.rate_per_s));
    cells.extend([figures.bytes_sent, figures.bytes_received].map(|count| count.to_string()));
    let none = LatencyFigures::default();
    let service_time = figures.service_time.as_ref().unwrap_or(&none);
    let times = [&figures.response_time, service_time, &figures.first_byte_time];
    cells.extend(times.into_iter().flat_map(times_cells));
    cells
}

/// What is owed is known only where events are matched with mutations.
const DELIVERIES: [(&str, Count); 6] = [
    ("deliveries_due", |counts| counts.due),
    ("missed", |counts| counts.missed),
    ("duplicated", |counts| counts.duplicated),
    ("out_of_order", |counts| counts.out_of_order),
    ("cut_off", |counts| counts.cut_off),
    ("unexpected", |counts| counts.unexpected),
];

fn event_head() -> Vec<String> {
    let first = ["subscribers", "events", "events_per_s", "event_bytes"].into_iter();
    let mut head: Vec<_> = first.chain(DELIVERIES.map(|(name, _)| name)).map(str::to_owned).collect();
    head.extend(["fan_out", "fan_out_acknowledged"].into_iter().flat_map(times_head));
    head
}

fn event_cells(group: &SubscriberGroup, window: &SubscriberWindow) -> Vec<String> {
    let counts = &window.counts;
    let rate = format!("{:.3}", window.events_per_s);
    let mut cells = vec![group.name.clone(), counts.events.to_string(), rate, counts.bytes.to_string()];
    let is_matched = group.published_by.is_some();
    cells.extend(DELIVERIES.map(|(_, of)| if is_matched { of(counts).to_string() } else { String::new() }));
    let times = [&window.fan_out_latency, &window.fan_out_latency_acknowledged];
    cells.extend(times.into_iter().flat_map(times_cells));
    cells
}

fn percentiles() -> impl Iterator<Item = f64> {
    PERCENTILES.into_iter().filter(|percentile| *percentile < 100.0)
}

fn times_head(kind: &str) -> Vec<String> {
    let extremes = ["min", "mean", "max"].map(|figure| format!("{kind}_{figure}_ns"));
    extremes.into_iter().chain(percentiles().map(|percentile| format!("{kind}_p{percentile}_ns"))).collect()
}

fn times_cells(times: &LatencyFigures) -> Vec<String> {
    let extremes = [times.min_ns, times.mean_ns, times.max_ns].map(time).into_iter();
    extremes.chain(percentiles().map(|percentile| time(times.percentile(percentile)))).collect()
}

/// As in the result file.
const fn window_id(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::Ramp => "ramp",
        WindowKind::WarmUp => "warm_up",
        WindowKind::Steady => "steady",
        WindowKind::After => "after",
        WindowKind::Whole => "whole",
    }
}

/// Empty where it is not known.
fn time(time: Option<Nanos>) -> String {
    time.map_or_else(String::new, |time| time.0.to_string())
}

struct Csv(csv::Writer<Vec<u8>>);

impl Csv {
    fn new() -> Self {
        Self(csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new()))
    }

    fn row<I: IntoIterator<Item = T>, T: AsRef<[u8]>>(&mut self, cells: I) {
        self.0.write_record(cells).expect("memory takes every row, and all rows have the same length");
    }

    fn text(self) -> String {
        let bytes = self.0.into_inner().expect("memory can be written");
        String::from_utf8(bytes).expect("only texts were written")
    }
}
