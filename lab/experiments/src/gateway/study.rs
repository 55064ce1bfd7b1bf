//! What the study asks: three operations, the numbers of users, and how long each step takes.

use std::{fmt, str::FromStr};

use prony_model::data::variable::{Order, Variable};
use prony_model::plan::wire::TlsOptions;
use prony_model::{LoadModel, Nanos, Plan, PlanDraft, RequestDraft, Target};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    choice::{ChoiceError, choose},
    markdown::thousands,
};

/// Of the study, and one between them.
pub(super) const USERS: [u32; 5] = [50, 100, 200, 500, 1_000];
/// Who asks while the layers are compared: enough to keep the gateway busy.
pub(super) const LAYER_USERS: u32 = 64;

/// One of the study's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Query {
    Q1,
    Q2,
    Q3,
}

impl Query {
    pub const ALL: [Self; 3] = [Self::Q1, Self::Q2, Self::Q3];

    /// As the command line has it, and in names of files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Q1 => "q1",
            Self::Q2 => "q2",
            Self::Q3 => "q3",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Q1 => "Q1",
            Self::Q2 => "Q2",
            Self::Q3 => "Q3",
        }
    }

    pub(super) const fn root_fields(self) -> usize {
        match self {
            Self::Q1 => 1,
            Self::Q2 => 4,
            Self::Q3 => 9,
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Q1 => include_str!("../../../../examples/gateway/q1.graphql"),
            Self::Q2 => include_str!("../../../../examples/gateway/q2.graphql"),
            Self::Q3 => include_str!("../../../../examples/gateway/q3.graphql"),
        }
    }
}

impl FromStr for Query {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        choose(text, "operation of the study", &Self::ALL, Self::name)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GatewayPart {
    /// Operations by numbers of users, as in the study.
    Users,
    /// What each layer of the gateway costs.
    Layers,
}

impl GatewayPart {
    pub const ALL: [Self; 2] = [Self::Users, Self::Layers];

    /// As the command line has it.
    const fn name(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Layers => "layers",
        }
    }
}

impl FromStr for GatewayPart {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        choose(text, "part of the experiment", &Self::ALL, Self::name)
    }
}

impl fmt::Display for GatewayPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much is measured and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GatewayPace {
    pub name: &'static str,
    /// Cut off the beginning of each step.
    #[serde(rename = "warm_up_ns")]
    pub warm_up: Nanos,
    /// What a step's figures are about.
    #[serde(rename = "hold_ns")]
    pub hold: Nanos,
    /// In which the layers alternate.
    pub rounds: u32,
    /// Of each layer in each round.
    #[serde(rename = "layer_ns")]
    pub layer: Nanos,
    /// How many of the operations the layers are compared with.
    pub layer_queries: usize,
}

impl GatewayPace {
    /// The default set in under four minutes.
    pub const QUICK: Self = Self {
        name: "quick",
        warm_up: Nanos::from_millis(1_000),
        hold: Nanos::from_millis(3_000),
        rounds: 4,
        layer: Nanos::from_millis(2_000),
        layer_queries: 1,
    };

    /// The study's durations: 15 minutes a step, of which 5 are not counted.
    pub const FULL: Self = Self {
        name: "full",
        warm_up: Nanos::from_secs(300),
        hold: Nanos::from_secs(600),
        rounds: 10,
        layer: Nanos::from_secs(10),
        layer_queries: Query::ALL.len(),
    };

    pub fn step(&self) -> Nanos {
        self.warm_up.plus(self.hold)
    }
}

/// How a gateway is asked.
#[derive(Debug, Clone)]
pub(super) struct GatewayRequests<'a> {
    pub target: Target,
    pub tls: TlsOptions,
    /// Each request has one of these; none where the gateway asks for no token.
    pub tokens: &'a [Value],
    pub seed: u64,
}

impl GatewayRequests<'_> {
    /// Users who ask again as soon as they have their response.
    pub(super) fn plan(&self, query: Query, users: u32, warm_up: Nanos, hold: Nanos) -> Plan {
        let load = LoadModel::constant(users, warm_up.plus(hold));
        let name = format!("{}, {} users", query.label(), thousands(users.into()));
        let mut draft = PlanDraft::new(&name, self.target.clone(), load);
        draft.warm_up = warm_up;
        draft.seed = self.seed;
        draft.wire.tls = self.tls.clone();
        let mut request = RequestDraft::graphql(query.name(), "/graphql", query.text(), Map::new());
        if !self.tokens.is_empty() {
            draft.variables = vec![Variable::list("token", self.tokens, Order::Random)];
            request.headers.push(("Authorization".to_owned(), "Bearer ${token}".to_owned()));
        }
        draft.requests = vec![request];
        draft.check().expect("the study's plans make sense")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_makes_sense() {
        let tokens = ["a.b.c".into(), "d.e.f".into()];
        for tokens in [&tokens[..], &[]] {
            let requests = GatewayRequests {
                target: Target::new("127.0.0.1", 1),
                tls: TlsOptions::default(),
                tokens,
                seed: 7,
            };
            for query in Query::ALL {
                let plan = requests.plan(query, 50, Nanos::from_secs(1), Nanos::from_secs(3));
                assert_eq!((plan.users(), plan.duration()), (50, Nanos::from_secs(4)));
            }
        }
    }

    #[test]
    fn operations_have_the_study_s_numbers_of_root_fields() {
        for query in Query::ALL {
            // Root fields are indented once, in a text of this shape.
            let roots = query.text().lines().filter(|line| {
                let indent = line.len() - line.trim_start().len();
                indent == 2 && line.contains('{')
            });
            assert_eq!(roots.count(), query.root_fields(), "{query}");
        }
    }

    #[test]
    fn operations_print_what_they_read() {
        for query in Query::ALL {
            assert_eq!(query.to_string().parse(), Ok(query));
        }
        assert_eq!(
            "q4".parse::<Query>().unwrap_err().to_string(),
            "`q4` is no operation of the study; write q1, q2, q3"
        );
    }
}
