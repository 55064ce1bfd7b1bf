//! What all load of an experiment has in common: threads, the place of results, the flag that stops it.

use std::{num::NonZeroUsize, path::Path};

use prony_load::{Output, RunError, RunOptions, StopFlag};
use prony_model::result::Progress;
use prony_model::{Plan, ResultFile, measurement::figures::Figures, result::RunState};
use serde::Serialize;

use crate::shares::{Reading, microseconds_per_request, outside_limit, shares};

/// How the lab runs load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs<'a> {
    pub stop: &'a StopFlag,
    pub command_line: &'a [String],
    /// Directory of result files.
    pub directory: &'a Path,
    /// Threads of the lab: one for each of its processors.
    pub threads: NonZeroUsize,
    /// What is watched beside the engine, as `--observe` has it.
    pub observers: &'a [String],
}

/// The process that is measured, and the processors that it has to itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured<'a> {
    pub process: u32,
    pub processors: &'a [usize],
}

/// What the engine used in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Used {
    /// The engine's processor time for each request, all of its threads included.
    #[serde(rename = "engine_us_per_request")]
    pub us_per_request: Option<f64>,
    #[serde(rename = "engine_resident_bytes")]
    pub resident_bytes: Option<u64>,
    /// Processors' worth of time that the engine used.
    #[serde(rename = "engine_processors")]
    pub processors: Option<f64>,
    /// The same of other processes on the engine's processors.
    #[serde(rename = "others_processors")]
    pub others: Option<f64>,
    /// Busy share of the lab's busiest thread.
    pub lab_busy_share: f64,
    /// What beside the engine was short.
    pub outside_limit: Option<String>,
}

impl Runs<'_> {
    /// Runs a plan against an engine. `None` where the user stopped it.
    pub(crate) fn measure(
        &self,
        plan: &Plan,
        file: &str,
        engine: Measured<'_>,
        watch: impl FnMut(&Progress) + 'static,
    ) -> Result<Option<(ResultFile, Used)>, RunError> {
        let reading = || Reading::take(engine.process, Some(engine.processors));
        let before = reading();
        let result = prony_load::run(plan, self.observing(engine, file, watch))?;
        let after = reading();
        if result.state == RunState::Stopped {
            return Ok(None);
        }
        let used = before.as_ref().zip(after.as_ref()).and_then(|(before, after)| shares(before, after));
        let requests = whole(&result).requests;
        let (before, after) = (before.map(|reading| reading.engine), after.map(|reading| reading.engine));
        let used = Used {
            us_per_request: microseconds_per_request(before, after, requests),
            resident_bytes: after.map(|usage| usage.resident_bytes),
            processors: used.map(|(engine, _)| engine),
            others: used.and_then(|(_, others)| others),
            lab_busy_share: result.lab.busiest_thread_share,
            outside_limit: outside_limit(&result.findings, used, engine.processors.len()),
        };
        Ok(Some((result, used)))
    }

    /// Runs a plan and writes its result as `file`.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        file: &str,
        watch: impl FnMut(&Progress) + 'static,
    ) -> Result<ResultFile, RunError> {
        prony_load::run(plan, self.options(file, watch))
    }

    /// With an observer of the engine, so that the result shows its processors and memory over time.
    pub(crate) fn observing(
        &self,
        engine: Measured<'_>,
        file: &str,
        watch: impl FnMut(&Progress) + 'static,
    ) -> RunOptions {
        let process = [format!("pid:{}", engine.process)];
        // An engine that has just gone is told by what becomes of its requests, and a database by what the engine says.
        let observe = prony_runs::observe::open(&[&process, self.observers].concat());
        let observe = observe.or_else(|_| prony_runs::observe::open(&process)).ok();
        RunOptions { observe, ..self.options(file, watch) }
    }

    pub(crate) fn options(&self, file: &str, watch: impl FnMut(&Progress) + 'static) -> RunOptions {
        RunOptions {
            threads: self.threads,
            output: Output::File(self.directory.join(file)),
            command_line: self.command_line.to_vec(),
            progress: Box::new(watch),
            // The lab itself only: nothing in that can fail.
            observe: prony_runs::observe::open(&[]).ok(),
            stop: self.stop.clone(),
            ..RunOptions::default()
        }
    }
}

/// The whole run's figures.
pub(crate) fn whole(result: &ResultFile) -> &Figures {
    &result.windows.last().unwrap_or(result.headline()).all
}
