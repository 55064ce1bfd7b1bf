//! Lines while a run goes: one that is drawn again where the output is a terminal, plain ones elsewhere.

use crate::progress_line::progress_line;
use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use prony_model::Nanos;
use prony_model::result::Progress;
use std::io::{self, Write};

/// Plain lines come this often: a log is read later, not watched.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);
/// Of plain lines, and of a terminal that does not say how wide it is.
const COLUMNS: usize = 80;
/// Of the bar, with the space behind it; where the terminal is narrow there is none.
const BAR_COLUMNS: usize = 11;
const COLUMNS_WITH_BAR: usize = 60;

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
        let template = if columns() < COLUMNS_WITH_BAR { "{wide_msg}" } else { "{bar:10} {wide_msg}" };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        Self::Bar(bar)
    }

    pub const fn plain() -> Self {
        Self::Plain { next: PLAIN_EVERY }
    }

    pub fn show(&mut self, progress: &Progress) {
        // A second that the run ended in is no rate.
        if progress.elapsed < Nanos::from_secs(progress.last.second + 1) {
            return;
        }
        match self {
            Self::Bar(bar) => {
                let share = progress.elapsed.0 as f64 / progress.duration.0.max(1) as f64;
                bar.set_position((share.min(1.0) * 1e3) as u64);
                let columns = columns();
                let bar_columns = if columns < COLUMNS_WITH_BAR { 0 } else { BAR_COLUMNS };
                bar.set_message(progress_line(progress, columns - bar_columns));
            }
            Self::Plain { next } if progress.elapsed >= *next => {
                *next = progress.elapsed.plus(PLAIN_EVERY);
                say(&progress_line(progress, COLUMNS));
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

/// Of the terminal, as it is now.
fn columns() -> usize {
    Term::stderr().size_checked().map_or(COLUMNS, |(_, columns)| columns.into())
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

    #[test]
    fn others_lines_reach_their_target_beside_a_bar() {
        let bar = ProgressBar::hidden();
        let mut beside = Beside { bar, target: Vec::new() };
        beside.write_all(b"a line\n").unwrap();
        assert_eq!(beside.target, b"a line\n");
    }
}
