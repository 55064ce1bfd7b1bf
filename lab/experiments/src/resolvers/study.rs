//! What the study asks: the requests and think times of its `JMeter` plans, and how long each part takes.

use std::{fmt, str::FromStr};

use prony_model::data::variable::{Order, Values, Variable};
use prony_model::load::Stage;
use prony_model::plan::request::BodyDraft;
use prony_model::plan::scenario::{FlowDraft, ScenarioDraft};
use prony_model::subscription::{FanOutDraft, SubscriptionDraft, WAIT_MAX_DEFAULT};
use prony_model::{LoadModel, Nanos, Pacing, Plan, PlanDraft, RequestDraft, Target, ThinkTime};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::choice::{ChoiceError, choose};

/// Users who read, and as many who write.
pub(super) const USERS_EACH: u32 = 300;
const THINK_MAX: Nanos = Nanos::from_millis(75);

/// Users who join in each second of the search for the maximum …
pub(super) const USERS_PER_S: u32 = 20;
/// … and how long they wait at most.
const THROUGHPUT_THINK_MAX: Nanos = Nanos::from_millis(15);

/// Those who listen, and to how many donuts each.
pub(super) const CLIENTS: u32 = 500;
pub(super) const PER_CLIENT: u32 = 2;
/// Changes a second where each is for half of all: with 1 000 subscriptions as many events.
pub(super) const WIDE_PER_S: f64 = 2.0;
const SUBSCRIPTION: &str = "subscription($id: String!) { onDonutUpdated(id: $id) { id name flavor } }";
const CHANGE: &str = "mutation($id: String!, $name: String!) { addOrUpdateDonut(donut: { id: $id, name: $name, flavor: STRAWBERRY }) { id name flavor } }";

/// Of the memory profile.
pub(super) const MEMORY_USERS: u32 = 15;
const MEMORY_THINK_MAX: Nanos = Nanos::from_millis(30);
/// Of the requests behind the profile, which come as fast as they are answered.
pub(super) const SOAK_USERS: u32 = 64;
/// No part waits longer than this for a number of requests.
const ITERATIONS_TIME_MAX: Nanos = Nanos::from_secs(3_600);

pub(super) const QUERY: &str = r#"query { retrieveDonut(id: "1") { id name flavor } }"#;
pub(super) const MUTATION: &str = r#"mutation { addOrUpdateDonut(donut: { id: "1"  name: "BIG PINK", flavor: STRAWBERRY }) { id name flavor } }"#;
pub(super) const REST_PATH: &str = "/api/donuts/1";

/// One of the five tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Micro,
    Control,
    Throughput,
    Subscriptions,
    Memory,
}

impl Part {
    pub const ALL: [Self; 5] =
        [Self::Micro, Self::Control, Self::Throughput, Self::Subscriptions, Self::Memory];

    /// As the command line has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Control => "control",
            Self::Throughput => "throughput",
            Self::Subscriptions => "subscriptions",
            Self::Memory => "memory",
        }
    }
}

impl FromStr for Part {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        choose(text, "part of the experiment", &Self::ALL, Self::name)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is asked: GraphQL, or the control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    GraphQl,
    Rest,
}

impl Side {
    pub const fn label(self) -> &'static str {
        match self {
            Self::GraphQl => "GraphQL",
            Self::Rest => "REST",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GraphQl => "graphql",
            Self::Rest => "rest",
        }
    }

    fn reads(self) -> RequestDraft {
        match self {
            Self::GraphQl => RequestDraft::graphql("query", "/graphql", QUERY, Map::new()),
            Self::Rest => RequestDraft::get("query", REST_PATH),
        }
    }

    fn writes(self) -> RequestDraft {
        match self {
            Self::GraphQl => RequestDraft::graphql("mutation", "/graphql", MUTATION, Map::new()),
            Self::Rest => RequestDraft {
                method: "PUT".to_owned(),
                body: BodyDraft::Json(rest_body()),
                ..RequestDraft::get("mutation", REST_PATH)
            },
        }
    }
}

