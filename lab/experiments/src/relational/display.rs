//! What the user sees of this experiment while it runs: the texts of its cells and steps.

use prony_model::Nanos;
use prony_model::result::Progress;
use prony_model::search::Trial;

use super::{
    measure::SearchStep,
    study::{Operation, RelationalPace, Workload},
};
use crate::{
    display::{self, StepCount, count_of_processors},
    markdown::{milliseconds, thousands},
};

/// Steps that a search usually takes.
const STEPS_USUAL: u32 = 3;

/// The progress display.
#[derive(Debug)]
pub(super) struct RelationalDisplay(display::Display);

impl RelationalDisplay {
    pub(super) fn new(display: &display::Display) -> Self {
        Self(display.clone())
    }

    /// One line that stays.
    pub(super) fn line(&self, text: &str) {
        self.0.line(text);
    }

    /// Tells what is still to come after the present cell.
    pub(super) fn set_later(&self, cells: usize, pace: &RelationalPace, further: Nanos) {
        let cell = pace.probe.0 + steps(pace).0;
        self.0.set_later(Nanos(cell * cells as u64 + further.0));
    }

    /// Tells how many steps the present cell and those after it take, with the further ones that are known.
    pub(super) fn set_steps(&self, cells: usize, pace: &RelationalPace, further: usize) {
        let cell = 1 + steps_usual(pace) as usize;
        self.0.set_steps(StepCount::About((cell * cells + further) as u32));
    }

    /// The returned closure is told the run's progress.
    pub(super) fn begin_probe(
        &self,
        workload: &Workload,
        pace: &RelationalPace,
    ) -> impl FnMut(&Progress) + use<> {
        self.0.begin(format!("{}: saturation", title(workload)), pace.probe, steps(pace))
    }

    pub(super) fn begin_step(
        &self,
        workload: &Workload,
        processors: usize,
        users: u32,
        pace: &RelationalPace,
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
        self.0.begin(text, pace.step(), Nanos(pace.step().0 * u64::from(more)))
    }

    pub(super) fn begin_saturation(
        &self,
        title: &str,
        pace: &RelationalPace,
    ) -> impl FnMut(&Progress) + use<> {
        self.0.begin(title.to_owned(), pace.saturation, Nanos::ZERO)
    }

    /// The line that a finished step leaves.
    pub(super) fn end_step(&self, workload: &Workload, processors: usize, step: &SearchStep) {
        self.line(&step_line(workload, processors, step));
    }
}

/// What the steps of one search usually take, with those that find where it begins.
fn steps(pace: &RelationalPace) -> Nanos {
    let own = Nanos(pace.step().0 * u64::from(STEPS_USUAL.min(pace.steps_max)));
    pace.approach().map_or(own, |approach| own.plus(steps(&approach)))
}

/// How many these are.
fn steps_usual(pace: &RelationalPace) -> u32 {
    let own = STEPS_USUAL.min(pace.steps_max);
    pace.approach().map_or(own, |approach| own + steps_usual(&approach))
}

fn step_line(workload: &Workload, processors: usize, step: &SearchStep) -> String {
    let p95 = step.hold.p95_ms.map_or("-".to_owned(), milliseconds);
    let verdict = match step.trial {
        Trial::Passed => "served",
        Trial::Failed => "not served",
        Trial::LabLimited => "void",
    };
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

#[cfg(test)]
mod tests {
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
        let step = SearchStep {
            users: 21_000,
            passed: false,
            trial: Trial::Failed,
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
            "1 nest, limit 50, 1 processor: 21 000 users,  9 876/s, p95 512 ms, 2.1 % errors: not served \
             (not the engine's limit: busy)"
        );
    }
}
