//! How far a long task is, as a bar where standard error is a terminal, and nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;

#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Of a file with so many bytes.
    pub(crate) fn of_bytes(what: String, bytes: u64) -> Self {
        Self::new(what, bytes, "{msg}  {wide_bar}  {bytes} of {total_bytes}  {eta}")
    }

    /// Of so many things.
    pub(crate) fn of_count(what: String, count: u64) -> Self {
        Self::new(what, count, "{msg}  {wide_bar}  {human_pos} of {human_len}  {eta}")
    }

    fn new(what: String, length: u64, template: &str) -> Self {
        let is_live = std::io::stderr().is_terminal();
        let target = if is_live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length), target).with_message(what);
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        Self { bar }
    }

    pub(crate) fn add(&self, count: u64) {
        self.bar.inc(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
