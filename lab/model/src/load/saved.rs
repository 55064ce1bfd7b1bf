//! Load models as result files hold them: by the names of the usual shapes, which readers know.

use super::{IterationBudget, LoadModel, RateStage, Spacing, Stage, UserSchedule};
use crate::units::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
enum SavedLoad {
    /// With a budget of iterations where one of these is there.
    Closed {
        stages: Vec<Stage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iterations: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shared_iterations: Option<u64>,
    },
    PerUserIterations {
        users: u32,
        iterations: u64,
        max_duration_ns: Nanos,
    },
    SharedIterations {
        users: u32,
        iterations: u64,
        max_duration_ns: Nanos,
    },
    Open {
        stages: Vec<RateStage>,
        spacing: Spacing,
        users: u32,
        wait_max_ns: Nanos,
    },
}

impl Serialize for LoadModel {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        SavedLoad::from(self.clone()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for LoadModel {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        SavedLoad::deserialize(from).map(Self::from)
    }
}

impl From<LoadModel> for SavedLoad {
    fn from(load: LoadModel) -> Self {
        let LoadModel { users, budget, arrivals } = load;
        if let Some(arrivals) = arrivals {
            let (users, wait_max_ns) = (users.users_max(), arrivals.wait_max);
            return Self::Open { stages: arrivals.stages, spacing: arrivals.spacing, users, wait_max_ns };
        }
        match (budget, users.as_constant()) {
            (IterationBudget::EachUser(iterations), Some((users, max_duration_ns))) => {
                Self::PerUserIterations { users, iterations, max_duration_ns }
            }
            (IterationBudget::Shared(iterations), Some((users, max_duration_ns))) => {
                Self::SharedIterations { users, iterations, max_duration_ns }
            }
            _ => Self::Closed {
                stages: users.stages,
                iterations: budget.of_each_user(),
                shared_iterations: budget.shared(),
            },
        }
    }
}

impl From<SavedLoad> for LoadModel {
    fn from(saved: SavedLoad) -> Self {
        match saved {
            SavedLoad::Closed { stages, iterations, shared_iterations } => {
                let each = iterations.map(IterationBudget::EachUser);
                let budget = each.or(shared_iterations.map(IterationBudget::Shared));
                let users = UserSchedule { stages };
                Self { users, budget: budget.unwrap_or(IterationBudget::Unlimited), arrivals: None }
            }
            SavedLoad::PerUserIterations { users, iterations, max_duration_ns } => {
                Self::per_user_iterations(users, iterations, max_duration_ns)
            }
            SavedLoad::SharedIterations { users, iterations, max_duration_ns } => {
                Self::shared_iterations(users, iterations, max_duration_ns)
            }
            SavedLoad::Open { stages, spacing, users, wait_max_ns } => {
                Self::arrivals(stages, spacing, users, wait_max_ns)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(load: &LoadModel, expected: &Expect) {
        let text = serde_json::to_string(load).unwrap();
        expected.assert_eq(&text);
        assert_eq!(serde_json::from_str::<LoadModel>(&text).unwrap(), *load);
    }

    #[test]
    fn each_shape_is_written_under_its_name_and_read_back() {
        let second = Nanos::from_secs(1);
        check(
            &LoadModel::constant(2, second),
            &expect![[
                r#"{"model":"closed","stages":[{"duration_ns":0,"users":2},{"duration_ns":1000000000,"users":2}]}"#
            ]],
        );
        check(
            &LoadModel::per_user_iterations(2, 5, second),
            &expect![[
                r#"{"model":"per_user_iterations","users":2,"iterations":5,"max_duration_ns":1000000000}"#
            ]],
        );
        check(
            &LoadModel::shared_iterations(2, 5, second),
            &expect![[
                r#"{"model":"shared_iterations","users":2,"iterations":5,"max_duration_ns":1000000000}"#
            ]],
        );
        check(
            &LoadModel::open(5.0, second, 2),
            &expect![[
                r#"{"model":"open","stages":[{"duration_ns":0,"rate_per_s":5.0},{"duration_ns":1000000000,"rate_per_s":5.0}],"spacing":"even","users":2,"wait_max_ns":10000000000}"#
            ]],
        );
        check(
            &LoadModel {
                budget: IterationBudget::EachUser(5),
                ..LoadModel::ramp_and_hold(2, second, Nanos::from_secs(2))
            },
            &expect![[
                r#"{"model":"closed","stages":[{"duration_ns":1000000000,"users":2},{"duration_ns":2000000000,"users":2}],"iterations":5}"#
            ]],
        );
    }
}
