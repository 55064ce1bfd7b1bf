//! One step: a number of users for ramp and hold, and whether they were served.

use std::{cell::RefCell, rc::Rc};

use prony_load::{RunError, RunOptions};
use prony_model::result::Progress;
use prony_model::search::{Trial, judge};
use prony_model::{
    Nanos, Plan, ResultFile, Threshold, WindowKind, measurement::figures::Figures, result::RunState,
};
use serde::Serialize;

use super::{
    script::{Script, Scripts},
    study::{ERROR_SHARE_MAX, P95_MAX},
};
use crate::{
    engine::Engine,
    runs::Runs,
    shares::{Reading, outside_limit, shares},
};

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
pub struct SearchStep {
    pub users: u32,
    pub passed: bool,
    /// As a search has it: where the lab was the limit it neither passed nor failed.
    pub trial: Trial,
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
pub(super) struct RelationalSurroundings<'a> {
    pub engine: &'a Engine,
    /// `None` where a database server works on them as well, rightly.
    pub engine_processors: Option<&'a [usize]>,
    pub runs: Runs<'a>,
    /// What asks instead of plans, where the user wants it.
    pub scripts: Option<&'a Scripts>,
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

impl RelationalSurroundings<'_> {
    /// Runs users with think time. `None` when it was stopped before its end.
    pub(super) fn step(
        &self,
        load: &Load,
        file: String,
        mut watch: impl FnMut(&Progress) + 'static,
    ) -> Result<Option<SearchStep>, RunError> {
        let plan = load.plan();
        let windows = plan.windows();
        let hold = windows.all().iter().find(|window| window.kind == WindowKind::Steady);
        let hold_begins = hold.map_or(Nanos::ZERO, |window| window.from_ns);
        let readings: Rc<RefCell<Vec<Reading>>> = Rc::default();
        let (process, processors) = (self.engine.process(), self.engine_processors.map(<[usize]>::to_vec));
        let kept = Rc::clone(&readings);
        let options = self.runs.options(&file, move |progress| {
            // Later answers than those of the hold window must not thin out its processor time.
            if (hold_begins..=progress.duration).contains(&progress.elapsed)
                && let Some(reading) = Reading::take(process, processors.as_deref())
            {
                kept.borrow_mut().push(reading);
            }
            watch(progress);
        });
        let (result, crossed) = load.run(options)?;
        // A threshold's end is an answer, the user's is none.
        if result.state == RunState::Stopped && crossed.is_none() {
            return Ok(None);
        }
        let readings = readings.borrow();
        let shares = readings.first().zip(readings.last()).and_then(|(first, last)| shares(first, last));
        Ok(Some(SearchStep {
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

fn step_of(result: &ResultFile, users: u32, crossed: Option<String>, file: String) -> SearchStep {
    let hold = &result.headline().all;
    let whole = &result.windows.last().unwrap_or(result.headline()).all;
    let trial = match judge(result, &objectives()).0 {
        Trial::Passed if crossed.is_some() => Trial::Failed,
        trial => trial,
    };
    SearchStep {
        users,
        passed: trial == Trial::Passed,
        trial,
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

/// The study's.
fn objectives() -> Vec<Threshold> {
    let percent = ERROR_SHARE_MAX * 100.0;
    let text = format!("p95<{}ms,errors<{percent}%", P95_MAX.as_millis_f64());
    Threshold::parse_list(&text).expect("the objectives are written as objectives are")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objectives_are_those_of_the_study() {
        let shown: Vec<_> = objectives().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["p95<500ms", "errors<1%"]);
    }
}
