//! JMeter's samples as the page shows them: the tables of its dashboard, its graphs over time, and how long samples took.

use super::data::{LineData, PageData, PlotData, SamplesData, TableData, Unit};
use super::{PageForm, digits, distribution, shown};
use crate::table::{bytes, grouped};
use prony_jtl::{ErrorCount, Figures, Graphs, Line, Statistics, Timeline};
use prony_model::Nanos;
use prony_model::units::percent;

/// Labels, codes and groups that have lines; more could not be told apart. The tables have all.
const LINES_MAX: usize = 8;
/// Beside all together.
const SPECTRA_MAX: usize = 7;
/// Errors of all kinds that a table has.
const ERRORS_MAX: usize = 200;
/// Samples for each label, its APDEX and its errors: tables of more rows nobody reads.
const ROWS_MAX: usize = 1_000;

/// All that was counted of files of samples.
#[derive(Debug)]
pub struct SampleCounts<'a> {
    /// Of the files, as people write them.
    pub names: Vec<String>,
    /// What must be known before any figure, in sentences.
    pub notices: Vec<String>,
    pub statistics: &'a Statistics,
    pub timeline: &'a Timeline,
}

/// One page for all files, which are the parts of one run.
pub fn samples_html(counts: &SampleCounts<'_>, form: PageForm<'_>) -> String {
    let data = PageData {
        title: counts.names.join(", "),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        samples: Some(samples_data(counts)),
        ..PageData::default()
    };
    shown(&data, form)
}

fn samples_data(counts: &SampleCounts<'_>) -> SamplesData {
    let statistics = counts.statistics;
    let graphs = counts.timeline.graphs(LINES_MAX);
    let (first_ms, last_ms) = statistics.span_ms();
    let took = Nanos::from_millis(u64::try_from(last_ms.saturating_sub(first_ms)).unwrap_or_default());
    let times = statistics.times(SPECTRA_MAX);
    let (samples, failed) = (grouped(statistics.samples()), grouped(statistics.failures()));
    SamplesData {
        summary: format!("{samples} samples, {failed} failed, in {took}"),
        started_at_unix_ms: u64::try_from(first_ms).unwrap_or_default(),
        notices: counts.notices.clone(),
        tables: tables(statistics),
        plots: plots(&graphs),
        spectra: times
            .iter()
            .filter_map(|(name, times)| distribution::spectrum_of_all(name, times))
            .collect(),
        histograms: distribution::histogram(
            "response times, failed samples among them",
            "response",
            times[0].1,
        )
        .into_iter()
        .collect(),
    }
}

fn tables(statistics: &Statistics) -> Vec<TableData> {
    let mut tables = vec![apdex(statistics), overview(statistics), figures(statistics)];
    let errors = statistics.errors();
    if !errors.is_empty() {
        tables.extend([error_table(&errors), top_errors(statistics)]);
    }
    tables
}

fn table(id: &'static str, title: &str, head: &[&str], rows: Vec<Vec<String>>) -> TableData {
    let note = if rows.len() > ROWS_MAX {
        format!("the first {} of {}", grouped(ROWS_MAX as u64), grouped(rows.len() as u64))
    } else {
        String::new()
    };
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    TableData { id, title: title.to_owned(), note, head, rows: rows.into_iter().take(ROWS_MAX).collect() }
}

fn apdex(statistics: &Statistics) -> TableData {
    let time = |ms| Nanos::from_millis(ms).to_string();
    let rows = statistics.apdex().into_iter().map(|apdex| {
        let score = format!("{:.3}", apdex.apdex);
        vec![apdex.label, score, time(apdex.satisfied_ms), time(apdex.tolerated_ms)]
    });
    let head = ["label", "APDEX", "satisfied up to (T)", "tolerated up to (F)"];
    table("apdex", "APDEX", &head, rows.collect())
}

fn overview(statistics: &Statistics) -> TableData {
    let all = statistics.samples();
    let share = |count: u64| percent(if all == 0 { 0.0 } else { count as f64 / all as f64 });
    let names = ["satisfied", "tolerated", "too slow", "failed"];
    let rows = names.into_iter().zip(statistics.overview());
    let rows = rows.map(|(name, count)| vec![name.to_owned(), grouped(count), share(count)]);
    table("overview", "How long and how well", &["", "samples", "of all"], rows.collect())
}

fn figures(statistics: &Statistics) -> TableData {
    let head = [
        "label", "samples", "failed", "errors", "mean", "min", "max", "median", "p90", "p95", "p99",
        "a second", "received", "sent",
    ];
    table("statistics", "Statistics", &head, statistics.figures().into_iter().map(row).collect())
}

