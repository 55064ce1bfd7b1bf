//! The search for the largest load that meets its objectives: run after run, until the interval is narrow.

use crate::many::{Event, ManyError, ManyOptions, Runs};
use crate::subject::Subject;
use prony_model::result::{Origin, RunState};
use prony_model::search::{
    SCHEMA, SCHEMA_VERSION, Search, SearchFile, SearchPlan, SearchRun, SearchStep, StepShape, Trial, judge,
};
use prony_model::{Nanos, Plan, PlanDraft, ResultFile, Threshold};

/// What is searched for, and how.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    pub plan: SearchPlan,
    pub shape: StepShape,
    /// What a load must keep to pass; the plan's own thresholds are not looked at.
    pub objectives: Vec<Threshold>,
}

/// Searches. A stop ends it with what was measured until then; so does an error after the first run, which is returned
/// once the file is written. Blocks the calling thread.
pub fn find(
    subject: &Subject,
    settings: &SearchSettings,
    options: ManyOptions,
) -> Result<SearchFile, ManyError> {
    let runs = Runs::new(options);
    let plan = subject.plan();
    let mut draft = plan.clone().into_draft();
    draft.thresholds.clone_from(&settings.objectives);
    let mut search = Search::new(settings.plan);
    let mut file = empty_file(plan, settings);
    let mut count = 0;
    while let Some(load) = search.next_load() {
        if runs.stop.is_stopped() {
            break;
        }
        draft.seed = plan.seed().wrapping_add(count);
        count += 1;
        runs.tell(&begins(&search, &file, settings, load));
        match step(&runs, subject, &draft, settings, load) {
            Ok(result) if result.state == RunState::Stopped => break,
            Ok(result) => record(&runs, &mut search, &mut file, settings, load, result),
            Err(error) if error.is_limit() => {
                record_limit(&runs, &mut search, &mut file, load, &error.to_string());
            }
            Err(error) => {
                finish(&runs, &search, &mut file, RunState::Stopped);
                return Err(error);
            }
        }
        file.conclude(search.interval());
        // What follows the last run writes the file as a whole.
        if search.next_load().is_some() {
            runs.keep(&file, file.state);
        }
    }
    let is_over = search.next_load().is_none();
    finish(&runs, &search, &mut file, if is_over { RunState::Completed } else { RunState::Stopped });
    Ok(file)
}

/// What is told before each run.
fn begins(search: &Search, file: &SearchFile, settings: &SearchSettings, load: u32) -> Event<'static> {
    let (repeats, runs) = (settings.plan.repeats, search.runs_of_step());
    let decided = file.steps.iter().filter(|step| step.verdict.is_some()).count() as u32;
    let each = settings.shape.ramp.plus(settings.shape.hold);
    let steps_left = search.steps_likely();
    let left = steps_left.map(|steps| {
        let of_this = u64::from(repeats.saturating_sub(runs).max(1));
        Nanos(each.0 * (of_this + u64::from(steps.saturating_sub(1) * repeats)))
    });
    let (step, run) = (decided + 1, runs + 1);
    Event::StepRunBegins { load, step, run, repeats, interval: search.interval(), left, steps_left }
}

fn step(
    runs: &Runs,
    subject: &Subject,
    draft: &PlanDraft,
    settings: &SearchSettings,
    load: u32,
) -> Result<ResultFile, ManyError> {
    let plan = settings.shape.apply(draft, load)?.check()?;
    runs.run(subject, &plan)
}

fn record(
    runs: &Runs,
    search: &mut Search,
    file: &mut SearchFile,
    settings: &SearchSettings,
    load: u32,
    result: ResultFile,
) {
    if file.steps.is_empty() {
        file.origin = result.origin.clone();
    }
    let (trial, reason) = judge(&result, &settings.objectives);
    let run = SearchRun { trial, reason, result };
    runs.tell(&Event::StepRunEnds { load, run: &run });
    let verdict = search.record(load, trial);
    let step = step_of(file, load);
    step.runs.push(run);
    step.verdict = verdict;
    if let Some(verdict) = verdict {
        runs.tell(&Event::StepEnds { load, verdict, note: None });
    }
}

/// The lab cannot make this load at all, so it is not tried again.
fn record_limit(runs: &Runs, search: &mut Search, file: &mut SearchFile, load: u32, why: &str) {
    let verdict = loop {
        if let Some(verdict) = search.record(load, Trial::LabLimited) {
            break verdict;
        }
    };
    let step = step_of(file, load);
    step.verdict = Some(verdict);
    step.note = Some(why.to_owned());
    runs.tell(&Event::StepEnds { load, verdict, note: Some(why) });
}

/// Of the load that is being measured, which is the last one.
fn step_of(file: &mut SearchFile, load: u32) -> &mut SearchStep {
    if file.steps.last().is_none_or(|step| step.load != load || step.verdict.is_some()) {
        file.steps.push(SearchStep { load, verdict: None, note: None, runs: Vec::new() });
    }
    file.steps.last_mut().expect("a step was pushed where there was none")
}

fn finish(runs: &Runs, search: &Search, file: &mut SearchFile, state: RunState) {
    file.state = state;
    file.conclude(search.interval());
    if !file.steps.is_empty() {
        runs.keep(file, state);
    }
}

fn empty_file(plan: &Plan, settings: &SearchSettings) -> SearchFile {
    let interval = Search::new(settings.plan).interval();
    SearchFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        state: RunState::Running,
        origin: Origin::default(),
        name: plan.name().to_owned(),
        target: plan.target().map(ToString::to_string).unwrap_or_default(),
        vary: settings.shape.vary,
        objectives: settings.objectives.iter().map(ToString::to_string).collect(),
        plan: settings.plan,
        interval,
        answer: interval.answer(),
        verdict: None,
        steps: Vec::new(),
    }
}
