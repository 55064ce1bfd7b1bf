//! The tables that terminal, pages and files share: figures by window or by run, requests, failures, scenarios.

use crate::describe::{self, window_name};
use crate::page::data::TableData;
use crate::subscribers;
use crate::table::{bytes, decimal, grouped, time};
use prony_model::WindowKind;
use prony_model::measurement::figures::{Figures, LatencyFigures, PERCENTILES};
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::tally::StartCounts;
use prony_model::result::{CheckFigures, Counted, ResultFile, TagFigures, WindowResult};
use prony_model::units::percent;

/// One column of a table of figures. `times` is response time, or service time where that column is for it alone.
struct Column<'a> {
    head: String,
    window: &'a WindowResult,
    times: &'a LatencyFigures,
    /// Only times are of interest; all else stands in the column before.
    is_beside: bool,
}

/// The steady state beside the whole run, and service time beside response time where they differ.
pub(crate) fn figures(result: &ResultFile) -> TableData {
    let headline = result.headline();
    let mut windows = vec![headline];
    windows.extend(result.window(WindowKind::Whole).filter(|_| headline.window.kind == WindowKind::Steady));
    let columns = windows.into_iter().flat_map(|window| {
        let name = window_name(window.window.kind);
        let service = window.all.service_time.as_ref();
        let response =
            Column { head: name.to_owned(), window, times: &window.all.response_time, is_beside: false };
        let beside =
            service.map(|times| Column { head: "service time".to_owned(), window, times, is_beside: true });
        [Some(response), beside].into_iter().flatten()
    });
    figures_of(&columns.collect::<Vec<_>>())
}

/// One column for each run, of its steady state where it has one.
pub(crate) fn side_by_side(runs: &[(String, &ResultFile)]) -> TableData {
    let columns = runs.iter().map(|(label, result)| {
        let window = result.headline();
        Column { head: label.clone(), window, times: &window.all.response_time, is_beside: false }
    });
    let mut table = figures_of(&columns.collect::<Vec<_>>());
    let mut row = |name: &str, cell: &dyn Fn(&ResultFile) -> String| {
        let cells = runs.iter().map(|(_, result)| cell(result));
        table.rows.push([name.to_owned()].into_iter().chain(cells).collect());
    };
    if runs.iter().any(|(_, result)| result.headline().all.service_time.is_some()) {
        for percentile in [50.0, 95.0, 99.0] {
            row(&format!("service time p{percentile}"), &|result| {
                let all = &result.headline().all;
                time(all.service_time.as_ref().unwrap_or(&all.response_time).percentile(percentile))
            });
        }
    }
    row("verdict", &|result| describe::verdict_word(result).to_owned());
    row("findings", &|result| {
        let names: Vec<_> = result.findings.iter().map(|finding| finding.kind.name()).collect();
        if names.is_empty() { "-".to_owned() } else { names.join(", ") }
    });
    table
}