fn row(figures: Figures) -> Vec<String> {
    let time = |ms: f64| Nanos((ms * 1e6) as u64).to_string();
    let data = |kilobytes: f64| format!("{}/s", bytes((kilobytes * 1_024.0) as u64));
    vec![
        figures.transaction,
        grouped(figures.sample_count),
        grouped(figures.error_count),
        percent(figures.error_pct / 100.0),
        time(figures.mean_res_time),
        time(figures.min_res_time),
        time(figures.max_res_time),
        time(figures.median_res_time),
        time(figures.pct1_res_time),
        time(figures.pct2_res_time),
        time(figures.pct3_res_time),
        crate::table::decimal(figures.throughput),
        data(figures.received_k_bytes_per_sec),
        data(figures.sent_k_bytes_per_sec),
    ]
}

fn error_table(errors: &[ErrorCount]) -> TableData {
    let rows = errors.iter().take(ERRORS_MAX).map(|error| {
        vec![
            error.error.clone(),
            grouped(error.count),
            percent(error.percent_of_errors / 100.0),
            percent(error.percent_of_samples / 100.0),
        ]
    });
    table("errors", "Errors by kind", &["error", "samples", "of errors", "of all samples"], rows.collect())
}

fn top_errors(statistics: &Statistics) -> TableData {
    let rows = statistics.top_errors().into_iter().flat_map(|(label, errors)| {
        let row = move |error: ErrorCount| {
            vec![label.clone(), error.error, grouped(error.count), percent(error.percent_of_errors / 100.0)]
        };
        errors.into_iter().map(row)
    });
    let head = ["label", "error", "samples", "of its errors"];
    table("top-errors", "The 5 most frequent errors of each label", &head, rows.collect())
}

/// The graphs of JMeter's dashboard that lie over time; none where no interval is whole.
fn plots(graphs: &Graphs) -> Vec<PlotData> {
    if graphs.ends_s.is_empty() {
        return Vec::new();
    }
    let (ms, per_second) = (Unit::Milliseconds, Unit::PerSecond);
    let many = |id, title, unit, lines: &[Line]| plot(graphs, id, title, unit, colored(lines, unit));
    let codes = many("codes", "Responses by code", per_second, &graphs.codes);
    let named = |role: &[&'static str], lines: &[Line], unit| {
        let lines = lines.iter().zip(role.iter().copied()).map(|(line, role)| drawn(line, role, unit));
        lines.collect::<Vec<_>>()
    };
    let percentiles = named(&["p50", "p90", "p95", "p99", "max"], &graphs.percentiles_ms, ms);
    let totals = [
        named(&["started"], std::slice::from_ref(&graphs.hits), per_second),
        named(&["success", "failure"], &graphs.totals, per_second),
    ]
    .concat();
    let plots = [
        plot(graphs, "totals", "Samples: begun (hits), successes, failures", per_second, totals),
        plot(graphs, "percentiles", "Response time by percentile, successes", ms, percentiles),
        many("elapsed", "Response time, mean by label", ms, &graphs.elapsed_ms),
        many("by-label", "Samples by label", per_second, &graphs.by_label),
        codes,
        many("threads", "Active threads, mean by group", Unit::Count, &graphs.threads),
        many("bytes", "Bytes", Unit::BytesPerSecond, &graphs.bytes),
        many("latency", "Latency to the first byte, mean by label", ms, &graphs.latency_ms),
        many("connect", "Time to connect, mean by label", ms, &graphs.connect_ms),
    ];
    let is_known = |plot: &PlotData| {
        let mut values = plot.lines.iter().flat_map(|line| &line.values).flatten();
        values.any(|value| *value > 0.0)
    };
    plots.into_iter().filter(is_known).collect()
}

fn plot(graphs: &Graphs, id: &str, title: &str, unit: Unit, lines: Vec<LineData>) -> PlotData {
    PlotData {
        id: id.to_owned(),
        title: title.to_owned(),
        unit,
        note: note(graphs),
        may_be_log: unit == Unit::Milliseconds,
        axis: (unit == Unit::Count).then_some("threads"),
        times: graphs.ends_s.clone(),
        lines,
    }
}

fn note(graphs: &Graphs) -> String {
    let each = match graphs.interval_s {
        1 => "each second".to_owned(),
        seconds => format!("each {seconds} s"),
    };
    match graphs.left_out {
        0 => each,
        1 => format!("{each}; 1 sample ended in no whole interval, and is not drawn"),
        count => format!("{each}; {} samples ended in no whole interval, and are not drawn", grouped(count)),
    }
}

fn colored(lines: &[Line], unit: Unit) -> Vec<LineData> {
    lines.iter().map(|line| drawn(line, "sample", unit)).collect()
}

fn drawn(line: &Line, role: &'static str, unit: Unit) -> LineData {
    let values = line.values.iter().map(|value| value.map(|value| digits(value, 5))).collect();
    LineData { name: line.name.clone(), role, unit, values }
}
