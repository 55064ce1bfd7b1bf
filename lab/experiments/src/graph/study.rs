//! What the study asks: its four steps verbatim, the reads at a rate, and how long each takes.

use prony_model::data::rows::{Cell, CellKind, Rows};
use prony_model::data::variable::{Feeder, Order, Values};
use prony_model::{ExpectedStatus, LoadModel, Nanos, Plan, PlanDraft, RequestDraft, Target, Variable};
use serde::Serialize;

/// The study's 32 users, for each of which Gatling opens six connections.
pub(super) const CONNECTIONS: u32 = 192;
/// What a rate must keep to hold: nearly all of it is started, next to nothing fails, and all but one of a thousand
/// answers come within the time of the study's slowest one at the rate that it held.
pub(super) const OBJECTIVES: &str = "p99.9<11ms,errors<0.1%,rate>=99%";
/// Types of relationships are `TYPE_1` to this one.
const RELATIONSHIP_TYPES: i64 = 9;
const TIMEOUT: Nanos = Nanos::from_secs(30);

/// The four steps, in the study's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphStep {
    CreateNodes,
    GetNodes,
    CreateRelationships,
    GetRelationships,
}

impl GraphStep {
    pub const ALL: [Self; 4] =
        [Self::CreateNodes, Self::GetNodes, Self::CreateRelationships, Self::GetRelationships];

    pub const fn label(self) -> &'static str {
        match self {
            Self::CreateNodes => "Create nodes",
            Self::GetNodes => "Get nodes",
            Self::CreateRelationships => "Create relationships",
            Self::GetRelationships => "Get relationships",
        }
    }

    /// For names of files and requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateNodes => "create-nodes",
            Self::GetNodes => "get-nodes",
            Self::CreateRelationships => "create-relationships",
            Self::GetRelationships => "get-relationships",
        }
    }

    fn request(self) -> RequestDraft {
        let (method, path, status) = match self {
            Self::CreateNodes => ("POST", "/db/rage/node/Node/${key}", 201),
            Self::GetNodes => ("GET", "/db/rage/node/Node/${key}", 200),
            Self::CreateRelationships => {
                ("POST", "/db/rage/node/Node/${key}/relationship/Node/${other}/TYPE_${type}", 201)
            }
            Self::GetRelationships => ("GET", "/db/rage/node/Node/${key}/relationships", 200),
        };
        RequestDraft {
            method: method.to_owned(),
            expect: ExpectedStatus::OneOf(vec![status]),
            headers: vec![("Accept".to_owned(), "application/json".to_owned())],
            ..RequestDraft::get(self.name(), path)
        }
    }
}

/// How much is made and how long things take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GraphPace {
    pub name: &'static str,
    /// As many at most.
    pub nodes: u32,
    /// Creating nodes ends after this time even where there are fewer.
    #[serde(rename = "create_ns")]
    pub create: Nanos,
    /// Each of the other three steps.
    #[serde(rename = "step_ns")]
    pub step: Nanos,
    #[serde(rename = "closed_ns")]
    pub closed: Nanos,
    /// Each step of the search for the rate.
    #[serde(rename = "ramp_ns")]
    pub ramp: Nanos,
    #[serde(rename = "hold_ns")]
    pub hold: Nanos,
    pub repeats: u32,
    pub steps_max: u32,
    pub resolution: f64,
    /// The constant rate in the end.
    #[serde(rename = "sustained_ns")]
    pub sustained: Nanos,
}

impl GraphPace {
    /// The default set in under three minutes.
    pub const QUICK: Self = Self {
        name: "quick",
        nodes: 1_000_000,
        create: Nanos::from_secs(5),
        step: Nanos::from_secs(4),
        closed: Nanos::from_secs(4),
        ramp: Nanos::from_millis(500),
        hold: Nanos::from_secs(3),
        repeats: 1,
        steps_max: 7,
        resolution: 1.05,
        sustained: Nanos::from_secs(10),
    };

    /// The study's nodes and durations.
    pub const FULL: Self = Self {
        name: "full",
        nodes: 3_000_000,
        create: Nanos::from_secs(600),
        step: Nanos::from_secs(60),
        closed: Nanos::from_secs(60),
        ramp: Nanos::from_secs(2),
        hold: Nanos::from_secs(10),
        repeats: 3,
        steps_max: 20,
        resolution: 1.02,
        sustained: Nanos::from_secs(70),
    };

