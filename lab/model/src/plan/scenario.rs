//! A group of users (or a stream of starts) with a load of its own, and what each of them does in an iteration.

use crate::load::{LoadModel, Pacing, ThinkTime};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// What a user does in one iteration, by the names of requests.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowDraft {
    /// One of all requests, by their own weights.
    AnyRequest,
    /// One of these, by weight.
    Mix(Vec<(String, u32)>),
    /// All of these, in order.
    Sequence(Vec<StepDraft>),
    /// What the run's workload decides; targets and names of requests are known once they are asked for.
    Script,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StepDraft {
    pub request: String,
    /// Before the next step; after the last one the scenario's pacing holds.
    pub think_time: ThinkTime,
}

/// What a user does once a step of a sequence has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterFailure {
    /// Its iteration ends; waits follow as after any other.
    #[default]
    EndIteration,
    /// It goes on, as long as no step needs a value that was not captured.
    Continue,
}

/// How long an iteration may go on when its load model wants no more of it. What waits for news then is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    /// After the scenario's end.
    pub stop: Nanos,
    /// After its user's part in a ramp has ended; unbounded where there is none, the scenario's end excepted.
    pub ramp_down: Option<Nanos>,
}

impl Grace {
    /// Users are cut off between two steps at the end, and finish their iterations before.
    pub const NONE: Self = Self { stop: Nanos::ZERO, ramp_down: None };
}

/// What a plan says of one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioDraft {
    pub name: String,
    /// When its load begins, from the start of the run.
    pub start: Nanos,
    pub load: LoadModel,
    pub pacing: Pacing,
    pub flow: FlowDraft,
    pub after_failure: AfterFailure,
    pub grace: Grace,
    /// An iteration that ends earlier keeps its user until then.
    pub iteration_min: Nanos,
    /// Of the users that serve starts, how many are ready from the beginning. Others serve one only where none of these is
    /// free; once they have, they are ready too.
    pub users_ready: u32,
    pub tags: BTreeMap<String, String>,
}

impl ScenarioDraft {
    /// From the start of the run, without waits, any of the plan's requests.
    pub fn new(name: &str, load: LoadModel) -> Self {
        Self {
            name: name.to_owned(),
            start: Nanos::ZERO,
            load,
            pacing: Pacing::ThinkTime(ThinkTime::None),
            flow: FlowDraft::AnyRequest,
            after_failure: AfterFailure::EndIteration,
            grace: Grace::NONE,
            iteration_min: Nanos::ZERO,
            users_ready: u32::MAX,
            tags: BTreeMap::new(),
        }
    }
}

/// What a user does in one iteration, by indices into the plan's requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Flow {
    /// One request, drawn by weight; the weights' sum is above 0.
    Mix { weights: Vec<(usize, u32)>, sum: u32 },
    /// Never empty.
    Sequence(Vec<FlowStep>),
    /// The workload's program decides.
    Script,
}

impl Flow {
    /// True where an iteration may send this request.
    pub fn sends(&self, request: usize) -> bool {
        match self {
            Self::Mix { weights, .. } => {
                weights.iter().any(|(index, weight)| *index == request && *weight > 0)
            }
            Self::Sequence(steps) => steps.iter().any(|step| step.request == request),
            Self::Script => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowStep {
    pub request: usize,
    pub think_time: ThinkTime,
}

/// A checked scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub name: String,
    pub start: Nanos,
    pub load: LoadModel,
    pub pacing: Pacing,
    pub flow: Flow,
    pub after_failure: AfterFailure,
    pub grace: Grace,
    pub iteration_min: Nanos,
    pub users_ready: u32,
    /// Requests of an iteration of a mix, which are written before the first response is awaited; 1 of other flows.
    pub pipeline: u32,
    pub tags: BTreeMap<String, String>,
}

impl Scenario {
    /// When the last of its load has been started.
    pub fn end(&self) -> Nanos {
        self.start.plus(self.load.duration())
    }

    pub fn is_script(&self) -> bool {
        self.flow == Flow::Script
    }

    /// The most requests a second that its waits allow, were every answer immediate; none without waits, and none
    /// where the load model asks for a rate itself.
    pub fn rate_cap(&self) -> Option<f64> {
        if self.load.rate_max().is_some() {
            return None;
        }
        let distance = self.iteration_distance().as_secs_f64();
        let requests = match &self.flow {
            // What a script does in an iteration is not known beforehand.
            Flow::Script => return None,
            Flow::Mix { .. } => f64::from(self.pipeline),
            Flow::Sequence(steps) => steps.len() as f64,
        };
        (distance > 0.0).then(|| f64::from(self.load.users_max()) * requests / distance)
    }

    fn iteration_distance(&self) -> Nanos {
        let within = match &self.flow {
            Flow::Mix { .. } | Flow::Script => Nanos::ZERO,
            Flow::Sequence(steps) => {
                let but_last = &steps[..steps.len() - 1];
                but_last.iter().fold(Nanos::ZERO, |sum, step| sum.plus(step.think_time.mean()))
            }
        };
        match self.pacing {
            Pacing::ThinkTime(think_time) => within.plus(think_time.mean()),
            Pacing::Fixed { interval_ns } => within.max(interval_ns),
        }
    }
}
