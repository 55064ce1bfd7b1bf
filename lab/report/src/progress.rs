//! Lines while a run goes: one that is drawn again where the output is a terminal, plain ones elsewhere.

use crate::describe::number;
use crate::table::grouped;
use indicatif::{ProgressBar, ProgressStyle};
use prony_model::Nanos;
use prony_model::result::Progress;
use std::fmt;
use std::io::{self, Write};

/// Plain lines come this often: a log is read later, not watched.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);

/// One line of a moment.
struct Line<'a>(&'a Progress);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(progress) = self;
        let row = &progress.last;
        write!(f, "{} of {}  {} users  ", progress.elapsed, progress.duration, grouped(row.users.into()))?;
        match progress.asked_per_s {
            Some(asked) => write!(f, "{} of {}/s asked", grouped(row.successes), number(asked))?,
            None => write!(f, "{}/s", grouped(row.successes))?,
        }
        if let (Some(p50), Some(p95), Some(p99)) = (row.p50_ns, row.p95_ns, row.p99_ns) {
            write!(f, "  p50 {p50}  p95 {p95}  p99 {p99}")?;
        }
        write!(f, "  {} requests, {} failed", grouped(progress.requests), grouped(progress.failures))?;
        if progress.asked_per_s.is_some() {
            write!(f, ", starts {} late, {} dropped", grouped(progress.waited), grouped(progress.dropped))?;
        }
        if let Some(row) = &progress.subscribers {
            write!(f, "  {} subscriptions, {} events/s", grouped(row.active), grouped(row.events))?;
            if let Some(p99) = row.p99_ns {
                write!(f, ", fan-out p99 {p99}")?;
            }
        }
        if !progress.findings.is_empty() {
            let names: Vec<_> = progress.findings.iter().map(|kind| kind.name()).collect();
            write!(f, "  ! {}", names.join(", "))?;
        }
        Ok(())
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
        let style = ProgressStyle::with_template("{bar:24} {wide_msg}").expect("the template is valid");
        bar.set_style(style);
        Self::Bar(bar)
    }

    pub const fn plain() -> Self {
        Self::Plain { next: PLAIN_EVERY }
    }

    pub fn show(&mut self, progress: &Progress) {
        match self {
            Self::Bar(bar) => {
                let share = progress.elapsed.0 as f64 / progress.duration.0.max(1) as f64;
                bar.set_position((share.min(1.0) * 1e3) as u64);
                bar.set_message(Line(progress).to_string());
            }
            Self::Plain { next } if progress.elapsed >= *next => {
                *next = progress.elapsed.plus(PLAIN_EVERY);
                say(&Line(progress).to_string());
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

    /// Standard error for others' lines, which then stand above the line that is drawn again.
    pub fn errors(&self) -> Box<dyn Write + Send> {
        match self {
            Self::Bar(bar) => Box::new(Beside { bar: bar.clone(), target: io::stderr() }),
            Self::Plain { .. } | Self::Quiet => Box::new(io::stderr()),
        }
    }

    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Writes while a bar is not drawn.
struct Beside<W> {
    bar: ProgressBar,
    target: W,
}

impl<W: Write> Write for Beside<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { bar, target } = self;
        bar.suspend(|| target.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// A line that cannot be shown is no reason to end a measurement.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use prony_model::result::SecondRow;
    use prony_model::verdict::finding::FindingKind;

    #[test]
    fn a_line_holds_what_one_watches_for() {
        let last = SecondRow {
            users: 1_300,
            successes: 642,
            p50_ns: Some(Nanos::from_millis(12)),
            p95_ns: Some(Nanos::from_millis(60)),
            p99_ns: Some(Nanos::from_millis(98)),
            ..SecondRow::default()
        };
        let (elapsed, duration) = (Nanos::from_secs(12), Nanos::from_secs(60));
        let line = Progress { elapsed, duration, last, requests: 7_700, failures: 3, ..Progress::default() };
        let open = Progress {
            asked_per_s: Some(650.0),
            waited: 12,
            dropped: 1,
            findings: vec![FindingKind::GeneratorBound, FindingKind::ConnectionChurn],
            ..line.clone()
        };
        expect![[r#"
            12.0 s of 1m00s  1 300 users  642/s  p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  7 700 requests, 3 failed
            12.0 s of 1m00s  1 300 users  642 of 650/s asked  p50 12.0 ms  p95 60.0 ms  p99 98.0 ms  7 700 requests, 3 failed, starts 12 late, 1 dropped  ! generator-bound, connection-churn
        "#]].assert_eq(&format!("{}\n{}\n", Line(&line), Line(&open)));
    }

    #[test]
    fn others_lines_reach_their_target_beside_a_bar() {
        let bar = ProgressBar::hidden();
        let mut beside = Beside { bar, target: Vec::new() };
        beside.write_all(b"a line\n").unwrap();
        assert_eq!(beside.target, b"a line\n");
    }
}
