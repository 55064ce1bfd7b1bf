//! Results as CSV (RFC 4180): the seconds of runs, and their figures.

use prony_load_model::figures::{Figures, LatencyFigures, PERCENTILES};
use prony_load_model::result::{ResultFile, WindowResult};
use prony_load_model::{Nanos, WindowKind};

const SERIES: [&str; 14] = [
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
];

/// One row for each second of each run.
pub fn series_csv(runs: &[(String, &ResultFile)]) -> String {
    let mut table = Csv::new();
    table.row(SERIES);
    for (label, result) in runs {
        for row in &result.series {
            let asked =
                result.plan.asked_per_s(row.second).map(|rate| format!("{rate:.3}")).unwrap_or_default();
            let counts =
                [row.started, row.dropped, row.successes, row.failures, row.timeouts, row.bytes_received];
            let times = [row.p50_ns, row.p95_ns, row.p99_ns, row.max_ns];
            let begin = [label.clone(), row.second.to_string(), row.users.to_string(), asked];
            let rest = counts.map(|count| count.to_string()).into_iter().chain(times.map(time));
            table.row(begin.into_iter().chain(rest));
        }
    }
    table.text()
}

/// One row for each run, window and request name; the name is empty for all requests together.
pub fn figures_csv(runs: &[(String, &ResultFile)]) -> String {
    let mut table = Csv::new();
    table.row(figures_head());
    for (label, result) in runs {
        for window in &result.windows {
            table.row(figures_row(label, window, "", &window.all));
            for request in &window.by_request {
                table.row(figures_row(label, window, &request.name, &request.figures));
            }
        }
    }
    table.text()
}

fn figures_head() -> Vec<String> {
    let first = [
        "run",
        "window",
        "from_s",
        "to_s",
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
    for kind in ["response", "service", "first_byte"] {
        head.extend(["min", "mean", "max"].map(|figure| format!("{kind}_{figure}_ns")));
        let percentiles = PERCENTILES.iter().filter(|percentile| **percentile < 100.0);
        head.extend(percentiles.map(|percentile| format!("{kind}_p{percentile}_ns")));
    }
    head
}

fn figures_row(label: &str, window: &WindowResult, request: &str, figures: &Figures) -> Vec<String> {
    let span = &window.window;
    let mut row = vec![
        label.to_owned(),
        window_id(span.kind).to_owned(),
        span.from_ns.as_secs_f64().to_string(),
        span.to_ns.as_secs_f64().to_string(),
        request.to_owned(),
    ];
    let counts = [figures.requests, figures.successes, figures.failures, figures.answered];
    row.extend(counts.map(|count| count.to_string()));
    row.push(format!("{:.3}", figures.rate_per_s));
    row.extend([figures.bytes_sent, figures.bytes_received].map(|count| count.to_string()));
    let none = LatencyFigures::default();
    for times in
        [&figures.response_time, figures.service_time.as_ref().unwrap_or(&none), &figures.first_byte_time]
    {
        row.extend([times.min_ns, times.mean_ns, times.max_ns].map(time));
        let percentiles = PERCENTILES.iter().filter(|percentile| **percentile < 100.0);
        row.extend(percentiles.map(|percentile| time(times.percentile(*percentile))));
    }
    row
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
