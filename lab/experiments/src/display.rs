//! What the user sees while an experiment runs, on standard error: a screen with the step that is measured at a terminal, a line
//! a step elsewhere.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use prony_model::Nanos;
use prony_model::result::Progress;
use prony_report::{ProgressDisplay, StepHead, StepsDone};

/// How many steps there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepCount {
    Exactly(u32),
    /// Where a search decides what comes.
    About(u32),
}

/// The progress display.
#[derive(Debug, Clone)]
pub(crate) struct Display {
    shown: Rc<RefCell<ProgressDisplay>>,
    /// Steps that have begun.
    steps: Rc<Cell<u32>>,
    steps_in_all: Rc<Cell<Option<StepCount>>>,
    /// Time that parts after the present one will take, as far as is known.
    later: Cell<Nanos>,
}

impl Display {
    pub(crate) fn new(experiment: &str) -> Self {
        let shown = Rc::new(RefCell::new(ProgressDisplay::of_steps(experiment)));
        Self { shown, steps: Rc::default(), steps_in_all: Rc::default(), later: Cell::default() }
    }

    /// One line that stays.
    pub(crate) fn line(&self, text: &str) {
        self.shown.borrow().say(text);
    }

    /// Tells what is still to come after the present part.
    pub(crate) fn set_later(&self, later: Nanos) {
        self.later.set(later);
    }

    /// Tells how many steps come from now on.
    pub(crate) fn set_steps(&self, ahead: StepCount) {
        let begun = self.steps.get();
        self.steps_in_all.set(Some(match ahead {
            StepCount::Exactly(steps) => StepCount::Exactly(begun + steps),
            StepCount::About(steps) => StepCount::About(begun + steps),
        }));
    }

    pub(crate) fn finish(&self) {
        self.shown.borrow_mut().finish();
    }

    /// A run of this length begins, `rest` of its part comes behind it. The returned closure is told the run's progress.
    pub(crate) fn begin(
        &self,
        text: String,
        length: Nanos,
        rest: Nanos,
    ) -> impl FnMut(&Progress) + 'static + use<> {
        self.steps.set(self.steps.get() + 1);
        let left = length.plus(rest).plus(self.later.get());
        let position = position(self.steps.get(), self.steps_in_all.get());
        let steps = steps_done(self.steps.get(), self.steps_in_all.get());
        let head = StepHead { step: text, position, left: Some(left), steps, ..StepHead::default() };
        self.shown.borrow().begin(head);
        let shown = Rc::clone(&self.shown);
        move |progress: &Progress| shown.borrow_mut().show(progress)
    }
}

/// A search that takes more steps than was thought says nothing of how many there are.
fn position(step: u32, in_all: Option<StepCount>) -> String {
    match in_all {
        Some(StepCount::Exactly(count)) if step <= count => format!("step {step} of {count}"),
        Some(StepCount::About(count)) if step <= count => format!("step {step} of about {count}"),
        _ => format!("step {step}"),
    }
}

/// Where it is known how many there are, and the step is one of them.
fn steps_done(step: u32, in_all: Option<StepCount>) -> Option<StepsDone> {
    let (StepCount::Exactly(count) | StepCount::About(count)) = in_all?;
    Some(StepsDone { done: step - 1, to_go: (count + 1).checked_sub(step).filter(|to_go| *to_go > 0)? })
}

/// `1 processor`, `2 processors`.
pub(crate) fn count_of_processors(count: usize) -> String {
    if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_stands_among_those_that_are_known() {
        assert_eq!(position(3, None), "step 3");
        assert_eq!(position(3, Some(StepCount::Exactly(12))), "step 3 of 12");
        assert_eq!(position(12, Some(StepCount::About(12))), "step 12 of about 12");
        assert_eq!(position(13, Some(StepCount::About(12))), "step 13");
        let done = |step, in_all| steps_done(step, in_all).map(|steps| (steps.done, steps.to_go));
        assert_eq!((done(3, None), done(13, Some(StepCount::About(12)))), (None, None));
        assert_eq!(done(3, Some(StepCount::Exactly(12))), Some((2, 10)));
        assert_eq!(done(12, Some(StepCount::About(12))), Some((11, 1)));
    }

    #[test]
    fn what_comes_is_counted_from_what_has_begun() {
        let display = Display::new("graph");
        drop(display.begin("a".to_owned(), Nanos::ZERO, Nanos::ZERO));
        display.set_steps(StepCount::Exactly(4));
        assert_eq!(display.steps_in_all.get(), Some(StepCount::Exactly(5)));
        display.clone().set_steps(StepCount::About(2));
        assert_eq!(display.steps_in_all.get(), Some(StepCount::About(3)));
    }
}
