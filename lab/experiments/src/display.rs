//! What the user sees while an experiment runs, on standard error: a screen with the step that is measured at a terminal, a line
//! a step elsewhere.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use prony_model::Nanos;
use prony_model::result::Progress;
use prony_report::{ProgressDisplay, StepHead};

/// The progress display.
#[derive(Debug, Clone)]
pub(crate) struct Display {
    shown: Rc<RefCell<ProgressDisplay>>,
    /// Steps that have begun.
    steps: Rc<Cell<u32>>,
    /// Time that parts after the present one will take, as far as is known.
    later: Cell<Nanos>,
}

impl Display {
    pub(crate) fn new(experiment: &str) -> Self {
        let shown = Rc::new(RefCell::new(ProgressDisplay::of_steps(experiment)));
        Self { shown, steps: Rc::default(), later: Cell::default() }
    }

    /// One line that stays.
    pub(crate) fn line(&self, text: &str) {
        self.shown.borrow().say(text);
    }

    /// Tells what is still to come after the present part.
    pub(crate) fn set_later(&self, later: Nanos) {
        self.later.set(later);
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
        let position = format!("step {}", self.steps.get());
        let head = StepHead { step: text, position, left: Some(left), ..StepHead::default() };
        self.shown.borrow().begin(head);
        let shown = Rc::clone(&self.shown);
        move |progress: &Progress| shown.borrow_mut().show(progress)
    }
}

/// `1 processor`, `2 processors`.
pub(crate) fn count_of_processors(count: usize) -> String {
    if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") }
}
