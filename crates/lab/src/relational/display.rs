//! What the user sees while the experiment runs, on standard error: a live line with a bar at a terminal, a
//! line a step elsewhere.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prony_load::Progress;
use prony_load_model::Nanos;

use super::{
    measure::Step,
    study::{Operation, Pace, Workload},
};
use crate::markdown::{milliseconds, thousands};

/// Steps that a search usually takes.
const STEPS_USUAL: u32 = 3;

/// The progress display.
#[derive(Debug)]
pub(super) struct Display {
    bar: ProgressBar,
    live: bool,
    /// Time that cells after the present one will take, as far as is known.
    later: std::cell::Cell<Duration>,
}

impl Display {
    /// At a terminal with a bar, else with plain lines.
    pub(super) fn new() -> Self {
        let live = std::io::stderr().is_terminal();
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        let style = ProgressStyle::with_template("{wide_bar} {msg}").expect("the template is valid");
        bar.set_style(style);
        Self { bar, live, later: std::cell::Cell::default() }
    }

    /// One line that stays.
    pub(super) fn line(&self, text: &str) {
        if self.live {
            self.bar.suspend(|| write_line(text));
        } else {
            write_line(text);
        }
    }

    /// Tells what is still to come after the present cell.
    pub(super) fn set_later(&self, cells: usize, pace: &Pace, further: Nanos) {
        let cell = pace.probe.0 + pace.step().0 * u64::from(STEPS_USUAL.min(pace.steps_max));
        self.later.set(Duration::from_nanos(cell * cells as u64 + further.0));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The returned closure is told the run's progress.
    pub(super) fn begin_probe(&self, workload: &Workload, pace: &Pace) -> impl FnMut(&Progress) + use<> {
        let steps = pace.step().0 * u64::from(STEPS_USUAL.min(pace.steps_max));
        self.begin(format!("{}: saturation", title(workload)), pace.probe, Nanos(steps))
    }

    pub(super) fn begin_step(
        &self,
        workload: &Workload,
        processors: usize,
        users: u32,
        pace: &Pace,
        steps_left: u32,
    ) -> impl FnMut(&Progress) + use<> {
        let taken = pace.steps_max.saturating_sub(steps_left);
        let more = STEPS_USUAL.saturating_sub(taken + 1).min(steps_left.saturating_sub(1));
        let text = format!(
            "{}, {}: {} users",
            title(workload),
            count_of_processors(processors),
            thousands(users.into())
        );
        self.begin(text, pace.step(), Nanos(pace.step().0 * u64::from(more)))
    }

    pub(super) fn begin_saturation(&self, title: &str, pace: &Pace) -> impl FnMut(&Progress) + use<> {
        self.begin(title.to_owned(), pace.saturation, Nanos::ZERO)
    }

    /// The line that a finished step leaves.
    pub(super) fn end_step(&self, workload: &Workload, processors: usize, step: &Step) {
        self.line(&step_line(workload, processors, step));
    }

    fn begin(&self, text: String, length: Nanos, rest_of_cell: Nanos) -> impl FnMut(&Progress) + use<> {
        let bar = self.bar.clone();
        let after = Duration::from_nanos(rest_of_cell.0) + self.later.get();
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

impl Default for Display {
    fn default() -> Self {
        Self::new()
    }
}

fn live_text(text: &str, progress: &Progress, left: Duration) -> String {
    let p95 = progress.last.p95_ns.map_or("-".to_owned(), |p95| milliseconds(p95.as_millis_f64()));
    let errors = thousands(progress.failures);
    let rate = thousands(progress.last.successes);
    format!("{text} | {rate}/s, p95 {p95}, {errors} errors | about {} left", short(left))
}

fn step_line(workload: &Workload, processors: usize, step: &Step) -> String {
    let p95 = step.hold.p95_ms.map_or("-".to_owned(), milliseconds);
    let verdict = if step.passed { "served" } else { "not served" };
    let limit = step.outside_limit.as_ref().filter(|_| !step.passed);
    let limit = limit.map_or(String::new(), |limit| format!(" (not the engine's limit: {limit})"));
    let crossed = step.crossed.as_ref().map_or(String::new(), |crossed| format!(" ({crossed})"));
    format!(
        "{}, {}: {:>6} users, {:>6}/s, p95 {p95}, {:.1} % errors: {verdict}{crossed}{limit}",
        title(workload),
        count_of_processors(processors),
        thousands(step.users.into()),
        thousands(step.hold.requests_per_second.round() as u64),
        step.hold.error_share * 100.0,
    )
}

fn title(workload: &Workload) -> String {
    match workload.operation {
        Operation::Create => "create mutation".to_owned(),
        operation => format!("{}, limit {}", operation.label().to_lowercase(), workload.limit),
    }
}

/// `1 processor`, `2 processors`.
pub(super) fn count_of_processors(count: usize) -> String {
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
    use prony_load_model::result::SecondRow;

    use super::{super::measure::Columns, *};

    const WORKLOAD: Workload = Workload { operation: Operation::OneNest, limit: 50, rows: 100, seed: 1 };

    #[test]
    fn a_step_leaves_one_line() {
        let hold = Columns {
            requests_per_second: 9_876.4,
            p95_ms: Some(512.3),
            error_share: 0.021,
            ..Columns::default()
        };
        let step = Step {
            users: 21_000,
            passed: false,
            hold,
            whole: hold,
            engine_processors: None,
            engine_resident_bytes: None,
            lab_busy_share: 0.9,
            others_processors: None,
            outside_limit: Some("busy".into()),
            crossed: None,
            file: String::new(),
        };
        assert_eq!(
            step_line(&WORKLOAD, 1, &step),
            "1 nest, limit 50, 1 processor: 21,000 users,  9,876/s, p95 512 ms, 2.1 % errors: not served \
             (not the engine's limit: busy)"
        );
    }

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
            "1 nest | 4,321/s, p95 42 ms, 3 errors | about 1m23s left"
        );
    }
}
