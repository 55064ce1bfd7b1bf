//! The figures of a run at its end: as `handleSummary` sees them, as `--summary-export` writes them, and as text.

mod compact;
mod export;
mod layout;
mod legacy;
mod machine;
pub(crate) mod numbers;

pub use export::pretty;
pub(crate) use layout::RateStyle;
pub(crate) use legacy::{LegacyOptions, text_summary};
pub(crate) use numbers::TimeUnit;

use layout::{FigureStyle, MetricRow, ThresholdRow};
use prony_metrics::thresholds::MetricThresholds;
use prony_metrics::{Contains, ERROR_MAX, EXACT_SAMPLES_MAX, Engine, Group, Kind, Sink, Statistic, Totals};
use prony_model::units::Nanos;
use serde_json::{Map, Number, Value, json};
use std::time::SystemTime;

/// k6's default for option `summaryTrendStats`.
pub(crate) const DEFAULT_TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];

/// Which text is written at the end (`--summary-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummaryMode {
    #[default]
    Compact,
    /// With the phases of requests.
    Full,
    Legacy,
    Disabled,
}

impl SummaryMode {
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "" | "compact" => Some(Self::Compact),
            "full" => Some(Self::Full),
            "legacy" => Some(Self::Legacy),
            "disabled" => Some(Self::Disabled),
            _ => None,
        }
    }
}

/// What the summary needs to know beside the samples.
#[derive(Debug, Clone, Default)]
pub struct SummaryOptions {
    pub duration: Nanos,
    /// Names of statistics that a trend has, or `count`.
    pub trend_stats: Vec<String>,
    pub time_unit: Option<TimeUnit>,
    pub no_color: bool,
    pub is_stdout_tty: bool,
    pub is_stderr_tty: bool,
    /// What `setup` returned.
    pub setup_data: Option<Value>,
}

/// The figures of a run.
#[derive(Debug, Clone)]
pub struct Summary {
    options: SummaryOptions,
    /// Metrics with samples or thresholds, by name.
    rows: Vec<MetricRow>,
    root: Group,
    /// Trends with more samples than are kept one by one.
    approximate: Vec<String>,
}

impl Summary {
    /// The figures of the engine's run; before [`Engine::finish`] those of now.
    pub fn of(engine: &Engine, options: SummaryOptions) -> Self {
        engine.read(|totals| Self::new(options, totals))
    }

    fn new(options: SummaryOptions, totals: Totals<'_>) -> Self {
        let Totals { definitions, sinks, thresholds, root } = totals;
        let is_watched = |index: usize| thresholds.by_metric.iter().any(|of| of.metric.index() == index);
        let (mut rows, mut approximate) = (Vec::new(), Vec::new());
        for (index, (definition, sink)) in definitions.iter().zip(sinks).enumerate() {
            let is_parent_of_watched = definition.submetrics.iter().any(|part| is_watched(part.index()));
            if sink.is_empty() && !is_watched(index) && !is_parent_of_watched {
                continue;
            }
            if matches!(sink, Sink::Trend(trend) if trend.is_approximate()) {
                approximate.push(definition.name.to_string());
            }
            let of = thresholds.by_metric.iter().filter(|of| of.metric.index() == index);
            let thresholds = of.flat_map(|of| threshold_rows(of, sink, options.duration)).collect();
            let values = values_of(sink, &options);
            let (name, kind, contains) = (definition.name.to_string(), definition.kind, definition.contains);
            rows.push(MetricRow { name, kind, contains, values, thresholds });
        }
        rows.sort_by(|left, right| layout::compare_names(&left.name, &right.name));
        Self { options, rows, root, approximate }
    }

    /// The argument of `handleSummary`.
    pub fn data(&self) -> Value {
        let metrics: Map<String, Value> =
            self.rows.iter().map(|row| (row.name.clone(), metric_data(row))).collect();
        let mut data = json!({
            "root_group": self.root.to_json(),
            "options": {
                "summaryTrendStats": self.options.trend_stats,
                "summaryTimeUnit": self.options.time_unit.map_or("", TimeUnit::name),
                "noColor": self.options.no_color,
            },
            "state": {
                "isStdOutTTY": self.options.is_stdout_tty,
                "isStdErrTTY": self.options.is_stderr_tty,
                "testRunDurationMs": number(self.options.duration.as_millis_f64()),
            },
            "metrics": metrics,
        });
        if let Some(setup_data) = &self.options.setup_data {
            data["setup_data"] = setup_data.clone();
        }
        data
    }

    /// The summary for machines: what `handleSummary` and `--summary-export` get in the place of [`Self::data`]. `script` is the
    /// script's text.
    pub fn machine_readable(&self, mode: SummaryMode, script: &str, now: SystemTime) -> Value {
        let checks = self.root.checks_by_name();
        let run = compact::Run { rows: &self.rows, checks: &checks, duration: self.options.duration };
        machine::to_json(&run, mode, script, now)
    }

