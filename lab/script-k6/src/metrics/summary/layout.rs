//! What the layouts of the summary share: rows of metrics in columns, the order of names, colours.

use super::numbers::{TimeUnit, humanize, js_number};
use prony_metrics::{Contains, Kind};
use std::cmp::Ordering;
use std::fmt::Write as _;

pub(super) const SUCCESS_MARK: &str = "✓";
pub(super) const FAIL_MARK: &str = "✗";
pub(super) const GROUP_MARK: &str = "█";
pub(super) const DETAILS_MARK: &str = "↳";

/// ASCII signs in the order of the Unicode collation; digits and letters follow.
const SIGN_ORDER: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// A metric and its figures, whatever they were read from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MetricRow {
    pub name: String,
    pub kind: Kind,
    pub contains: Contains,
    /// In the order of the summary's data.
    pub values: Vec<(String, f64)>,
    pub thresholds: Vec<ThresholdRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThresholdRow {
    pub source: String,
    pub ok: bool,
    /// What stands before the operator, and the figure at the end of the run.
    pub method: String,
    pub value: Option<f64>,
}

impl MetricRow {
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    pub(super) fn is_part(&self) -> bool {
        self.name.contains('{')
    }

    /// The name, or the tags alone for a submetric.
    pub(super) fn short_name(&self) -> String {
        match self.name.split_once('{') {
            Some((_, tags)) => format!("{{ {} }}", tags.strip_suffix('}').unwrap_or(tags)),
            None => self.name.clone(),
        }
    }

    fn show(&self, value: Option<f64>, unit: Option<TimeUnit>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| humanize(value, self.kind, self.contains, unit))
    }
}

/// What stands behind the first figure of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RateStyle {
    /// `8 out of 12`
    #[default]
    OutOf,
    /// `✓ 8 ✗ 4`, as older versions of k6 had it.
    Marks,
}

/// How figures are shown.
#[derive(Debug, Clone, Default)]
pub(super) struct FigureStyle {
    pub trend_stats: Vec<String>,
    pub unit: Option<TimeUnit>,
    pub rates: RateStyle,
}

/// Figures of rows as text, in columns of equal width.
#[derive(Debug)]
pub(super) struct Table<'a> {
    stats: &'a [String],
    trend_widths: Vec<usize>,
    value_width: usize,
    extra_widths: Vec<usize>,
    /// The widest name, two more for submetrics.
    pub name_width: usize,
}

enum Figures {
    Trend(Vec<String>),
    Other { value: String, extras: Vec<String> },
}

impl<'a> Table<'a> {
    pub(super) fn new<'r>(rows: impl Iterator<Item = &'r MetricRow>, style: &'a FigureStyle) -> Self {
        let mut table = Self {
            stats: &style.trend_stats,
            trend_widths: vec![0; style.trend_stats.len()],
            value_width: 0,
            extra_widths: Vec::new(),
            name_width: 0,
        };
        for row in rows {
            table.name_width = table.name_width.max(name_width(row));
            match figures(row, style) {
                Figures::Trend(columns) => widen(&mut table.trend_widths, &columns),
                Figures::Other { value, extras } => {
                    table.value_width = table.value_width.max(width(&value));
                    widen(&mut table.extra_widths, &extras);
                }
            }
        }
        table
    }

    /// The figures of a row; `paint` colours the first and the further ones.
    pub(super) fn line(&self, row: &MetricRow, style: &FigureStyle, paint: &Paint) -> String {
        match figures(row, style) {
            Figures::Trend(columns) => self.trend_line(&columns, paint),
            Figures::Other { value, extras } => self.other_line(&value, &extras, paint),
        }
    }

    /// The dots between a name and its figures.
    pub(super) fn dots(&self, row: &MetricRow) -> String {
        format!("{}:", ".".repeat(self.name_width - name_width(row) + 3))
    }

    fn trend_line(&self, columns: &[String], paint: &Paint) -> String {
        let mut parts = Vec::new();
        for ((stat, text), size) in self.stats.iter().zip(columns).zip(&self.trend_widths) {
            parts.push(format!("{stat}={}{}", paint.figure(text), gap(*size, text)));
        }
        parts.join(" ")
    }

    fn other_line(&self, value: &str, extras: &[String], paint: &Paint) -> String {
        let mut line = format!("{}{}", paint.figure(value), gap(self.value_width, value));
        for (text, size) in extras.iter().zip(&self.extra_widths) {
            let gap = if extras.len() > 1 { gap(*size, text) } else { String::new() };
            write!(line, " {}{gap}", paint.extra(text)).expect("text can be appended to");
        }
        line
    }
}

