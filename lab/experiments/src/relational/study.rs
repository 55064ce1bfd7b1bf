//! What the study asks: its queries verbatim, its parameters, its objective, and how long a step takes.

use prony_model::{LoadModel, Nanos, Plan, PlanDraft, RequestDraft, Target, ThinkTime, Variable};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

use super::published::{self, Published};

/// Served means: 95 of 100 answers come within this time …
pub(super) const P95_MAX: Nanos = Nanos::from_millis(500);
/// … and less than this share of them fail.
pub(super) const ERROR_SHARE_MAX: f64 = 0.01;
/// `$offset` of the study's scripts.
const OFFSET_MAX: i64 = 100;
/// Enough to leave a first guess that is wrong by a factor of four.
const APPROACH_STEPS_MAX: u32 = 8;
/// How many different texts the create mutation draws from.
const NAMES: usize = 1_000;

/// One of the study's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    NoNest,
    OneNest,
    TwoNests,
    Create,
}

impl Operation {
    pub const QUERIES: [Self; 3] = [Self::NoNest, Self::OneNest, Self::TwoNests];

    /// The study's words.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoNest => "No nest",
            Self::OneNest => "1 nest",
            Self::TwoNests => "2 nests",
            Self::Create => "Create",
        }
    }

    /// For names of files and requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoNest => "no-nest",
            Self::OneNest => "one-nest",
            Self::TwoNests => "two-nests",
            Self::Create => "create",
        }
    }

    /// The GraphQL text as the study has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoNest => {
                "query queryVenues($limit: Int!, $offset: Int!, $id_gt: Int!) {
  venues(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) {
    id
    name
    postal_code
  }
}"
            }
            Self::OneNest => {
                "query queryVenueMeetups($limit: Int!, $offset: Int!, $id_gt: Int!) {
  venues(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) {
    id
    name
    postal_code
    meetups(limit: $limit, sort: { id: desc }) {
      id
      title
    }
  }
}"
            }
            Self::TwoNests => {
                "query queryMeetupsWithMembers($limit: Int!, $offset: Int!, $id_gt: Int!) {
  meetups(limit: $limit, offset: $offset, where: { id: { gt: $id_gt } }) {
    id
    title
    meetups_members(limit: $limit) {
      member {
        id
        email
      }
    }
  }
}"
            }
            Self::Create => {
                "mutation createVenue($name: String!, $postal_code: String!) {
  createVenue(name: $name, postal_code: $postal_code) {
    id
  }
}"
            }
        }
    }

    /// How long a user waits after an answer before the next request.
    pub fn think_time(self) -> Nanos {
        Nanos::from_secs(if self == Self::Create { 1 } else { 2 })
    }

    pub fn published(self, resolver: &str, processors: usize, limit: u32) -> Option<Published> {
        let nests = match self {
            Self::NoNest => 0,
            Self::OneNest => 1,
            Self::TwoNests => 2,
            Self::Create => return (processors == 1).then_some(published::CREATE),
        };
        published::query(resolver, processors, limit, nests)
    }
}

/// One cell of the table: an operation and, for queries, its `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Workload {
    pub operation: Operation,
    pub limit: u32,
    /// `$id_gt` is drawn from 0 to this: the number of rows.
    pub rows: u32,
    pub seed: u64,
}

impl Workload {
    /// Users with think time: the study's load.
    pub fn users(&self, target: &Target, users: u32, pace: &RelationalPace) -> Plan {
        let load = LoadModel::ramp_and_hold(users, pace.ramp, pace.hold);
        let think = ThinkTime::constant(self.operation.think_time());
        self.plan(target, load, think, Nanos::ZERO)
    }

    /// As fast as a few users get their answers: what the engine can do at all.
    pub fn saturation(&self, target: &Target, users: u32, length: Nanos) -> Plan {
        let warm_up = Nanos(length.0 / 5);
        self.plan(target, LoadModel::constant(users, length), ThinkTime::None, warm_up)
    }

    /// Variables of one request, for a look at its answer.
    pub fn sample_variables(&self) -> Value {
        match self.operation {
            Operation::Create => json!({ "name": "sample", "postal_code": "sample" }),
            _ => json!({ "limit": self.limit, "offset": 0, "id_gt": 0 }),
        }
    }