    /// What `--summary-export` writes.
    pub fn export(&self) -> String {
        export::to_text(&self.data())
    }

    /// The text for the end of the run, with line ends around it; nothing where the mode is disabled.
    pub fn text(&self, mode: SummaryMode, with_colors: bool) -> String {
        let body = match mode {
            SummaryMode::Disabled => return String::new(),
            SummaryMode::Compact | SummaryMode::Full => self.compact(mode, with_colors),
            SummaryMode::Legacy => text_summary(
                &self.data(),
                &LegacyOptions { enable_colors: with_colors, ..LegacyOptions::default() },
            ),
        };
        format!("\n{body}\n\n{}", self.precision())
    }

    /// Says how exact percentiles are where they are not.
    fn precision(&self) -> String {
        if self.approximate.is_empty() {
            return String::new();
        }
        format!(
            "  Percentiles of {} are within {:.3} %: they have more than {EXACT_SAMPLES_MAX} samples.\n\n",
            self.approximate.join(", "),
            ERROR_MAX * 100.0,
        )
    }

    fn compact(&self, mode: SummaryMode, with_colors: bool) -> String {
        let style = FigureStyle {
            trend_stats: self.options.trend_stats.clone(),
            unit: self.options.time_unit,
            ..FigureStyle::default()
        };
        let checks = self.root.checks_by_name();
        let has_all = mode == SummaryMode::Full;
        let run = compact::Run { rows: &self.rows, checks: &checks, duration: self.options.duration };
        compact::text(&run, &style, has_all, with_colors)
    }
}

fn threshold_rows(of: &MetricThresholds, sink: &mut Sink, duration: Nanos) -> Vec<ThresholdRow> {
    let rows = of.conditions.iter().zip(&of.holds).map(|(condition, &ok)| ThresholdRow {
        source: condition.source.clone(),
        ok,
        method: condition.method().to_owned(),
        value: sink.figure(condition.statistic, duration),
    });
    rows.collect()
}

fn values_of(sink: &mut Sink, options: &SummaryOptions) -> Vec<(String, f64)> {
    let figures: Vec<(String, Option<f64>)> = match sink {
        Sink::Rate { passes, total } => {
            let (passes, total) = (*passes as f64, *total as f64);
            let rate = if total > 0.0 { passes / total } else { 0.0 };
            let values = [("rate", rate), ("passes", passes), ("fails", total - passes)];
            return values.map(|(name, value)| (name.to_owned(), value)).to_vec();
        }
        Sink::Counter { .. } => figures_of(sink, &["count", "rate"], options.duration),
        Sink::Gauge(_) => figures_of(sink, &["value", "min", "max"], options.duration),
        Sink::Trend(_) => {
            let stats: Vec<&str> = options.trend_stats.iter().map(String::as_str).collect();
            figures_of(sink, &stats, options.duration)
        }
    };
    figures.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn figures_of(sink: &mut Sink, names: &[&str], duration: Nanos) -> Vec<(String, Option<f64>)> {
    let mut figure = |name: &str| sink.figure(Statistic::parse(name)?, duration);
    names.iter().map(|&name| (name.to_owned(), figure(name))).collect()
}

fn metric_data(row: &MetricRow) -> Value {
    let values: Map<String, Value> =
        row.values.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
    let mut data = json!({"type": row.kind.as_str(), "contains": row.contains.as_str(), "values": values});
    if !row.thresholds.is_empty() {
        let thresholds = row.thresholds.iter().map(|of| (of.source.clone(), json!({"ok": of.ok})));
        data["thresholds"] = thresholds.collect::<Map<String, Value>>().into();
    }
    data
}

/// Whole numbers without a fraction, as JavaScript writes them; what is no JSON number becomes null.
fn number(value: f64) -> Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        return Value::Number(Number::from(value as i64));
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A row as the data has it, which a script may have changed.
fn row_of(name: &str, metric: &Value) -> Option<MetricRow> {
    let kind = match metric["type"].as_str()? {
        "counter" => Kind::Counter,
        "gauge" => Kind::Gauge,
        "rate" => Kind::Rate,
        "trend" => Kind::Trend,
        _ => return None,
    };
    let contains = match metric["contains"].as_str() {
        Some("time") => Contains::Time,
        Some("data") => Contains::Data,
        _ => Contains::Default,
    };
    let values = metric["values"].as_object().into_iter().flatten();
    let values = values.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect();
    let thresholds = metric["thresholds"].as_object().into_iter().flatten();
    let thresholds = thresholds.map(|(source, verdict)| ThresholdRow {
        source: source.clone(),
        ok: verdict["ok"].as_bool().unwrap_or(false),
        method: String::new(),
        value: None,
    });
    Some(MetricRow { name: name.to_owned(), kind, contains, values, thresholds: thresholds.collect() })
}

#[cfg(test)]
mod tests;
