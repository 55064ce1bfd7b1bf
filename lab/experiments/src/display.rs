//! What the user sees while an experiment runs, on standard error: a live line with a bar at a terminal, a line a
//! step elsewhere.

use std::{
    cell::Cell,
    io::{IsTerminal, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prony_model::Nanos;
use prony_model::result::Progress;

use crate::markdown::{milliseconds, thousands};

/// The progress display.
#[derive(Debug, Clone)]
pub(crate) struct Display {
    bar: ProgressBar,
    live: bool,
    /// Time that parts after the present one will take, as far as is known.
    later: Cell<Duration>,
}

impl Display {
    /// At a terminal with a bar, else with plain lines.
    pub(crate) fn new() -> Self {
        let live = std::io::stderr().is_terminal();
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        let style = ProgressStyle::with_template("{wide_bar} {msg}").expect("the template is valid");
        bar.set_style(style);
        Self { bar, live, later: Cell::default() }
    }

    /// One line that stays.
    pub(crate) fn line(&self, text: &str) {
        if self.live {
            self.bar.suspend(|| write_line(text));
        } else {
            write_line(text);
        }
    }

    /// Tells what is still to come after the present part.
    pub(crate) fn set_later(&self, later: Nanos) {
        self.later.set(Duration::from_nanos(later.0));
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// A run of this length begins, `rest` of its part comes behind it. The returned closure is told the run's progress.
    pub(crate) fn begin(
        &self,
        text: String,
        length: Nanos,
        rest: Nanos,
    ) -> impl FnMut(&Progress) + 'static + use<> {
        let bar = self.bar.clone();
        let after = Duration::from_nanos(rest.0) + self.later.get();
        bar.set_length(length.0.max(1) / 1_000_000);
        bar.set_position(0);
        bar.set_message(format!("{text} (about {} left)", short(after + Duration::from_nanos(length.0))));
        move |progress: &Progress| {
            bar.set_position(progress.elapsed.0 / 1_000_000);
            let left = after + Duration::from_nanos(length.since(progress.elapsed).0);
            bar.set_message(live_text(&text, progress, left));
        }
    }
}

fn live_text(text: &str, progress: &Progress, left: Duration) -> String {
    let p95 = progress.last.p95_ns.map_or("-".to_owned(), |p95| milliseconds(p95.as_millis_f64()));
    let errors = thousands(progress.failures);
    let rate = thousands(progress.last.successes);
    format!("{text} | {rate}/s, p95 {p95}, {errors} errors | about {} left", short(left))
}

/// `1 processor`, `2 processors`.
pub(crate) fn count_of_processors(count: usize) -> String {
    if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") }
}

fn short(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().ceil() as u64;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}m{:02}s", seconds / 60, seconds % 60) }
}

fn write_line(text: &str) {
    // A terminal that is gone must not end the measurement.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use prony_model::result::SecondRow;

    use super::*;

    #[test]
    fn the_live_line_says_what_runs_and_how_long_it_takes() {
        let last =
            SecondRow { successes: 4_321, p95_ns: Some(Nanos::from_millis(42)), ..SecondRow::default() };
        let progress = Progress {
            elapsed: Nanos::from_secs(1),
            duration: Nanos::from_secs(6),
            last,
            requests: 5_000,
            failures: 3,
            ..Progress::default()
        };
        assert_eq!(
            live_text("1 nest", &progress, Duration::from_secs(83)),
            "1 nest | 4 321/s, p95 42 ms, 3 errors | about 1m23s left"
        );
    }
}
