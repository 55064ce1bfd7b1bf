//! What is shown while a run goes: a screen where the terminal has one, plain lines elsewhere, or nothing.

use crate::progress_line::progress_line;
use crate::screen::StepHead;
use crate::standard_error::{ErrorLines, close_screen, open_screen, say, update_screen};
use prony_model::Nanos;
use prony_model::result::Progress;
use std::io::Write;

/// Plain lines come this often: a log is read later, not watched.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);
/// Of plain lines.
const COLUMNS: usize = 80;

/// Shows a run, or many one after the other, on standard error. Its end takes the screen away.
#[derive(Debug)]
pub struct ProgressDisplay {
    form: ProgressForm,
}

#[derive(Debug)]
enum ProgressForm {
    Screen,
    /// A line each time that this much of a run has passed.
    Lines {
        next: Nanos,
    },
    /// Lines for what is over alone.
    Steps,
    Nothing,
}

impl ProgressDisplay {
    /// Of one run.
    pub fn of_run(title: &str) -> Self {
        let form =
            if open_screen(title) { ProgressForm::Screen } else { ProgressForm::Lines { next: PLAIN_EVERY } };
        Self { form }
    }

    /// Of many runs, each of which [`Self::begin`] tells. Without a screen only what [`Self::say`] says is shown.
    pub fn of_steps(title: &str) -> Self {
        Self { form: if open_screen(title) { ProgressForm::Screen } else { ProgressForm::Steps } }
    }

    /// Of what is to be silent but for warnings.
    pub const fn quiet() -> Self {
        Self { form: ProgressForm::Nothing }
    }

    pub const fn is_screen(&self) -> bool {
        matches!(self.form, ProgressForm::Screen)
    }

    /// The next of many runs begins.
    pub fn begin(&self, head: StepHead) {
        if self.is_screen() {
            update_screen(|state| state.begin(head));
        }
    }

    pub fn show(&mut self, progress: &Progress) {
        // A second that the run ended in is no rate.
        if progress.elapsed < Nanos::from_secs(progress.last.second + 1) {
            return;
        }
        match &mut self.form {
            ProgressForm::Screen => update_screen(|state| state.show(progress)),
            ProgressForm::Lines { next } if progress.elapsed >= *next => {
                *next = progress.elapsed.plus(PLAIN_EVERY);
                say(&progress_line(progress, COLUMNS));
            }
            ProgressForm::Lines { .. } | ProgressForm::Steps | ProgressForm::Nothing => {}
        }
    }

    /// A line that stays, above the screen.
    pub fn say(&self, line: &str) {
        if !matches!(self.form, ProgressForm::Nothing) {
            say(line);
        }
    }

    /// A line that stays, of a step that is over; a screen also remembers the short form of it.
    pub fn say_step(&self, line: &str, short: String) {
        self.say(line);
        if self.is_screen() {
            update_screen(|state| state.remember(short));
        }
    }

    /// Something to know at once, shown even when all else is quiet.
    pub fn warn(&self, warning: &str) {
        say(&format!("warning: {warning}"));
        if self.is_screen() {
            update_screen(|state| state.warning = Some(format!("warning: {warning}")));
        }
    }

    /// What follows stands where the screen stood.
    pub fn finish(&mut self) {
        if self.is_screen() {
            close_screen();
            self.form = ProgressForm::Steps;
        }
    }

    /// Standard error for others' lines, which then stand above the screen.
    pub fn errors(&self) -> Box<dyn Write + Send> {
        Box::new(ErrorLines)
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.finish();
    }
}
