//! Reads of random nodes: as fast as a closed loop goes, then at constant rates: the highest that holds, the lowest at
//! which latency collapses, and the first of them for longer.

use prony_load::{Output, RunError};
use prony_model::result::Progress;
use prony_model::search::{SearchAnswer, SearchFile, SearchPlan, SearchStep, StepShape, StepVerdict, Vary};
use prony_model::verdict::conclusion::RunVerdict;
use prony_model::{Conclusion, LoadModel, Nanos, ResultFile, Threshold, WindowKind};
use prony_model::{
    measurement::{
        figures::{Figures, PERCENTILES},
        histogram::Latencies,
    },
    result::RunState,
};
use prony_runs::{Event, ManyOptions, SearchSettings, find, observe};
use serde::Serialize;

use super::{
    steps::GraphSurroundings,
    study::{CONNECTIONS, GraphPace, GraphQuestions, OBJECTIVES},
};
use crate::{
    display::Display,
    durability::Durability,
    error::LabError,
    markdown::{milliseconds, thousands},
    runs::{Measured, whole},
    statistics::Statistics,
};

/// The search begins at this share of what the closed loop reached …
const START_SHARE: f64 = 0.9;
/// … and its first leap is by this.
const GROWTH: f64 = 1.1;
const RATE_MIN: u32 = 10;
const RATE_MAX: u32 = 10_000_000;

/// What reads of random nodes showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    pub processors: usize,
    pub durability: Durability,
    pub closed: Statistics,
    /// Processor time of the engine for each request of the closed loop.
    pub closed_engine_us: Option<f64>,
    /// What beside the engine was short in the closed loop.
    pub outside_limit: Option<String>,
    /// Nothing where it was stopped before.
    pub answer: Option<SearchAnswer>,
    /// By rising rate.
    pub steps: Vec<RateStep>,
    /// At the highest rate that holds, for longer.
    pub sustained: Option<Sustained>,
}

/// One rate of the search; the figures are those of its last run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateStep {
    pub asked_per_second: u32,
    pub verdict: Option<StepVerdict>,
    pub runs: usize,
    /// Why it did not pass; empty where it did.
    pub reason: String,
    #[serde(flatten)]
    pub latency: Spectrum,
}

/// The constant rate in the end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sustained {
    pub asked_per_second: u32,
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    pub ok: u64,
    pub ko: u64,
    /// It kept the objectives of the search for all of its length.
    pub is_kept: bool,
    /// Why that cannot be judged; then it is not kept either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_limit: Option<String>,
    #[serde(flatten)]
    pub latency: Spectrum,
    pub file: String,
}

/// Response times from when requests were due.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spectrum {
    pub reached_share: Option<f64>,
    /// Pairs of percentile and milliseconds, up to 100 %; absent with too few samples.
    pub percentiles_ms: Vec<(f64, Option<f64>)>,
}

impl Spectrum {
    fn of(figures: &Figures, reached_share: Option<f64>) -> Self {
        let times = Latencies::from_base64(&figures.histograms.response).unwrap_or_default();
        let at = |percentile: f64| {
            // The last one is exact in the figures, and rounded in the histogram.
            let exact = figures.response_time.percentile(percentile);
            exact.or_else(|| times.percentile(percentile)).map(Nanos::as_millis_f64)
        };
        Self { reached_share, percentiles_ms: PERCENTILES.map(|p| (p, at(p))).to_vec() }
    }

    pub fn at(&self, percentile: f64) -> Option<f64> {
        self.percentiles_ms.iter().find(|(p, _)| (p - percentile).abs() < 1e-9)?.1
    }
}

impl Rates {
    /// The highest rate that holds.
    pub fn holds(&self) -> Option<u32> {
        match self.answer? {
            SearchAnswer::Between { passed, .. } | SearchAnswer::AtLeast { passed } => Some(passed),
            SearchAnswer::LabLimited { passed, .. } => passed,
            SearchAnswer::Below { .. } | SearchAnswer::Unknown => None,
        }
    }