    /// How long a step may take.
    pub fn step_time(&self, step: GraphStep) -> Nanos {
        if step == GraphStep::CreateNodes { self.create } else { self.step }
    }

    /// Of the four steps.
    pub fn steps_time(&self) -> Nanos {
        GraphStep::ALL.iter().fold(Nanos::ZERO, |sum, step| sum.plus(self.step_time(*step)))
    }

    /// Of the steps that come after this one.
    pub fn time_after(&self, step: GraphStep) -> Nanos {
        let later = GraphStep::ALL.iter().skip_while(|other| **other != step).skip(1);
        later.fold(Nanos::ZERO, |sum, step| sum.plus(self.step_time(*step)))
    }

    /// Of the reads at a rate; the search usually takes some of its steps only.
    pub fn rates_time(&self) -> Nanos {
        Nanos(self.closed.0 + self.ramp.plus(self.hold).0 * u64::from(self.rate_runs()) + self.sustained.0)
    }

    /// Runs that the search for a rate usually takes.
    pub fn rate_runs(&self) -> u32 {
        const STEPS_USUAL: u32 = 6;
        STEPS_USUAL.min(self.steps_max) * self.repeats
    }
}

/// What plans are made of: where the engine listens, and how many nodes there are.
#[derive(Debug, Clone)]
pub(super) struct GraphQuestions {
    pub target: Target,
    /// Keys are 0 to one less. Before nodes are created: how many keys there are for them at most.
    pub nodes: u32,
    pub seed: u64,
}

impl GraphQuestions {
    /// A step of the study, in a closed loop.
    pub(super) fn step(&self, step: GraphStep, time: Nanos) -> Plan {
        let load = match step {
            GraphStep::CreateNodes => LoadModel::shared_iterations(CONNECTIONS, self.nodes.into(), time),
            _ => LoadModel::constant(CONNECTIONS, time),
        };
        self.draft(step, load).check().expect("the study's plans make sense")
    }

    /// Reads of random nodes at a load of any kind.
    pub(super) fn reads(&self, load: LoadModel) -> PlanDraft {
        self.draft(GraphStep::GetNodes, load)
    }

    fn draft(&self, step: GraphStep, load: LoadModel) -> PlanDraft {
        let mut draft = PlanDraft::new(step.name(), self.target.clone(), load);
        draft.seed = self.seed;
        draft.timeout = TIMEOUT;
        draft.requests = vec![step.request()];
        let any_node = |name| Variable::range(name, 0, i64::from(self.nodes.max(1)) - 1);
        draft.variables = match step {
            GraphStep::CreateNodes => vec![self.keys()],
            GraphStep::CreateRelationships => {
                vec![any_node("key"), any_node("other"), Variable::range("type", 1, RELATIONSHIP_TYPES)]
            }
            GraphStep::GetNodes | GraphStep::GetRelationships => vec![any_node("key")],
        };
        draft
    }

    /// 0, 1, 2, …, over all users.
    fn keys(&self) -> Variable {
        let mut rows = Rows::new(Vec::new());
        for key in 0..self.nodes {
            let text = key.to_string();
            let cell = Cell { kind: CellKind::Json, text: text.as_bytes() };
            rows.push(cell).expect("as many keys as there are numbers of 32 bits are below the limits");
        }
        Variable { name: "key".to_owned(), values: Values::Rows(Feeder::new(rows, Order::Unique, "keys")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> GraphQuestions {
        GraphQuestions { target: Target::new("127.0.0.1", 1), nodes: 3, seed: 1 }
    }

    #[test]
    fn every_plan_makes_sense() {
        for step in GraphStep::ALL {
            let plan = questions().step(step, Nanos::from_secs(1));
            assert_eq!((plan.users(), plan.duration()), (CONNECTIONS, Nanos::from_secs(1)));
        }
        assert!(questions().reads(LoadModel::open(100.0, Nanos::from_secs(1), 4)).check().is_ok());
        assert!(prony_model::Threshold::parse_list(OBJECTIVES).is_ok());
    }

    #[test]
    fn the_quick_form_takes_less_than_three_minutes() {
        let pace = GraphPace::QUICK;
        assert!(pace.steps_time().0 * 3 + pace.rates_time().0 < Nanos::from_secs(150).0);
    }
}