pub(super) fn rest_body() -> Value {
    json!({ "id": "1", "name": "donut 1", "flavor": "vanilla" })
}

/// How the users of GraphQL and of the control ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// As in the study.
    Thinking,
    /// At once after each answer.
    Saturated,
}

impl Manner {
    pub const ALL: [Self; 2] = [Self::Thinking, Self::Saturated];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Saturated => "saturated",
        }
    }
}

/// Who listens to what while donuts are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// Two subscriptions to each of many donuts, and users who change donuts with the study's think times.
    Few,
    /// Half of all subscriptions to each of two donuts, which are changed now and then.
    Half,
}

impl Audience {
    pub const ALL: [Self; 2] = [Self::Few, Self::Half];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Few => "an event to two",
            Self::Half => "an event to half of all",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Few => "few",
            Self::Half => "half",
        }
    }

    /// So many are listened to; all subscriptions are spread evenly over them.
    pub(super) const fn donuts(self) -> u32 {
        match self {
            Self::Few => CLIENTS * PER_CLIENT / 2,
            Self::Half => 2,
        }
    }
}

/// How much is measured and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ResolversPace {
    pub name: &'static str,
    /// Executions of each micro-benchmark with the plan cache; a tenth of it without.
    pub executions: u32,
    /// In which GraphQL and REST alternate.
    pub rounds: u32,
    /// Of each side in each round.
    #[serde(rename = "thinking_ns")]
    pub thinking: Nanos,
    #[serde(rename = "saturated_ns")]
    pub saturated: Nanos,
    /// How many users may join.
    pub users_max: u32,
    /// The search for the maximum ends when no second has been better for so long.
    pub plateau_seconds: u32,
    /// Of each audience.
    #[serde(rename = "subscriptions_ns")]
    pub subscriptions: Nanos,
    /// Of each of the users of the memory profile.
    pub memory_requests: u64,
    /// As fast as they are answered, behind it.
    pub soak_requests: u64,
}

impl ResolversPace {
    /// The default set in under four minutes.
    pub const QUICK: Self = Self {
        name: "quick",
        executions: 20_000,
        rounds: 3,
        thinking: Nanos::from_secs(4),
        saturated: Nanos::from_secs(3),
        users_max: 1_200,
        plateau_seconds: 8,
        subscriptions: Nanos::from_secs(8),
        memory_requests: 1_500,
        soak_requests: 500_000,
    };

    /// The study's numbers of requests; the ten thousand of each user of GraphQL and REST in five rounds.
    pub const FULL: Self = Self {
        name: "full",
        executions: 200_000,
        rounds: 5,
        thinking: Nanos::from_secs(75),
        saturated: Nanos::from_secs(30),
        users_max: 6_000,
        plateau_seconds: 30,
        subscriptions: Nanos::from_secs(60),
        memory_requests: 10_000,
        soak_requests: 10_000_000,
    };

    /// How long each run of GraphQL or REST takes.
    pub fn control(&self, manner: Manner) -> Nanos {
        match manner {
            Manner::Thinking => self.thinking,
            Manner::Saturated => self.saturated,
        }
    }

    /// Until the last user has joined.
    pub fn throughput(&self) -> Nanos {
        Nanos::from_millis(u64::from(self.users_max) * 1_000 / u64::from(USERS_PER_S))
    }

    /// Of the memory profile, were every answer immediate.
    pub fn memory(&self) -> Nanos {
        Nanos(MEMORY_THINK_MAX.0 / 2 * self.memory_requests)
    }

    /// Steps of a table.
    pub fn steps_of(&self, part: Part) -> u32 {
        match part {
            Part::Micro | Part::Throughput => 1,
            Part::Control => Manner::ALL.len() as u32 * 2 * self.rounds,
            Part::Subscriptions => Audience::ALL.len() as u32,
            Part::Memory => 2,
        }
    }

