//! The summary's layout since k6 1.0: thresholds, then checks and metrics by section.

use super::layout::{
    DETAILS_MARK, FAIL_MARK, FigureStyle, GROUP_MARK, MetricRow, Paint, SUCCESS_MARK, Table, share_passed,
    sort_by_name, threshold_figure,
};
use prony_metrics::{Check, Contains, Kind, per_second};
use prony_model::units::Nanos;
use std::fmt::Write as _;

/// Each level is two spaces.
const TITLE_LEVEL: usize = 1;
const BODY_LEVEL: usize = 2;

/// Sections and the beginnings of the names in them, in the order in which they are shown; the others are custom.
const SECTIONS: [(&str, &[&str]); 7] = [
    ("HTTP", &HTTP),
    ("EXECUTION", &["vus", "iterations", "iteration_duration", "dropped_iterations"]),
    ("NETWORK", &["data_sent", "data_received"]),
    ("BROWSER", &["browser_"]),
    ("WEB_VITALS", &["browser_web_vital_"]),
    ("GRPC", &["grpc_"]),
    ("WEBSOCKET", &["ws_"]),
];
const HTTP: [&str; 9] = [
    "http_reqs",
    "http_req_failed",
    "http_req_duration",
    "http_req_blocked",
    "http_req_connecting",
    "http_req_receiving",
    "http_req_sending",
    "http_req_tls_handshaking",
    "http_req_waiting",
];
const CUSTOM: &str = "CUSTOM";
/// Shown as checks, or by the groups themselves.
const NOT_LISTED: [&str; 2] = ["checks", "group_duration"];
/// Shown in the full summary only.
const PHASES: &[&str] = HTTP.split_at(3).1;

/// What is shown.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub rows: &'a [MetricRow],
    /// One for each name.
    pub checks: &'a [Check],
    pub duration: Nanos,
}

/// The text, beginning with a line end. `has_all`: also the phases of requests.
pub(super) fn text(run: &Run<'_>, style: &FigureStyle, has_all: bool, with_colors: bool) -> String {
    let mut page =
        SummaryPage { text: String::new(), style, paint: Paint { is_on: with_colors, extra_code: "2;36" } };
    let watched: Vec<&MetricRow> = run.rows.iter().filter(|row| !row.thresholds.is_empty()).collect();
    if !watched.is_empty() {
        page.title("THRESHOLDS");
        page.thresholds(watched);
        page.gap();
    }
    page.title("TOTAL RESULTS");
    page.checks(run);
    page.metrics(run, has_all);
    page.gap();
    page.text
}

struct SummaryPage<'a> {
    text: String,
    style: &'a FigureStyle,
    paint: Paint,
}

