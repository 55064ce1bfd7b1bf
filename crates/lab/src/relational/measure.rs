//! One step: a number of users for ramp and hold, and whether they were served.

use std::{cell::RefCell, num::NonZeroUsize, path::PathBuf, rc::Rc, time::Instant};

use prony_load::{Output, Progress, RunError, RunOptions, StopFlag};
use prony_load_model::{
    Nanos, ResultFile, Scenario,
    figures::Figures,
    findings::{Finding, FindingKind},
    result::RunState,
    threshold::Metric,
};
use serde::Serialize;

use super::study::{ERROR_SHARE_MAX, P95_MAX};
use crate::{engine::Engine, usage::Usage};

/// The columns of the study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Columns {
    pub requests_per_second: f64,
    /// Absent where there are too few samples.
    pub p95_ms: Option<f64>,
    pub min_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub requests: u64,
    pub error_share: f64,
}

impl Columns {
    fn of(figures: &Figures) -> Self {
        let times = &figures.response_time;
        Self {
            requests_per_second: figures.rate_per_s,
            p95_ms: times.percentile(95.0).map(Nanos::as_millis_f64),
            min_ms: times.min_ns.map(Nanos::as_millis_f64),
            max_ms: times.max_ns.map(Nanos::as_millis_f64),
            requests: figures.requests,
            error_share: figures.error_share(),
        }
    }
}

/// What one step showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub users: u32,
    pub passed: bool,
    /// The hold window: what the verdict is about.
    pub hold: Columns,
    /// Ramp included, as the study's figures are.
    pub whole: Columns,
    /// Processors' worth of time that the engine used in the hold window, where it could be read.
    pub engine_processors: Option<f64>,
    pub engine_resident_bytes: Option<u64>,
    /// Busy share of the lab's busiest thread.
    pub lab_busy_share: f64,
    /// The lab's own fault, in its words; then a failed step says nothing about the engine.
    pub lab_limit: Option<String>,
    /// The result file, next to the table.
    pub file: String,
}

/// What a measurement needs beside its scenario.
pub(super) struct Surroundings<'a> {
    pub engine: &'a Engine,
    pub stop: &'a StopFlag,
    pub command_line: &'a [String],
    /// Directory of result files.
    pub directory: &'a std::path::Path,
    /// Threads of the lab: one for each of its processors.
    pub threads: NonZeroUsize,
}

impl Surroundings<'_> {
    /// Runs a scenario and writes its result as `file`.
    pub(super) fn run(
        &self,
        scenario: &Scenario,
        file: &str,
        watch: impl FnMut(&Progress) + 'static,
    ) -> Result<ResultFile, RunError> {
        let path: PathBuf = self.directory.join(file);
        let options = RunOptions {
            threads: self.threads,
            output: Output::File(path),
            command_line: self.command_line.to_vec(),
            progress: Box::new(watch),
            stop: self.stop.clone(),
        };
        prony_load::run(scenario, options)
    }

    /// Runs users with think time. `None` when it was stopped before its end.
    pub(super) fn step(
        &self,
        scenario: &Scenario,
        file: String,
        mut watch: impl FnMut(&Progress) + 'static,
    ) -> Result<Option<Step>, RunError> {
        let hold_begins = scenario.load().stages().first().map_or(Nanos::ZERO, |ramp| ramp.duration_ns);
        let readings: Rc<RefCell<Vec<(Instant, Usage)>>> = Rc::default();
        let process = self.engine.process();
        let kept = Rc::clone(&readings);
        let result = self.run(scenario, &file, move |progress| {
            // Later answers than those of the hold window must not thin out its processor time.
            if (hold_begins..=progress.duration).contains(&progress.elapsed)
                && let Ok(usage) = Usage::of(process)
            {
                kept.borrow_mut().push((Instant::now(), usage));
            }
            watch(progress);
        })?;
        if result.state == RunState::Stopped {
            return Ok(None);
        }
        let readings = readings.borrow();
        Ok(Some(step_of(&result, scenario.load().users_max(), file, &readings)))
    }
}

fn step_of(result: &ResultFile, users: u32, file: String, readings: &[(Instant, Usage)]) -> Step {
    let hold = &result.headline().all;
    let whole = &result.windows.last().unwrap_or(result.headline()).all;
    Step {
        users,
        passed: is_served(hold),
        hold: Columns::of(hold),
        whole: Columns::of(whole),
        engine_processors: processors_used(readings),
        engine_resident_bytes: readings.last().map(|(_, usage)| usage.resident_bytes),
        lab_busy_share: result.lab.busiest_thread_share,
        lab_limit: lab_limit(&result.findings),
        file,
    }
}

/// The study's objective. With too few samples for a 95th percentile the slowest answer stands for it.
fn is_served(hold: &Figures) -> bool {
    let p95 = hold.metric(Metric::Percentile(95.0)).or_else(|| hold.metric(Metric::Max));
    p95.is_some_and(|p95| p95 < P95_MAX.0 as f64) && hold.error_share() < ERROR_SHARE_MAX
}

fn processors_used(readings: &[(Instant, Usage)]) -> Option<f64> {
    let ((first_at, first), (last_at, last)) = (readings.first()?, readings.last()?);
    let seconds = (*last_at - *first_at).as_secs_f64();
    let used = last.processor_time.checked_sub(first.processor_time)?;
    (seconds > 0.0).then(|| used.as_secs_f64() / seconds)
}

fn lab_limit(findings: &[Finding]) -> Option<String> {
    let kinds = [FindingKind::GeneratorBound, FindingKind::TargetSharesCpu];
    findings.iter().find(|finding| kinds.contains(&finding.kind)).map(|finding| finding.seen.clone())
}
