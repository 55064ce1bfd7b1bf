//! What all load of an experiment has in common: threads, the place of results, the flag that stops it.

use std::{num::NonZeroUsize, path::Path};

use prony_load::{Output, Progress, RunError, RunOptions, StopFlag};
use prony_load_model::{Plan, ResultFile};

/// How the lab runs load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs<'a> {
    pub stop: &'a StopFlag,
    pub command_line: &'a [String],
    /// Directory of result files.
    pub directory: &'a Path,
    /// Threads of the lab: one for each of its processors.
    pub threads: NonZeroUsize,
}

impl Runs<'_> {
    /// Runs a plan and writes its result as `file`.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        file: &str,
        watch: impl FnMut(&Progress) + 'static,
    ) -> Result<ResultFile, RunError> {
        prony_load::run(plan, self.options(file, watch))
    }

    pub(crate) fn options(&self, file: &str, watch: impl FnMut(&Progress) + 'static) -> RunOptions {
        RunOptions {
            threads: self.threads,
            output: Output::File(self.directory.join(file)),
            command_line: self.command_line.to_vec(),
            progress: Box::new(watch),
            // The lab itself only: nothing in that can fail.
            observe: crate::observe::open(&[]).ok(),
            stop: self.stop.clone(),
        }
    }
}
