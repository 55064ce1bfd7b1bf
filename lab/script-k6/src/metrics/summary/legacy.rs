//! The summary's older layout: what `textSummary` of the k6-summary library returns, from the summary's data.

use super::layout::{
    self, DETAILS_MARK, FAIL_MARK, FigureStyle, GROUP_MARK, MetricRow, Paint, RateStyle, SUCCESS_MARK, Table,
    sort_by_name,
};
use super::numbers::TimeUnit;
use super::{DEFAULT_TREND_STATS, row_of};
use serde_json::Value;

/// The second argument of `textSummary`.
#[derive(Debug, Clone)]
pub(crate) struct LegacyOptions {
    pub indent: String,
    pub enable_colors: bool,
    /// Where given, instead of the data's.
    pub time_unit: Option<TimeUnit>,
    /// Where given, instead of the data's.
    pub trend_stats: Option<Vec<String>>,
    /// Version 0.1.0 of the library counts `8 out of 12`, those before show marks.
    pub rates: RateStyle,
}

impl Default for LegacyOptions {
    fn default() -> Self {
        Self {
            indent: " ".to_owned(),
            enable_colors: true,
            time_unit: None,
            trend_stats: None,
            rates: RateStyle::OutOf,
        }
    }
}

impl LegacyOptions {
    /// Reads the options that a script passed; what is missing is as by default.
    pub(crate) fn from_json(options: &Value, rates: RateStyle) -> Self {
        let default = Self::default();
        Self {
            indent: options["indent"].as_str().map_or(default.indent, str::to_owned),
            enable_colors: options["enableColors"].as_bool().unwrap_or(default.enable_colors),
            time_unit: options["summaryTimeUnit"].as_str().and_then(TimeUnit::from_name),
            trend_stats: strings(&options["summaryTrendStats"]),
            rates,
        }
    }

    fn style(&self, data: &Value) -> FigureStyle {
        let of_data = &data["options"];
        let stats = self.trend_stats.clone().or_else(|| strings(&of_data["summaryTrendStats"]));
        let unit = of_data["summaryTimeUnit"].as_str().and_then(TimeUnit::from_name);
        FigureStyle {
            trend_stats: stats.unwrap_or_else(|| DEFAULT_TREND_STATS.map(str::to_owned).to_vec()),
            unit: self.time_unit.or(unit),
            rates: self.rates,
        }
    }
}

fn strings(list: &Value) -> Option<Vec<String>> {
    let texts = list.as_array()?.iter().filter_map(Value::as_str);
    Some(texts.map(str::to_owned).collect())
}

/// Checks by group, then all metrics by name. Whatever the data lacks is left out.
pub(crate) fn text_summary(data: &Value, options: &LegacyOptions) -> String {
    let paint = Paint { is_on: options.enable_colors, extra_code: "36;2" };
    let mut lines = Vec::new();
    group_lines(&data["root_group"], &format!("{}    ", options.indent), paint, &mut lines);
    metric_lines(data, options, paint, &mut lines);
    lines.join("\n")
}

fn group_lines(group: &Value, indent: &str, paint: Paint, lines: &mut Vec<String>) {
    let list = |name: &str| group[name].as_array().into_iter().flatten();
    let name = group["name"].as_str().unwrap_or_default();
    let mut inner = indent.to_owned();
    if !name.is_empty() {
        lines.push(format!("{indent}{GROUP_MARK} {name}\n"));
        inner += "  ";
    }
    lines.extend(list("checks").map(|check| check_line(check, &inner, paint)));
    if list("checks").next().is_some() {
        lines.push(String::new());
    }
    for group in list("groups") {
        group_lines(group, &inner, paint, lines);
    }
}

fn check_line(check: &Value, indent: &str, paint: Paint) -> String {
    let name = check["name"].as_str().unwrap_or_default();
    let count = |name: &str| check[name].as_u64().unwrap_or_default();
    let (passes, fails) = (count("passes"), count("fails"));
    if fails == 0 {
        return paint.green(&format!("{indent}{SUCCESS_MARK} {name}"));
    }
    let share = layout::share_passed(passes, fails);
    paint.red(&format!(
        "{indent}{FAIL_MARK} {name}\n{indent} {DETAILS_MARK}  {share}% — {SUCCESS_MARK} {passes} / {FAIL_MARK} {fails}"
    ))
}

fn metric_lines(data: &Value, options: &LegacyOptions, paint: Paint, lines: &mut Vec<String>) {
    let metrics = data["metrics"].as_object().into_iter().flatten();
    let rows: Vec<MetricRow> = metrics.filter_map(|(name, metric)| row_of(name, metric)).collect();
    let mut rows: Vec<&MetricRow> = rows.iter().collect();
    sort_by_name(&mut rows);
    let style = options.style(data);
    let table = Table::new(rows.iter().copied(), &style);
    for row in rows {
        let part_indent = if row.is_part() { "  " } else { "" };
        lines.push(format!(
            "{}  {part_indent}{} {}{} {}",
            options.indent,
            threshold_mark(row, paint),
            row.short_name(),
            paint.with("2", &table.dots(row)),
            table.line(row, &style, &paint),
        ));
    }
}

fn threshold_mark(row: &MetricRow, paint: Paint) -> String {
    if row.thresholds.is_empty() {
        " ".to_owned()
    } else if row.thresholds.iter().all(|threshold| threshold.ok) {
        paint.green(SUCCESS_MARK)
    } else {
        paint.red(FAIL_MARK)
    }
}