/// One row for each figure; one without samples enough is a dash.
fn figures_of(columns: &[Column<'_>]) -> TableData {
    let row = |name: &str, cell: &dyn Fn(&Column<'_>) -> String| {
        let cells = columns.iter().map(cell);
        [name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let whole = |cell: fn(&WindowResult) -> String| {
        move |column: &Column<'_>| if column.is_beside { String::new() } else { cell(column.window) }
    };
    let mut rows = vec![
        row("from, to", &whole(|w| format!("{} – {}", w.window.from_ns, w.window.to_ns))),
        row("requests", &whole(|w| grouped(w.all.requests))),
        row("successes a second", &whole(|w| decimal(w.all.rate_per_s))),
        row("errors", &whole(|w| percent(w.all.error_share()))),
        row("received", &whole(|w| bytes(w.all.bytes_received))),
    ];
    if columns.iter().any(|column| starts(column.window).dropped + starts(column.window).waited > 0) {
        rows.push(row("starts that waited", &whole(|w| grouped(starts(w).waited))));
        rows.push(row("starts dropped", &whole(|w| grouped(starts(w).dropped))));
    }
    rows.push(row("response time min", &|column| time(column.times.min_ns)));
    rows.push(row("mean", &|column| time(column.times.mean_ns)));
    for percentile in PERCENTILES.into_iter().filter(|percentile| *percentile < 100.0) {
        // Rare percentiles that no window has samples for are left out as a whole.
        if columns.iter().any(|column| column.times.percentile(percentile).is_some()) {
            rows.push(row(&format!("p{percentile}"), &|column| time(column.times.percentile(percentile))));
        }
    }
    rows.push(row("max", &|column| time(column.times.max_ns)));
    let heads = columns.iter().map(|column| column.head.clone());
    TableData {
        id: "figures",
        title: "figures".to_owned(),
        note: String::new(),
        head: [String::new()].into_iter().chain(heads).collect(),
        rows,
    }
}

/// Of all scenarios.
pub(crate) fn starts(window: &WindowResult) -> StartCounts {
    let mut sum = StartCounts::default();
    for scenario in &window.by_scenario {
        sum.merge(&scenario.starts);
    }
    sum
}

fn heads<const COLUMNS: usize>(names: [&str; COLUMNS]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// Only where there is more than one name.
fn requests(window: &WindowResult) -> Option<TableData> {
    let rows = window.by_request.iter().map(|request| breakdown_row(request.name.clone(), &request.figures));
    (window.by_request.len() > 1).then(|| breakdown("requests", "by request", window, rows.collect()))
}

/// Only where requests name groups.
fn groups(window: &WindowResult) -> Option<TableData> {
    let rows = window.by_group.iter().map(|group| breakdown_row(group.name.clone(), &group.figures));
    (!window.by_group.is_empty()).then(|| breakdown("groups", "by group", window, rows.collect()))
}

/// Only where requests or scenarios have tags.
fn tags(window: &WindowResult) -> Option<TableData> {
    let name = |tag: &TagFigures| format!("{}={}", tag.key, tag.value);
    let rows = window.by_tag.iter().map(|tag| breakdown_row(name(tag), &tag.figures));
    (!window.by_tag.is_empty()).then(|| breakdown("tags", "by tag", window, rows.collect()))
}

fn breakdown(id: &'static str, title: &str, window: &WindowResult, rows: Vec<Vec<String>>) -> TableData {
    TableData {
        id,
        title: format!("{title} ({})", window_name(window.window.kind)),
        note: String::new(),
        head: heads(["", "requests", "a second", "errors", "p50", "p95", "p99", "max"]),
        rows,
    }
}

fn breakdown_row(name: String, figures: &Figures) -> Vec<String> {
    let times = &figures.response_time;
    vec![
        name,
        grouped(figures.requests),
        decimal(figures.rate_per_s),
        percent(figures.error_share()),
        time(times.percentile(50.0)),
        time(times.percentile(95.0)),
        time(times.percentile(99.0)),
        time(times.max_ns),
    ]
}

/// How answers did in each check. Only where there are checks.
fn checks(counted: &Counted) -> Option<TableData> {
    let row = |check: &CheckFigures| {
        let (passed, failed) = (check.count.passed, check.count.failed);
        let share = passed as f64 / (passed + failed).max(1) as f64;
        let name = format!("{}: {}", check.request, check.name);
        vec![name, grouped(passed), grouped(failed), percent(share)]
    };
    (!counted.checks.is_empty()).then(|| TableData {
        id: "checks",
        title: "checks (whole run)".to_owned(),
        note: String::new(),
        head: heads(["", "passed", "failed", "passed of all"]),
        rows: counted.checks.iter().map(row).collect(),
    })
}

/// All that stands beneath the figures, in its order.
pub(crate) fn beneath(result: &ResultFile) -> Vec<TableData> {
    let window = result.headline();
    let mut all = subscribers::tables(result);
    let tables = [
        scenarios(window),
        requests(window),
        groups(window),
        tags(window),
        checks(&result.counted),
        status_codes(window),
        failures(window),
    ];
    all.extend(tables.into_iter().flatten());
    all
}

/// How requests ended: each status of a response, then why there was none. `expected` names the statuses of successes in
/// results of before they were counted one by one.
pub(crate) fn outcomes(window: &WindowResult, expected: &str) -> TableData {
    let all = &window.all;
    let rows: Vec<_> = if all.responses.is_empty() {
        [(expected.to_owned(), all.successes)].into_iter().chain(failure_rows(window)).collect()
    } else {
        let lost = all.outcomes.iter().filter(|(kind, _)| !kind.is_answered());
        let lost = lost.map(|(kind, count)| (kind.label().to_owned(), *count));
        all.responses.all().map(status_row).chain(lost).collect()
    };
    let rows = rows.into_iter().filter(|(_, count)| *count > 0);
    let share = |count: u64| percent(count as f64 / all.requests.max(1) as f64);
    TableData {
        id: "outcomes",
        title: "responses and errors".to_owned(),
        note: String::new(),
        head: heads(["", "requests", "of all"]),
        rows: rows.map(|(name, count)| vec![name, grouped(count), share(count)]).collect(),
    }
}

/// Each status, expected or not. Nothing where there was no response, or none was counted by its status.
fn status_codes(window: &WindowResult) -> Option<TableData> {
    let responses = &window.all.responses;
    let share = |count: u64| percent(count as f64 / responses.sum().max(1) as f64);
    let rows = responses.all().map(status_row);
    (!responses.is_empty()).then(|| TableData {
        id: "status-codes",
        title: format!("status codes ({})", window_name(window.window.kind)),
        note: String::new(),
        head: heads(["", "responses", "of all"]),
        rows: rows.map(|(name, count)| vec![name, grouped(count), share(count)]).collect(),
    })
}

fn status_row((status, count): (u16, u64)) -> (String, u64) {
    (format!("status {status}"), count)
}

/// Kinds of failures, bad statuses one by one.
fn failure_rows(window: &WindowResult) -> Vec<(String, u64)> {
    let mut rows = Vec::new();
    let kinds = window.all.outcomes.iter().filter(|(kind, _)| **kind != OutcomeKind::Success);
    for (kind, count) in kinds {
        if *kind == OutcomeKind::Status {
            let statuses = window.all.statuses.iter();
            rows.extend(statuses.map(|(status, count)| status_row((*status, *count))));
        } else {
            rows.push((kind.label().to_owned(), *count));
        }
    }
    rows
}

/// Only where something failed.
fn failures(window: &WindowResult) -> Option<TableData> {
    let rows = failure_rows(window);
    let share = |count: u64| percent(count as f64 / window.all.requests.max(1) as f64);
    (!rows.is_empty()).then(|| TableData {
        id: "failures",
        title: format!("failures ({})", window_name(window.window.kind)),
        note: String::new(),
        head: heads(["", "requests", "of all"]),
        rows: rows.into_iter().map(|(name, count)| vec![name, grouped(count), share(count)]).collect(),
    })
}

/// What became of the starts of each scenario. Only where there are several, or some were not made on time.
fn scenarios(window: &WindowResult) -> Option<TableData> {
    let all = starts(window);
    let is_told = window.by_scenario.len() > 1 || all.waited + all.dropped > 0;
    let row = |name: &str, starts: &StartCounts| {
        let counts = [starts.due, starts.started, starts.waited, starts.dropped, starts.completed];
        [name.to_owned()].into_iter().chain(counts.map(grouped)).collect()
    };
    is_told.then(|| TableData {
        id: "scenarios",
        title: format!("iterations ({})", window_name(window.window.kind)),
        note: String::new(),
        head: heads(["", "due", "started", "waited", "dropped", "completed"]),
        rows: window.by_scenario.iter().map(|scenario| row(&scenario.name, &scenario.starts)).collect(),
    })
}
