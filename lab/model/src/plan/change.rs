//! What a run changes of a plan that it was made of, small enough to travel: searches, comparisons and sweeps run one plan with many
//! loads, and each machine that takes a share of such a run makes the plan anew.

use super::faults::PlanFaults;
use super::{Plan, PlanDraft};
use crate::data::variable::{Order, Variable};
use crate::load::LoadModel;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The loads of a plan, its seed, its warm-up and the values that are set of its variables; all else is as the plan says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanChange {
    pub seed: u64,
    pub warm_up_ns: Nanos,
    /// By scenario: when its load begins, and the load.
    pub scenarios: Vec<(Nanos, LoadModel)>,
    /// Variables that have one value, which stands for all of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, Value)>,
}

/// Why a plan is not the one that a change was made for.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("the plan has {here} scenarios on this machine and {there} at the coordinator")]
    Scenarios { here: usize, there: usize },
    #[error("the plan has no variable `{0}` on this machine")]
    NoVariable(String),
    #[error(transparent)]
    Faults(#[from] PlanFaults),
}

impl PlanChange {
    /// All that makes another plan of the same file this one; without values of variables.
    pub fn of(plan: &Plan) -> Self {
        let scenarios = plan.scenarios().iter().map(|scenario| (scenario.start, scenario.load.clone()));
        Self {
            seed: plan.seed(),
            warm_up_ns: plan.warm_up(),
            scenarios: scenarios.collect(),
            values: Vec::new(),
        }
    }

    /// The plan with this change.
    pub fn apply(&self, plan: Plan) -> Result<Plan, ChangeError> {
        let mut draft = plan.into_draft();
        let (here, there) = (draft.scenarios.len(), self.scenarios.len());
        if here != there {
            return Err(ChangeError::Scenarios { here, there });
        }
        for (name, value) in &self.values {
            if !draft.set_value(name, value) {
                return Err(ChangeError::NoVariable(name.clone()));
            }
        }
        (draft.seed, draft.warm_up) = (self.seed, self.warm_up_ns);
        for (scenario, (start, load)) in draft.scenarios.iter_mut().zip(&self.scenarios) {
            scenario.start = *start;
            // What a load has beside what is saved of it is only known where it was made.
            if saved(&scenario.load) != saved(load) {
                scenario.load = load.clone();
            }
        }
        Ok(draft.check()?)
    }
}

fn saved(load: &LoadModel) -> Option<Value> {
    serde_json::to_value(load).ok()
}

impl PlanDraft {
    /// Gives a variable one value in place of all that it has; false where there is no such variable.
    pub fn set_value(&mut self, name: &str, value: &Value) -> bool {
        let is_meant = |variable: &&mut Variable| variable.name == name && !variable.is_captured();
        let found = self.variables.iter_mut().find(is_meant);
        found.is_some_and(|variable| {
            *variable = Variable::list(name, std::slice::from_ref(value), Order::Sequential);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::request::RequestDraft;
    use crate::plan::scenario::ScenarioDraft;
    use crate::plan::target::Target;
    use serde_json::json;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn plan(loads: &[LoadModel]) -> Plan {
        let mut draft = PlanDraft::new("p", Target::new("t", 80), loads[0].clone());
        let scenario =
            |(index, load): (usize, &LoadModel)| ScenarioDraft::new(&index.to_string(), load.clone());
        draft.scenarios = loads.iter().enumerate().map(scenario).collect();
        draft.variables = vec![Variable::list("größe", &[json!(1), json!(2)], Order::Random)];
        draft.requests = vec![RequestDraft::get("a", "/")];
        draft.check().unwrap()
    }

    #[test]
    fn a_plan_with_the_change_of_another_is_the_other_after_a_journey() {
        let own = plan(&[LoadModel::constant(3, SECOND), LoadModel::constant(1, SECOND)]);
        let mut draft = own.clone().into_draft();
        draft.scenarios[0].load = LoadModel::open(97.25, Nanos::from_secs(7), 40);
        draft.scenarios[1].start = SECOND;
        (draft.seed, draft.warm_up) = (u64::MAX, Nanos(1));
        assert!(draft.set_value("größe", &json!("ä")));
        let other = draft.check().unwrap();
        let change =
            PlanChange { values: vec![("größe".to_owned(), json!("ä"))], ..PlanChange::of(&other) };
        let text = serde_json::to_string(&change).unwrap();
        let change: PlanChange = serde_json::from_str(&text).unwrap();
        let changed = change.apply(own).unwrap();
        assert_eq!(format!("{changed:?}"), format!("{other:?}"));
    }

    #[test]
    fn another_plan_is_refused_with_what_differs() {
        let (one, two) =
            (plan(&[LoadModel::constant(3, SECOND)]), plan(&vec![LoadModel::constant(1, SECOND); 2]));
        let error = PlanChange::of(&two).apply(one.clone()).unwrap_err().to_string();
        assert_eq!(error, "the plan has 1 scenarios on this machine and 2 at the coordinator");
        let change = PlanChange { values: vec![("nix".to_owned(), json!(1))], ..PlanChange::of(&one) };
        assert!(change.apply(one).unwrap_err().to_string().contains("no variable `nix`"));
    }
}
