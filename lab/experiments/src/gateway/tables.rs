//! What the page and the tables of the experiment have in common: the tables themselves, on what they were measured, and their limits.

use prony_model::comparison::{Compared, Difference};
use prony_model::verdict::threshold::Metric;

use super::{
    layer_runs::{LayerRun, compare, processor_time},
    layers::Layer,
    outcome::GatewayOutcome,
    published,
    steps::UserStep,
    study::Query,
};
use crate::{
    display::count_of_processors,
    markdown::{Table, megabytes, milliseconds, thousands},
};

const NONE: &str = "-";

/// The runs of the layers, by operation.
pub(super) fn layers_of(outcome: &GatewayOutcome) -> Vec<(Query, Vec<LayerRun>)> {
    let of_query = |query: Query| {
        let runs: Vec<LayerRun> = outcome.layers.iter().filter(|run| run.query == query).cloned().collect();
        (!runs.is_empty()).then_some((query, runs))
    };
    Query::ALL.into_iter().filter_map(of_query).collect()
}

pub(super) fn setting(outcome: &GatewayOutcome) -> String {
    format!(
        "Prony {} as a gateway on {} in front of `prony example starwars`, {}; seed {}. Machine: {}.",
        outcome.head.prony_version,
        count_of_processors(outcome.assignment.server.len()),
        outcome.head.started_at,
        outcome.seed,
        outcome.head.machine_text(),
    )
}

fn time(ms: Option<f64>) -> String {
    ms.map_or(NONE.to_owned(), milliseconds)
}

pub(super) fn users_table(steps: &[UserStep]) -> Table {
    let header = [
        "Users",
        "Operation",
        "Errors",
        "Reqs/s",
        "Mean",
        "Std dev",
        "p90",
        "p95",
        "p99",
        "Min",
        "Max",
        "Gateway CPU a request",
        "Gateway memory",
    ];
    let mut table = Table::new(&header);
    for step in steps {
        table.push(vec![
            thousands(step.users.into()),
            step.query.label().to_owned(),
            format!("{:.1} %", step.error_share * 100.0),
            thousands(step.requests_per_second.round() as u64),
            time(step.mean_ms),
            time(step.deviation_ms),
            time(step.p90_ms),
            time(step.p95_ms),
            time(step.p99_ms),
            time(step.min_ms),
            time(step.max_ms),
            step.used.us_per_request.map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
            step.used.resident_bytes.map_or(NONE.to_owned(), megabytes),
        ]);
    }
    table
}

pub(super) fn published_table(steps: &[UserStep]) -> Table {
    let mut table = Table::new(&["Users", "Operation", "Prony", "Published"]);
    for step in steps {
        let ours = format!(
            "{} / {} / {}",
            thousands(step.requests_per_second.round() as u64),
            time(step.mean_ms),
            time(step.p95_ms)
        );
        let theirs = published::of(step.query, step.users).map_or(NONE.to_owned(), |cell| {
            let ms = |ms: u32| milliseconds(ms.into());
            format!("{} / {} / {}", thousands(cell.per_second.into()), ms(cell.mean_ms), ms(cell.p95_ms))
        });
        table.push(vec![thousands(step.users.into()), step.query.label().to_owned(), ours, theirs]);
    }
    table
}

pub(super) fn layers_table(query: Query, runs: &[LayerRun]) -> Table {
    let header =
        ["Gateway", "Reqs/s", "of the proxy", "range", "p50", "p99", "Gateway CPU a request", "more"];
    let mut table = Table::new(&header);
    let proxy_us = processor_time(runs, query, Layer::Proxy);
    for layer in Layer::EACH {
        let Some(comparison) = compare(runs, query, layer) else { continue };
        let figure = |metric| comparison.figure(metric);
        let is_proxy = layer == Layer::Proxy;
        let rate = figure(Metric::Rate);
        let ms = |metric| figure(metric).map_or(NONE.to_owned(), |figure| milliseconds(figure.b / 1e6));
        let us = processor_time(runs, query, layer);
        let more = us.zip(proxy_us).filter(|_| !is_proxy).map(|(us, proxy)| format!("{:+.1} µs", us - proxy));
        table.push(vec![
            layer.label().to_owned(),
            rate.map_or(NONE.to_owned(), |rate| thousands(rate.b.round() as u64)),
            rate.filter(|_| !is_proxy).map_or(NONE.to_owned(), |rate| format!("{:.2}", rate.change)),
            rate.filter(|_| !is_proxy).map_or(NONE.to_owned(), range),
            ms(Metric::Percentile(50.0)),
            ms(Metric::Percentile(99.0)),
            us.map_or(NONE.to_owned(), |us| format!("{us:.1} µs")),
            more.unwrap_or_else(|| NONE.to_owned()),
        ]);
    }
    table
}

fn range(figure: &Compared) -> String {
    let Some((low, high)) = figure.interval else { return "too few rounds".to_owned() };
    let shown = if figure.difference == Difference::NotShown { ", no difference shown" } else { "" };
    format!("{low:.2} to {high:.2}{shown}")
}

pub(super) fn notes(outcome: &GatewayOutcome) -> Vec<String> {
    let mut notes: Vec<String> = outcome.assignment.note().into_iter().collect();
    let limited: Vec<_> = outcome.steps.iter().filter(|step| step.used.outside_limit.is_some()).collect();
    if let Some(first) = limited.first()
        && let Some(limit) = &first.used.outside_limit
    {
        notes.push(format!(
            "{} of the {} steps by users show lower bounds, because the gateway was not the only limit, beginning with {}, {} users ({limit}).",
            limited.len(),
            outcome.steps.len(),
            first.query.label(),
            thousands(first.users.into()),
        ));
    }
    if outcome.layers.iter().any(|run| run.used.outside_limit.is_some()) {
        notes.push(
            "Where the lab or the backend was the limit, requests/s of the layers differ less than they would; processor time is the better \
             comparison then."
                .to_owned(),
        );
    }
    if outcome.stopped {
        notes.push("Ended early; what is missing was not measured.".to_owned());
    }
    notes
}