    /// About how long a part takes.
    pub fn time_of(&self, part: Part) -> Nanos {
        /// Of a server that is fast enough for the study.
        const SOAK_PER_S: u64 = 50_000;
        match part {
            Part::Micro => Nanos::from_micros(u64::from(self.executions) * 300),
            Part::Control => Nanos((self.thinking.0 + self.saturated.0) * 2 * u64::from(self.rounds)),
            Part::Throughput => self.throughput(),
            // Connecting takes about two seconds.
            Part::Subscriptions => Nanos((self.subscriptions.0 + 2_000_000_000) * Audience::ALL.len() as u64),
            Part::Memory => self.memory().plus(Nanos::from_secs(self.soak_requests / SOAK_PER_S)),
        }
    }
}

/// What plans are made of.
#[derive(Debug, Clone)]
pub(super) struct ResolversQuestions {
    pub target: Target,
    pub seed: u64,
}

impl ResolversQuestions {
    pub(super) fn new(address: &str, seed: u64) -> Self {
        let target = Target::parse(&format!("http://{address}")).expect("an engine's address is one");
        Self { target, seed }
    }

    /// Users who read and as many who write; `round` makes their choices other ones.
    pub(super) fn control(&self, side: Side, manner: Manner, round: u32, time: Nanos) -> Plan {
        let load = LoadModel::constant(USERS_EACH, time);
        let name = format!("{}-{}", side.name(), manner.name());
        let mut draft = PlanDraft::new(&name, self.target.clone(), load.clone());
        draft.seed = self.seed.wrapping_add(round.into());
        draft.requests = vec![side.reads(), side.writes()];
        draft.scenarios = draft
            .requests
            .iter()
            .map(|request| ScenarioDraft {
                flow: FlowDraft::Mix(vec![(request.name.clone(), 1)]),
                pacing: Pacing::ThinkTime(match manner {
                    Manner::Thinking => up_to(THINK_MAX),
                    Manner::Saturated => ThinkTime::None,
                }),
                ..ScenarioDraft::new(&request.name, load.clone())
            })
            .collect();
        // Connections are made in it, and plans.
        draft.warm_up = Nanos(time.0 / 5);
        draft.check().expect("the study's plans make sense")
    }

    /// Clients who listen, and from when all of them do users who change what they listen to.
    pub(super) fn subscriptions(&self, audience: Audience, time: Nanos) -> Plan {
        let load = match audience {
            Audience::Few => LoadModel::constant(USERS_EACH, time),
            Audience::Half => LoadModel::open(WIDE_PER_S, time, USERS_EACH),
        };
        let think = if audience == Audience::Few { up_to(THINK_MAX) } else { ThinkTime::None };
        let name = format!("subscriptions-{}", audience.name());
        let mut draft = PlanDraft::new(&name, self.target.clone(), load).with_think_time(think);
        draft.seed = self.seed;
        // None is donut 1, which stays as it is.
        let donuts: Vec<Value> =
            (0..audience.donuts()).map(|number| format!("lab-{number}").into()).collect();
        draft.variables = vec![
            Variable::list("heard", &donuts, Order::Sequential),
            Variable::list("changed", &donuts, Order::Random),
            Variable { name: "token".to_owned(), values: Values::Token { prefix: "t-".to_owned() } },
        ];
        let change = fields(json!({ "id": "${changed}", "name": "${token}" }));
        draft.requests = vec![RequestDraft::graphql("change", "/graphql", CHANGE, change)];
        let listeners = SubscriptionDraft {
            per_client: PER_CLIENT,
            variables: fields(json!({ "id": "${heard}" })),
            fan_out: Some(FanOutDraft {
                request: "change".to_owned(),
                token: None,
                key: Some("${heard}".to_owned()),
                request_key: Some("${changed}".to_owned()),
                wait_max: WAIT_MAX_DEFAULT,
            }),
            ..SubscriptionDraft::new("donuts", SUBSCRIPTION, CLIENTS)
        };
        draft.scenarios[0].start = listeners.ready();
        draft.subscriptions = vec![listeners];
        draft.check().expect("the plan makes sense")
    }