    /// The lowest rate at which latency collapses.
    pub fn collapses(&self) -> Option<&RateStep> {
        let (SearchAnswer::Between { failed, .. } | SearchAnswer::Below { failed }) = self.answer? else {
            return None;
        };
        self.steps.iter().find(|step| step.asked_per_second == failed)
    }
}

/// Measures all of it. `None` where it was stopped in the closed loop.
pub(super) fn measure(
    surroundings: &GraphSurroundings<'_>,
    pace: &GraphPace,
    questions: &GraphQuestions,
) -> Result<Option<Rates>, LabError> {
    let Some(mut rates) = closed_loop(surroundings, pace, questions)? else { return Ok(None) };
    if !surroundings.runs.stop.is_stopped() {
        let file = search(surroundings, pace, questions, rates.closed.requests_per_second)?;
        rates.answer = Some(file.answer);
        rates.steps = file.steps_by_load().into_iter().map(rate_step).collect();
    }
    if let Some(rate) = rates.holds()
        && !surroundings.runs.stop.is_stopped()
    {
        rates.sustained = sustain(surroundings, pace, questions, rate)?;
    }
    Ok(Some(rates))
}

fn closed_loop(
    surroundings: &GraphSurroundings<'_>,
    pace: &GraphPace,
    questions: &GraphQuestions,
) -> Result<Option<Rates>, LabError> {
    let plan = questions.reads(LoadModel::constant(CONNECTIONS, pace.closed)).check();
    let plan = plan.expect("reads in a closed loop make sense");
    let rest = Nanos(pace.rates_time().0 - pace.closed.0);
    let watch = surroundings.display.begin("Reads, closed loop".to_owned(), pace.closed, rest);
    let processors = surroundings.processors.len();
    let engine = Measured { process: surroundings.process, processors: surroundings.processors };
    let file = format!("reads-closed-{processors}cpu.prony.json");
    let Some((result, used)) = surroundings.runs.measure(&plan, &file, engine, watch)? else {
        return Ok(None);
    };
    let closed = Statistics::of(whole(&result));
    let line = format!("Reads, closed loop: {}/s", thousands(closed.requests_per_second.round() as u64));
    surroundings.display.line(&line);
    Ok(Some(Rates {
        processors,
        durability: surroundings.durability,
        closed,
        closed_engine_us: used.us_per_request,
        outside_limit: used.outside_limit,
        answer: None,
        steps: Vec::new(),
        sustained: None,
    }))
}

fn search(
    surroundings: &GraphSurroundings<'_>,
    pace: &GraphPace,
    questions: &GraphQuestions,
    closed_per_s: f64,
) -> Result<SearchFile, LabError> {
    let settings = SearchSettings {
        plan: SearchPlan {
            start: ((closed_per_s * START_SHARE) as u32).clamp(RATE_MIN, RATE_MAX),
            lowest: RATE_MIN,
            highest: RATE_MAX,
            growth: GROWTH,
            resolution: pace.resolution,
            repeats: pace.repeats,
            steps_max: pace.steps_max,
        },
        shape: StepShape { vary: Vary::Rate, ramp: pace.ramp, hold: pace.hold, pool: Some(CONNECTIONS) },
        objectives: objectives(),
    };
    let plan = questions.reads(LoadModel::open(1.0, pace.hold, CONNECTIONS)).check();
    let plan = plan.expect("reads at a rate make sense");
    let runs = &surroundings.runs;
    let file = runs.directory.join(format!("reads-search-{}cpu.prony.json", surroundings.processors.len()));
    let options = ManyOptions {
        threads: runs.threads,
        output: Output::File(file),
        command_line: runs.command_line.to_vec(),
        stop: runs.stop.clone(),
        observe: Some(Box::new(|_| observe::open(&[]))),
        watch: Box::new(watch(surroundings.display.clone(), *pace)),
        ..ManyOptions::default()
    };
    Ok(find(&plan.into(), &settings, options)?)
}