impl SummaryPage<'_> {
    fn line(&mut self, level: usize, text: &str) {
        let indent = "  ".repeat(level);
        write!(self.text, "\n{indent}{text}").expect("text can be appended to");
    }

    fn gap(&mut self) {
        self.text.push('\n');
    }

    fn title(&mut self, title: &str) {
        let title = self.paint.with("1", title);
        self.line(TITLE_LEVEL, &format!("{GROUP_MARK} {title} \n"));
    }

    fn thresholds(&mut self, mut rows: Vec<&MetricRow>) {
        sort_by_name(&mut rows);
        for row in &rows {
            let parent = row.name.split('{').next().unwrap_or_default();
            let is_below_parent = row.is_part() && rows.iter().any(|other| other.name == parent);
            let (level, name) = if is_below_parent {
                (BODY_LEVEL + 1, &row.name[parent.len()..])
            } else {
                (BODY_LEVEL, &*row.name)
            };
            self.line(level, name);
            for threshold in &row.thresholds {
                let paint = self.paint;
                let mark = if threshold.ok { paint.green(SUCCESS_MARK) } else { paint.red(FAIL_MARK) };
                let source = paint.with("37", &format!("'{}'", threshold.source.trim()));
                let method = paint.with("37", &threshold.method);
                let figure = paint.with("36", &threshold_figure(row, threshold, self.style.unit));
                self.line(level, &format!("{mark} {source} {method}={figure}"));
            }
            self.gap();
        }
    }

    fn checks(&mut self, run: &Run<'_>) {
        let Some(checks) = run.rows.iter().find(|row| row.name == "checks") else { return };
        let rows = check_rows(checks, run.duration);
        let rows: Vec<&MetricRow> = rows.iter().collect();
        self.rows(&rows, &Table::new(rows.iter().copied(), self.style));
        self.gap();
        for Check { name, passes, fails, .. } in run.checks {
            if *fails == 0 {
                self.line(BODY_LEVEL, &self.paint.green(&format!("{SUCCESS_MARK} {name}")));
                continue;
            }
            let share = share_passed(*passes, *fails);
            let counts = format!("{DETAILS_MARK}  {share}% — {SUCCESS_MARK} {passes} / {FAIL_MARK} {fails}");
            self.line(BODY_LEVEL, &self.paint.red(&format!("{FAIL_MARK} {name}")));
            self.line(BODY_LEVEL + 1, &self.paint.red(&counts));
        }
        self.gap();
    }

    fn metrics(&mut self, run: &Run<'_>, has_all: bool) {
        let shown: Vec<&MetricRow> = run.rows.iter().filter(|row| is_listed(row, has_all)).collect();
        let table = Table::new(shown.iter().copied(), self.style);
        for section in [CUSTOM].into_iter().chain(SECTIONS.map(|(section, _)| section)) {
            let mut rows: Vec<&MetricRow> =
                shown.iter().copied().filter(|row| section_of(&row.name) == section).collect();
            if rows.is_empty() {
                continue;
            }
            sort_by_name(&mut rows);
            self.line(BODY_LEVEL, &self.paint.with("1", section));
            self.rows(&rows, &table);
            self.gap();
        }
    }

    fn rows(&mut self, rows: &[&MetricRow], table: &Table<'_>) {
        for row in rows {
            let part_indent = if row.is_part() { "  " } else { "" };
            let dots = self.paint.with("2;37", &table.dots(row));
            let figures = table.line(row, self.style, &self.paint);
            self.line(BODY_LEVEL, &format!("{part_indent}{}{dots} {figures}", row.short_name()));
        }
    }
}

/// Whether a metric is listed among the results. `has_all`: also the phases of requests.
pub(super) fn is_listed(row: &MetricRow, has_all: bool) -> bool {
    let is_one_of = |names: &[&str]| names.iter().any(|name| row.name.starts_with(name));
    !is_one_of(&NOT_LISTED) && (has_all || !is_one_of(PHASES))
}

/// The last section that names it: web vitals are browser metrics too.
fn section_of(name: &str) -> &'static str {
    let has_it = |(_, starts): &&(&str, &[&str])| starts.iter().any(|start| name.starts_with(start));
    SECTIONS.iter().rev().find(has_it).map_or(CUSTOM, |(section, _)| section)
}

/// How many checks there were, and the shares that passed and failed.
pub(super) fn check_rows(checks: &MetricRow, duration: Nanos) -> [MetricRow; 3] {
    let of = |name: &str| checks.value(name).unwrap_or_default();
    let (passes, fails) = (of("passes"), of("fails"));
    let total = passes + fails;
    let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
    let row = |name: &str, kind, values: &[(&str, f64)]| MetricRow {
        name: name.to_owned(),
        kind,
        contains: Contains::Default,
        values: values.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        thresholds: Vec::new(),
    };
    let rate = |part: f64, rest: f64| [("rate", share(part)), ("passes", part), ("fails", rest)];
    [
        row("checks_total", Kind::Counter, &[("count", total), ("rate", per_second(total, duration))]),
        row("checks_succeeded", Kind::Rate, &rate(passes, fails)),
        row("checks_failed", Kind::Rate, &rate(fails, passes)),
    ]
}