    /// Users who join one after the other and read.
    pub(super) fn joining(&self, users_max: u32, time: Nanos) -> Plan {
        let load = LoadModel::closed(vec![Stage::new(time, users_max)]);
        self.reads("throughput", load, up_to(THROUGHPUT_THINK_MAX))
    }

    /// The memory profile.
    pub(super) fn memory(&self, requests: u64) -> Plan {
        let load = LoadModel::per_user_iterations(MEMORY_USERS, requests, ITERATIONS_TIME_MAX);
        self.reads("memory", load, up_to(MEMORY_THINK_MAX))
    }

    /// The same query as fast as it is answered.
    pub(super) fn soak(&self, requests: u64) -> Plan {
        let load = LoadModel::shared_iterations(SOAK_USERS, requests, ITERATIONS_TIME_MAX);
        self.reads("memory-soak", load, ThinkTime::None)
    }

    fn reads(&self, name: &str, load: LoadModel, think: ThinkTime) -> Plan {
        let mut draft = PlanDraft::new(name, self.target.clone(), load).with_think_time(think);
        draft.seed = self.seed;
        draft.requests = vec![Side::GraphQl.reads()];
        draft.check().expect("the study's plans make sense")
    }
}

fn fields(object: Value) -> Map<String, Value> {
    let Value::Object(fields) = object else { unreachable!("`json!` was given an object") };
    fields
}

fn up_to(max: Nanos) -> ThinkTime {
    ThinkTime::Uniform { min_ns: Nanos::ZERO, max_ns: max }
}

/// The most requests a second that the study's users with think time can make.
pub(super) fn thinking_cap_per_s() -> f64 {
    f64::from(2 * USERS_EACH) / up_to(THINK_MAX).mean().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_makes_sense() {
        let questions = ResolversQuestions::new("127.0.0.1:1", 42);
        let second = Nanos::from_secs(1);
        for side in [Side::GraphQl, Side::Rest] {
            for manner in Manner::ALL {
                let plan = questions.control(side, manner, 1, second);
                assert_eq!((plan.users(), plan.duration(), plan.seed()), (600, second, 43));
            }
        }
        let joining =
            questions.joining(100, ResolversPace { users_max: 100, ..ResolversPace::QUICK }.throughput());
        assert_eq!((joining.users(), joining.duration()), (100, Nanos::from_secs(5)));
        for audience in Audience::ALL {
            let plan = questions.subscriptions(audience, second);
            assert_eq!((plan.subscriber_connections(), plan.users()), (500, 300), "{audience:?}");
            assert_eq!(plan.duration(), plan.subscribers_ready().plus(second));
        }
        assert_eq!(questions.memory(10).users(), 15);
        assert_eq!(questions.soak(10).users(), 64);
        assert!((thinking_cap_per_s() - 16_000.0).abs() < 1e-6);
    }

    #[test]
    fn parts_print_what_they_read() {
        for part in Part::ALL {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        let error = "all".parse::<Part>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`all` is no part of the experiment; write micro, control, throughput, subscriptions, memory"
        );
    }

    #[test]
    fn the_quick_form_takes_less_than_four_minutes() {
        let time =
            Part::ALL.iter().fold(Nanos::ZERO, |sum, part| sum.plus(ResolversPace::QUICK.time_of(*part)));
        assert!(time.0 < Nanos::from_secs(210).0, "{time}");
    }

    #[test]
    fn the_full_form_makes_as_many_requests_as_the_study() {
        let pace = ResolversPace::FULL;
        let time = pace.thinking.as_secs_f64() * f64::from(pace.rounds);
        assert!((time / up_to(THINK_MAX).mean().as_secs_f64() - 10_000.0).abs() < 1.0);
    }
}
