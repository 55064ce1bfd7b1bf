//! What a screen shows: what was told last, and the rates so far.

use super::rates::RateHistory;
use prony_model::Nanos;
use prony_model::result::Progress;

/// Steps before the present one that a screen remembers.
const KNOWN_MAX: usize = 16;

/// Which of many runs the present one is, and what the ones before it have shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepHead {
    /// What is done, such as `80 users`.
    pub step: String,
    /// Where that stands among the others, such as `step 4, run 2 of 3`; may be empty.
    pub position: String,
    /// What is still looked at, such as `between 40 and 160 users`; may be empty.
    pub range: String,
    /// How long this one and all after it take, where that is known.
    pub left: Option<Nanos>,
    /// How many there are, where that is known.
    pub steps: Option<StepsDone>,
}

/// Steps of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepsDone {
    pub done: u32,
    /// With the present one, as far as is known.
    pub to_go: u32,
}

#[derive(Debug, Default)]
pub(crate) struct ScreenState {
    /// What is run.
    pub(crate) title: String,
    /// Where that is one of many runs.
    pub(crate) head: Option<StepHead>,
    /// Steps that are over, each with its verdict; the newest last.
    pub(crate) known: Vec<String>,
    /// How long all runs before the present one took.
    pub(crate) spent: Nanos,
    pub(crate) progress: Option<Progress>,
    pub(crate) rates: RateHistory,
    pub(crate) warning: Option<String>,
}

impl ScreenState {
    /// The next of many runs, of which nothing is known yet.
    pub(crate) fn begin(&mut self, head: StepHead) {
        self.head = Some(head);
        self.spent = self.spent.plus(self.elapsed());
        self.progress = None;
        self.rates = RateHistory::default();
        self.warning = None;
    }

    /// Of the present run.
    pub(crate) fn elapsed(&self) -> Nanos {
        self.progress.as_ref().map_or(Nanos::ZERO, |progress| progress.elapsed)
    }

    pub(crate) fn remember(&mut self, step: String) {
        self.known.push(step);
        self.known.drain(..self.known.len().saturating_sub(KNOWN_MAX));
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        self.rates.push(progress.last.second, progress.last.successes as f64);
        self.progress = Some(progress.clone());
    }
}
