//! Lines while a run goes: one that is drawn again where the output is a terminal, plain ones elsewhere.

use crate::table::grouped;
use indicatif::{ProgressBar, ProgressStyle};
use prony_load_model::Nanos;
use prony_load_model::result::SecondRow;
use std::fmt;
use std::io::Write as _;

/// Plain lines come this often: a log is read later, not watched.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);

/// What is shown of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgressLine {
    pub elapsed: Nanos,
    pub duration: Nanos,
    pub last: SecondRow,
    pub requests: u64,
    pub failures: u64,
}

impl fmt::Display for ProgressLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = &self.last;
        write!(
            f,
            "{} of {}  {} users  {}/s",
            self.elapsed,
            self.duration,
            grouped(row.users.into()),
            grouped(row.successes)
        )?;
        if let (Some(p50), Some(p99)) = (row.p50_ns, row.p99_ns) {
            write!(f, "  p50 {p50}  p99 {p99}")?;
        }
        write!(f, "  {} requests, {} failed", grouped(self.requests), grouped(self.failures))
    }
}

/// Shows the lines on standard error.
#[derive(Debug)]
pub enum ProgressDisplay {
    Bar(ProgressBar),
    Plain { next: Nanos },
    Quiet,
}

impl ProgressDisplay {
    pub fn bar() -> Self {
        const PARTS: u64 = 1_000;
        let bar = ProgressBar::new(PARTS);
        let style = ProgressStyle::with_template("{bar:30} {msg}").expect("the template is valid");
        bar.set_style(style);
        Self::Bar(bar)
    }

    pub const fn plain() -> Self {
        Self::Plain { next: PLAIN_EVERY }
    }

    pub fn show(&mut self, line: &ProgressLine) {
        match self {
            Self::Bar(bar) => {
                let share = line.elapsed.0 as f64 / line.duration.0.max(1) as f64;
                bar.set_position((share.min(1.0) * 1e3) as u64);
                bar.set_message(line.to_string());
            }
            Self::Plain { next } if line.elapsed >= *next => {
                *next = line.elapsed.plus(PLAIN_EVERY);
                say(&line.to_string());
            }
            Self::Plain { .. } | Self::Quiet => {}
        }
    }

    /// Something to know at once, shown even when all else is quiet.
    pub fn warn(&self, warning: &str) {
        match self {
            Self::Bar(bar) => bar.suspend(|| say(&format!("warning: {warning}"))),
            Self::Plain { .. } | Self::Quiet => say(&format!("warning: {warning}")),
        }
    }

    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// A line that cannot be shown is no reason to end a measurement.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_one_watches_for() {
        let last = SecondRow {
            users: 1_300,
            successes: 642,
            p50_ns: Some(Nanos::from_millis(12)),
            p99_ns: Some(Nanos::from_millis(98)),
            ..SecondRow::default()
        };
        let (elapsed, duration) = (Nanos::from_secs(12), Nanos::from_secs(60));
        let line = ProgressLine { elapsed, duration, last, requests: 7_700, failures: 3 };
        let expected =
            "12.0 s of 1m00s  1 300 users  642/s  p50 12.0 ms  p99 98.0 ms  7 700 requests, 3 failed";
        assert_eq!(line.to_string(), expected);
    }
}
