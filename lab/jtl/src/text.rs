//! The figures as text for a terminal.

use crate::statistics::Statistics;
use std::fmt::Write as _;

/// Labels are cut after so many letters.
const LABEL_WIDTH: usize = 32;
/// Errors that a terminal shows.
const ERRORS_SHOWN: usize = 10;

impl Statistics {
    /// The table of JMeter's dashboard.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:LABEL_WIDTH$} {:>9} {:>7} {:>8} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>10} {:>9} {:>9}\n",
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
            "KB/s out"
        );
        for figures in self.figures() {
            let _ = writeln!(
                text,
                "{:LABEL_WIDTH$} {:>9} {:>7} {:>7.2}% {:>8.2} {:>7} {:>7} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>10.2} {:>9.2} {:>9.2}",
                cut(&figures.transaction),
                figures.sample_count,
                figures.error_count,
                figures.error_pct,
                figures.mean_res_time,
                figures.min_res_time,
                figures.max_res_time,
                figures.median_res_time,
                figures.pct1_res_time,
                figures.pct2_res_time,
                figures.pct3_res_time,
                figures.throughput,
                figures.received_k_bytes_per_sec,
                figures.sent_k_bytes_per_sec,
            );
        }
        text
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
            let _ = writeln!(text, "  {label}");
            for error in errors {
                let _ = writeln!(text, "{:>8}  {}", error.count, one_line(&error.error));
            }
        }
        text
    }
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
