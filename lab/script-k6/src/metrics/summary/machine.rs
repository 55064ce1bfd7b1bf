//! The summary for machines (`--new-machine-readable-summary`), in the form of k6 1.8: version 1.0.0 of its schema.

use super::compact::{self, Run};
use super::layout::MetricRow;
use super::{SummaryMode, number};
use prony_metrics::outputs::TimeFormat;
use prony_metrics::{Check, Kind};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the form.
const VERSION: &str = "1.0.0";
/// Whose form it is.
const K6_VERSION: &str = "1.8.1";

pub(super) fn to_json(run: &Run<'_>, mode: SummaryMode, script: &str, now: SystemTime) -> Value {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut generated_at = Vec::new();
    TimeFormat::Rfc3339Nano.write(since.as_nanos(), &mut generated_at);
    let shown = run.rows.iter().filter(|row| compact::is_listed(row, mode == SummaryMode::Full));
    json!({
        "version": VERSION,
        "metadata": {"generated_at": String::from_utf8_lossy(&generated_at), "k6_version": K6_VERSION},
        "config": {"duration": run.duration.as_secs_f64(), "execution": "local", "script": script},
        "results": {
            "checks": checks(run),
            "metrics": shown.map(metric).collect::<Vec<_>>(),
        },
    })
}

/// How many there were, the shares that failed and passed, and each by its name.
fn checks(run: &Run<'_>) -> Value {
    let Some(row) = run.rows.iter().find(|row| row.name == "checks") else {
        return json!({"metrics": [], "results": []});
    };
    let [total, succeeded, failed] = compact::check_rows(row, run.duration);
    let result = |check: &Check| json!({"name": &*check.name, "passes": check.passes, "fails": check.fails});
    json!({
        "metrics": [metric(&total), metric(&failed), metric(&succeeded)],
        "results": run.checks.iter().map(result).collect::<Vec<_>>(),
    })
}

fn metric(row: &MetricRow) -> Value {
    let of = |name: &str| row.value(name).map_or(Value::Null, number);
    let values = match row.kind {
        Kind::Counter => json!({"count": of("count")}),
        Kind::Gauge => json!({"value": of("value"), "min": of("min"), "max": of("max")}),
        Kind::Rate => {
            let matches = row.value("passes").unwrap_or_default();
            let total = matches + row.value("fails").unwrap_or_default();
            json!({"rate": of("rate"), "matches": number(matches), "total": number(total)})
        }
        Kind::Trend => json!({
            "avg": of("avg"),
            "max": of("max"),
            "med": of("med"),
            "min": of("min"),
            "p90": of("p(90)"),
            "p95": of("p(95)"),
        }),
    };
    json!({"name": row.name, "type": row.kind.as_str(), "contains": row.contains.as_str(), "values": values})
}