fn figures(row: &MetricRow, style: &FigureStyle) -> Figures {
    let show = |name: &str| row.show(row.value(name), style.unit);
    let count = |name: &str| row.value(name).map_or_else(|| "-".to_owned(), js_number);
    let (value, extras) = match row.kind {
        Kind::Trend => {
            let text = |stat: &String| if stat == "count" { count(stat) } else { show(stat) };
            return Figures::Trend(style.trend_stats.iter().map(text).collect());
        }
        Kind::Counter => (show("count"), vec![format!("{}/s", show("rate"))]),
        Kind::Gauge => (show("value"), vec![format!("min={}", show("min")), format!("max={}", show("max"))]),
        Kind::Rate => (show("rate"), rate_extras(row, style.rates)),
    };
    Figures::Other { value, extras }
}

fn rate_extras(row: &MetricRow, style: RateStyle) -> Vec<String> {
    let of = |name: &str| row.value(name).unwrap_or_default();
    let (passes, fails) = (of("passes"), of("fails"));
    match style {
        RateStyle::OutOf => vec![format!("{} out of {}", js_number(passes), js_number(passes + fails))],
        RateStyle::Marks => {
            vec![format!("{SUCCESS_MARK} {}", js_number(passes)), format!("{FAIL_MARK} {}", js_number(fails))]
        }
    }
}

/// The figure that a threshold looked at.
pub(super) fn threshold_figure(row: &MetricRow, threshold: &ThresholdRow, unit: Option<TimeUnit>) -> String {
    let text = row.show(threshold.value, unit);
    let is_rate_of_counter = row.kind == Kind::Counter && threshold.method == "rate";
    if is_rate_of_counter { format!("{text}/s") } else { text }
}

fn name_width(row: &MetricRow) -> usize {
    width(&row.short_name()) + if row.is_part() { 2 } else { 0 }
}

fn widen(widths: &mut Vec<usize>, texts: &[String]) {
    widths.resize(widths.len().max(texts.len()), 0);
    for (size, text) in widths.iter_mut().zip(texts) {
        *size = (*size).max(width(text));
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn gap(size: usize, text: &str) -> String {
    " ".repeat(size - width(text))
}

/// How many of a hundred passed, cut; some have failed.
pub(super) fn share_passed(passes: u64, fails: u64) -> u128 {
    // A script may put any numbers into the data.
    100 * u128::from(passes) / (u128::from(passes) + u128::from(fails)).max(1)
}

/// Sorts rows by name, each submetric behind its metric.
pub(super) fn sort_by_name(rows: &mut [&MetricRow]) {
    rows.sort_by(|left, right| compare_names(&left.name, &right.name));
}

/// As `localeCompare` orders names: signs, digits, letters without case, and only then lower before upper case.
pub(super) fn compare_names(left: &str, right: &str) -> Ordering {
    let split = |name: &str| name.split_once('{').map_or((name.len(), 0), |(parent, _)| (parent.len(), 1)).0;
    let ((left, left_tags), (right, right_tags)) = (left.split_at(split(left)), right.split_at(split(right)));
    compare_texts(left, right).then_with(|| compare_texts(left_tags, right_tags))
}

fn compare_texts(left: &str, right: &str) -> Ordering {
    let primary = |text: &str| text.chars().map(rank_of).collect::<Vec<_>>();
    let case = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
    primary(left).cmp(&primary(right)).then_with(|| case(left).cmp(&case(right)))
}

fn rank_of(letter: char) -> (usize, char) {
    let lower = letter.to_lowercase().next().unwrap_or(letter);
    SIGN_ORDER.chars().position(|sign| sign == letter).map_or((SIGN_ORDER.len(), lower), |at| (at, lower))
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub is_on: bool,
    /// The codes of what follows the first figure: the layouts differ in their order.
    pub extra_code: &'static str,
}

impl Paint {
    pub(super) fn with(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    fn figure(self, text: &str) -> String {
        self.with("36", text)
    }

    fn extra(self, text: &str) -> String {
        self.with(self.extra_code, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_in_k6() {
        let expected = [
            "http_req_duration",
            "http_req_duration{ expected_response:true }",
            "http_req_duration{status:200}",
            "http_req_failed",
            "http_reqs",
            "http2",
            "httpx",
            "My_rate",
            "my_trend",
            "myTrend",
        ];
        let mut names = expected;
        names.reverse();
        names.sort_by(|left, right| compare_names(left, right));
        assert_eq!(names, expected);
        assert_eq!(compare_names("a", "A"), Ordering::Less);
    }
}
