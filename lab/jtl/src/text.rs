//! The figures as text for a terminal.

use crate::statistics::{Figures, Statistics};
use std::fmt::Write as _;

/// The columns of the table of JMeter's dashboard.
pub const DASHBOARD_COLUMNS: [&str; 14] = [
    "Label",
    "# Samples",
    "KO",
    "Error %",
    "Average",
    "Min",
    "Max",
    "Median",
    "90th",
    "95th",
    "99th",
    "Samples/s",
    "KB/s in",
    "KB/s out",
];
/// Labels are cut after so many letters.
const LABEL_WIDTH: usize = 32;
/// Of each column that stands behind the label.
const WIDTHS: [usize; DASHBOARD_COLUMNS.len() - 1] = [9, 7, 8, 8, 7, 7, 8, 8, 8, 8, 10, 9, 9];
/// Errors that a terminal shows.
const ERRORS_SHOWN: usize = 10;

impl Statistics {
    /// The table of JMeter's dashboard.
    pub fn table(&self) -> String {
        let head = DASHBOARD_COLUMNS.map(str::to_owned);
        let rows = self.figures().into_iter().map(|figures| figures.cells());
        std::iter::once(head).chain(rows).map(|cells| line(&cells)).collect()
    }

    /// APDEX of each label, with its thresholds.
    pub fn apdex_table(&self) -> String {
        let mut text = format!("{:LABEL_WIDTH$} {:>6} {:>9} {:>9}\n", "APDEX", "", "T", "F");
        for apdex in self.apdex() {
            let _ = writeln!(
                text,
                "{:LABEL_WIDTH$} {:>6.3} {:>6} ms {:>6} ms",
                cut(&apdex.label),
                apdex.apdex,
                apdex.satisfied_ms,
                apdex.tolerated_ms
            );
        }
        text
    }

    /// Errors, and the most frequent of each label; empty where nothing failed.
    pub fn error_table(&self) -> String {
        let errors = self.errors();
        if errors.is_empty() {
            return String::new();
        }
        let mut text = format!("{:>8} {:>12} {:>13}  Error\n", "Count", "% of errors", "% of samples");
        for error in errors.iter().take(ERRORS_SHOWN) {
            let _ = writeln!(
                text,
                "{:>8} {:>11.2}% {:>12.2}%  {}",
                error.count,
                error.percent_of_errors,
                error.percent_of_samples,
                one_line(&error.error)
            );
        }
        if errors.len() > ERRORS_SHOWN {
            let _ = writeln!(text, "and {} kinds more", errors.len() - ERRORS_SHOWN);
        }
        text.push_str("\nTop 5 errors by label\n");
        for (label, errors) in self.top_errors() {
            let _ = writeln!(text, "  {}", one_line(&label));
            for error in errors {
                let _ = writeln!(text, "{:>8}  {}", error.count, one_line(&error.error));
            }
        }
        text
    }
}

impl Figures {
    /// One row of the table, in the order of [`DASHBOARD_COLUMNS`]; the label is on one line.
    pub fn cells(&self) -> [String; DASHBOARD_COLUMNS.len()] {
        [
            one_line(&self.transaction),
            self.sample_count.to_string(),
            self.error_count.to_string(),
            format!("{:.2}%", self.error_pct),
            format!("{:.2}", self.mean_res_time),
            self.min_res_time.to_string(),
            self.max_res_time.to_string(),
            format!("{:.2}", self.median_res_time),
            format!("{:.2}", self.pct1_res_time),
            format!("{:.2}", self.pct2_res_time),
            format!("{:.2}", self.pct3_res_time),
            format!("{:.2}", self.throughput),
            format!("{:.2}", self.received_k_bytes_per_sec),
            format!("{:.2}", self.sent_k_bytes_per_sec),
        ]
    }
}

/// Of the table, with its line break.
fn line(cells: &[String; DASHBOARD_COLUMNS.len()]) -> String {
    let mut line = format!("{:LABEL_WIDTH$}", cut(&cells[0]));
    for (cell, width) in cells[1..].iter().zip(WIDTHS) {
        let _ = write!(line, " {cell:>width$}");
    }
    line.push('\n');
    line
}

fn cut(label: &str) -> String {
    let label = one_line(label);
    if label.chars().count() <= LABEL_WIDTH {
        return label;
    }
    label.chars().take(LABEL_WIDTH - 1).chain(['…']).collect()
}

fn one_line(text: &str) -> String {
    let letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    letters.take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn what_a_file_calls_samples_cannot_command_a_terminal() {
        let mut statistics = Statistics::default();
        statistics.add(&Sample {
            label: "a\n\u{1b}[2Jb".into(),
            response_code: "5\t0".into(),
            ..Sample::default()
        });
        let text = statistics.error_table() + &statistics.apdex_table();
        assert!(text.contains("\n  a  [2Jb\n") && text.contains("  5 0"), "{text}");
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
    }
}