    fn plan(&self, target: &Target, load: LoadModel, think: ThinkTime, warm_up: Nanos) -> Plan {
        let mut draft = PlanDraft::new(self.operation.name(), target.clone(), load).with_think_time(think);
        draft.warm_up = warm_up;
        draft.seed = self.seed;
        draft.variables = self.variables();
        let slots = self.slots();
        draft.requests =
            vec![RequestDraft::graphql(self.operation.name(), "/graphql", self.operation.text(), slots)];
        draft.check().expect("the study's plans make sense")
    }

    fn variables(&self) -> Vec<Variable> {
        if self.operation != Operation::Create {
            return vec![
                Variable::range("offset", 0, OFFSET_MAX),
                Variable::range("id_gt", 0, i64::from(self.rows)),
            ];
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut name =
            || -> String { (0..8).map(|_| char::from(random.random_range(b'a'..=b'z'))).collect() };
        let names: Vec<Value> = (0..NAMES).map(|_| name().into()).collect();
        vec![Variable::list("text", &names, prony_model::data::variable::Order::Random)]
    }

    fn slots(&self) -> Map<String, Value> {
        let slots = match self.operation {
            Operation::Create => json!({ "name": "${text}", "postal_code": "${text}" }),
            _ => json!({ "limit": self.limit, "offset": "${offset}", "id_gt": "${id_gt}" }),
        };
        let Value::Object(slots) = slots else { unreachable!("json! was given an object") };
        slots
    }
}

/// How long things take and how close the search goes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct RelationalPace {
    pub name: &'static str,
    #[serde(rename = "probe_ns")]
    pub probe: Nanos,
    /// As long as the think time or longer, so that users ask at even distances and not all at once.
    #[serde(rename = "ramp_ns")]
    pub ramp: Nanos,
    #[serde(rename = "hold_ns")]
    pub hold: Nanos,
    /// The search's first leap and its resolution, as ratios of loads.
    pub growth: f64,
    pub resolution: f64,
    pub steps_max: u32,
    /// Length of each measurement of the resolver models.
    #[serde(rename = "saturation_ns")]
    pub saturation: Nanos,
}

impl RelationalPace {
    /// The default set in under three minutes.
    pub const QUICK: Self = Self {
        name: "quick",
        probe: Nanos::from_millis(1_000),
        ramp: Nanos::from_secs(2),
        hold: Nanos::from_secs(4),
        growth: 1.15,
        resolution: 1.15,
        steps_max: 3,
        saturation: Nanos::from_millis(1_500),
    };

    /// The study's own durations.
    pub const FULL: Self = Self {
        name: "full",
        probe: Nanos::from_secs(3),
        ramp: Nanos::from_secs(30),
        hold: Nanos::from_secs(30),
        growth: 1.1,
        resolution: 1.05,
        steps_max: 10,
        saturation: Nanos::from_secs(10),
    };

    pub fn step(&self) -> Nanos {
        self.ramp.plus(self.hold)
    }

    /// The short steps by which a search of long ones finds where to begin; none where its own are as short.
    pub fn approach(&self) -> Option<Self> {
        let approach = Self { name: "approach", steps_max: APPROACH_STEPS_MAX, ..Self::QUICK };
        (self.step() > Nanos(2 * approach.step().0)).then_some(approach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_makes_sense() {
        let target = Target::new("127.0.0.1", 1);
        for operation in [Operation::NoNest, Operation::OneNest, Operation::TwoNests, Operation::Create] {
            let workload = Workload { operation, limit: 50, rows: 100_000, seed: 1 };
            for pace in [RelationalPace::QUICK, RelationalPace::FULL] {
                assert_eq!(workload.users(&target, 1_300, &pace).users(), 1_300);
                assert!(pace.ramp >= operation.think_time());
            }
            assert_eq!(workload.saturation(&target, 64, Nanos::from_secs(5)).warm_up(), Nanos::from_secs(1));
        }
    }

    #[test]
    fn only_long_steps_are_approached_by_short_ones() {
        assert_eq!(RelationalPace::QUICK.approach(), None);
        let approach = RelationalPace::FULL.approach().unwrap();
        assert!(approach.step().0 * 5 < RelationalPace::FULL.step().0);
        assert_eq!(approach.approach(), None);
    }

    #[test]
    fn published_rows_belong_to_their_operation() {
        assert_eq!(Operation::TwoNests.published("subquery", 1, 100).map(|row| row.users), Some(400));
        assert_eq!(
            Operation::Create.published("subquery", 1, 50).map(|row| row.requests_per_second),
            Some(926)
        );
        assert_eq!(Operation::Create.published("subquery", 2, 50), None);
    }
}
