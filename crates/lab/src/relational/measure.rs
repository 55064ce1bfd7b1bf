//! One step: a number of users for ramp and hold, and whether they were served.

use std::{
    cell::RefCell,
    num::NonZeroUsize,
    path::PathBuf,
    rc::Rc,
    time::{Duration, Instant},
};

use prony_load::{Output, Progress, RunError, RunOptions, StopFlag};
use prony_load_model::{
    Nanos, Plan, ResultFile, WindowKind,
    figures::Figures,
    findings::{Finding, FindingKind},
    result::RunState,
    threshold::Metric,
};
use serde::Serialize;

use super::{
    display::count_of_processors,
    script::{Script, Scripts},
    study::{ERROR_SHARE_MAX, P95_MAX},
};
use crate::engine::Engine;
use prony_observe::usage::{Usage, busy_time};

/// Other processes may take this share of the engine's processors before a failed step says nothing any more.
const OTHERS_SHARE_MAX: f64 = 0.15;

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
    /// Processors' worth of the engine's processors that other processes used.
    pub others_processors: Option<f64>,
    /// What beside the engine was short; then a failed step says nothing about the engine.
    pub outside_limit: Option<String>,
    /// What the script's thresholds said against it; then it has not passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crossed: Option<String>,
    /// The result file, next to the table.
    pub file: String,
}

/// What a measurement needs beside its plan.
pub(super) struct Surroundings<'a> {
    pub engine: &'a Engine,
    /// `None` where a database server works on them as well, rightly.
    pub engine_processors: Option<&'a [usize]>,
    pub stop: &'a StopFlag,
    pub command_line: &'a [String],
    /// Directory of result files.
    pub directory: &'a std::path::Path,
    /// What asks instead of plans, where the user wants it.
    pub scripts: Option<&'a Scripts>,
    /// Threads of the lab: one for each of its processors.
    pub threads: NonZeroUsize,
}

/// What makes users ask.
pub(super) enum Load {
    Plan(Box<Plan>),
    Script(Box<Script>),
}

impl Load {
    fn plan(&self) -> &Plan {
        match self {
            Self::Plan(plan) => plan,
            Self::Script(script) => script.plan(),
        }
    }

    /// With what a script's thresholds say against it.
    fn run(&self, options: RunOptions) -> Result<(ResultFile, Option<String>), RunError> {
        match self {
            Self::Plan(plan) => Ok((prony_load::run(plan, options)?, None)),
            Self::Script(script) => script.run(options),
        }
    }
}

impl Surroundings<'_> {
    /// Runs a plan and writes its result as `file`.
    pub(super) fn run(
        &self,
        plan: &Plan,
        file: &str,
        watch: impl FnMut(&Progress) + 'static,
    ) -> Result<ResultFile, RunError> {
        prony_load::run(plan, self.options(file, watch))
    }

    fn options(&self, file: &str, watch: impl FnMut(&Progress) + 'static) -> RunOptions {
        let path: PathBuf = self.directory.join(file);
        RunOptions {
            threads: self.threads,
            output: Output::File(path),
            command_line: self.command_line.to_vec(),
            progress: Box::new(watch),
            // The lab itself only: nothing in that can fail.
            observe: crate::observe::open(&[]).ok(),
            stop: self.stop.clone(),
        }
    }

    /// Runs users with think time. `None` when it was stopped before its end.
    pub(super) fn step(
        &self,
        load: &Load,
        file: String,
        mut watch: impl FnMut(&Progress) + 'static,
    ) -> Result<Option<Step>, RunError> {
        let plan = load.plan();
        let windows = plan.windows();
        let hold = windows.all().iter().find(|window| window.kind == WindowKind::Steady);
        let hold_begins = hold.map_or(Nanos::ZERO, |window| window.from_ns);
        let readings: Rc<RefCell<Vec<Reading>>> = Rc::default();
        let (process, processors) = (self.engine.process(), self.engine_processors.map(<[usize]>::to_vec));
        let kept = Rc::clone(&readings);
        let options = self.options(&file, move |progress| {
            // Later answers than those of the hold window must not thin out its processor time.
            if (hold_begins..=progress.duration).contains(&progress.elapsed)
                && let Ok(engine) = Usage::of(process)
            {
                let all = processors.as_ref().and_then(|processors| busy_time(processors).ok());
                kept.borrow_mut().push(Reading { at: Instant::now(), engine, all });
            }
            watch(progress);
        });
        let (result, crossed) = load.run(options)?;
        // A threshold's end is an answer, the user's is none.
        if result.state == RunState::Stopped && crossed.is_none() {
            return Ok(None);
        }
        let readings = readings.borrow();
        let shares = shares(&readings);
        Ok(Some(Step {
            engine_resident_bytes: readings.last().map(|reading| reading.engine.resident_bytes),
            engine_processors: shares.map(|(engine, _)| engine),
            others_processors: shares.and_then(|(_, others)| others),
            outside_limit: outside_limit(
                &result.findings,
                shares,
                self.engine_processors.map_or(0, <[usize]>::len),
            ),
            ..step_of(&result, plan.users(), crossed, file)
        }))
    }
}