fn objectives() -> Vec<Threshold> {
    Threshold::parse_list(OBJECTIVES).expect("the objectives are written as objectives are")
}

type Watch = Box<dyn FnMut(&Progress)>;

/// Shows the runs of a search.
fn watch(display: Display, pace: GraphPace) -> impl FnMut(&Event<'_>) {
    let mut run: Option<Watch> = None;
    move |event| match event {
        Event::StepRunBegins { load, .. } => {
            let title = format!("Reads at {}/s", thousands((*load).into()));
            run = Some(Box::new(display.begin(title, pace.ramp.plus(pace.hold), pace.sustained)));
        }
        Event::Second(progress) => {
            if let Some(run) = &mut run {
                run(progress);
            }
        }
        Event::StepRunEnds { load, run } => {
            let spectrum = spectrum(&run.result);
            let verdict = if run.reason.is_empty() { "holds" } else { &run.reason };
            display.line(&rate_line(*load, &spectrum, verdict));
        }
        Event::Warning(warning) => display.line(warning),
        _ => {}
    }
}

fn rate_line(load: u32, spectrum: &Spectrum, verdict: &str) -> String {
    let time = |percentile| spectrum.at(percentile).map_or("-".to_owned(), milliseconds);
    format!(
        "Reads at {}/s: p99 {}, p99.9 {}, max {}: {verdict}",
        thousands(load.into()),
        time(99.0),
        time(99.9),
        time(100.0)
    )
}

/// Of the time in which the rate was held.
fn spectrum(result: &ResultFile) -> Spectrum {
    let held = result.window(WindowKind::Steady).unwrap_or(result.headline());
    Spectrum::of(&held.all, held.rate_reached)
}

fn rate_step(step: &SearchStep) -> RateStep {
    let last = step.runs.last();
    RateStep {
        asked_per_second: step.load,
        verdict: step.verdict,
        runs: step.runs.len(),
        reason: last.map_or_else(|| step.note.clone().unwrap_or_default(), |run| run.reason.clone()),
        latency: last.map_or_else(Spectrum::default, |run| spectrum(&run.result)),
    }
}

fn sustain(
    surroundings: &GraphSurroundings<'_>,
    pace: &GraphPace,
    questions: &GraphQuestions,
    rate: u32,
) -> Result<Option<Sustained>, RunError> {
    let mut draft = questions.reads(LoadModel::open(rate.into(), pace.sustained, CONNECTIONS));
    draft.thresholds = objectives();
    let plan = draft.check().expect("reads at a rate make sense");
    let title = format!("Reads at {}/s, sustained", thousands(rate.into()));
    let watch = surroundings.display.begin(title, pace.sustained, Nanos::ZERO);
    let file = format!("reads-sustained-{}cpu.prony.json", surroundings.processors.len());
    let result = surroundings.runs.run(&plan, &file, watch)?;
    if result.state == RunState::Stopped {
        return Ok(None);
    }
    let figures = whole(&result);
    let latency = spectrum(&result);
    let verdict = RunVerdict::of_kept(&result);
    let is_kept = verdict.conclusion == Conclusion::Passed;
    let outside_limit = (verdict.conclusion == Conclusion::Void).then(|| verdict.reasons.join("; "));
    let verdict = match verdict.conclusion {
        Conclusion::Passed => "holds",
        Conclusion::Failed => "does not hold for longer",
        Conclusion::Void => "cannot be judged",
    };
    surroundings.display.line(&rate_line(rate, &latency, verdict));
    Ok(Some(Sustained {
        asked_per_second: rate,
        length: pace.sustained,
        ok: figures.successes,
        ko: figures.failures,
        is_kept,
        outside_limit,
        latency,
        file,
    }))
}