/// The engine's use at one moment, and that of its processors by everybody.
struct Reading {
    at: Instant,
    engine: Usage,
    all: Option<Duration>,
}

fn step_of(result: &ResultFile, users: u32, crossed: Option<String>, file: String) -> Step {
    let hold = &result.headline().all;
    let whole = &result.windows.last().unwrap_or(result.headline()).all;
    Step {
        users,
        passed: is_served(hold) && crossed.is_none(),
        hold: Columns::of(hold),
        whole: Columns::of(whole),
        engine_processors: None,
        engine_resident_bytes: None,
        lab_busy_share: result.lab.busiest_thread_share,
        others_processors: None,
        outside_limit: None,
        crossed,
        file,
    }
}

/// The study's objective. With too few samples for a 95th percentile the slowest answer stands for it.
fn is_served(hold: &Figures) -> bool {
    let p95 = hold.metric(Metric::Percentile(95.0)).or_else(|| hold.metric(Metric::Max));
    p95.is_some_and(|p95| p95 < P95_MAX.0 as f64) && hold.error_share() < ERROR_SHARE_MAX
}

/// Processors' worth of time used by the engine and, on its processors, by others.
fn shares(readings: &[Reading]) -> Option<(f64, Option<f64>)> {
    let (first, last) = (readings.first()?, readings.last()?);
    let seconds = (last.at - first.at).as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let share = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / seconds;
    let engine = share(first.engine.processor_time, last.engine.processor_time);
    let others = first.all.zip(last.all).map(|(from, to)| (share(from, to) - engine).max(0.0));
    Some((engine, others))
}

fn outside_limit(
    findings: &[Finding],
    shares: Option<(f64, Option<f64>)>,
    processors: usize,
) -> Option<String> {
    let kinds = [FindingKind::GeneratorBound, FindingKind::TargetSharesCpu];
    if let Some((_, Some(others))) = shares
        && others > OTHERS_SHARE_MAX * processors as f64
    {
        let processors = count_of_processors(processors);
        return Some(format!("other processes used {others:.2} of the engine's {processors}"));
    }
    findings.iter().find(|finding| kinds.contains(&finding.kind)).map(|finding| finding.seen.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(start: Instant, second: u64, engine_ms: u64, all_ms: u64) -> Reading {
        let engine = Usage { processor_time: Duration::from_millis(engine_ms), ..Usage::default() };
        let all = Some(Duration::from_millis(all_ms));
        Reading { at: start + Duration::from_secs(second), engine, all }
    }

    #[test]
    fn what_others_take_is_told_apart() {
        let start = Instant::now();
        let (engine, others) = shares(&[reading(start, 0, 0, 0), reading(start, 4, 2_000, 3_200)]).unwrap();
        assert!((engine - 0.5).abs() < 1e-9);
        assert!((others.unwrap() - 0.3).abs() < 1e-9);
        assert!(shares(&[reading(start, 0, 0, 0)]).is_none());
    }

    #[test]
    fn a_busy_machine_is_no_fault_of_the_engine() {
        assert_eq!(outside_limit(&[], Some((0.9, Some(0.1))), 1), None);
        assert_eq!(
            outside_limit(&[], Some((0.5, Some(0.4))), 1).unwrap(),
            "other processes used 0.40 of the engine's 1 processor"
        );
        assert_eq!(outside_limit(&[], Some((1.5, Some(0.25))), 2), None);
    }
}
