//! A plan as it was asked for, and its check: a [`Plan`], or every fault at once.

use super::Plan;
use super::faults::{Faults, Field, Place, PlanFaults, SubscriptionField};
use crate::data::variable::Variable;
use crate::load::{LoadModel, Pacing, ThinkTime, USERS_MAX};
use crate::plan::request::{Request, RequestDraft};
use crate::plan::scenario::{Flow, FlowDraft, FlowStep, Scenario, ScenarioDraft};
use crate::plan::target::{NamedTarget, Target};
use crate::plan::values;
use crate::plan::wire::WireOptions;
use crate::subscription::check::Context;
use crate::subscription::{SUBSCRIPTIONS_MAX, Subscription, SubscriptionDraft};
use crate::units::Nanos;
use crate::verdict::threshold::{Metric, Scope, Threshold};
use std::collections::{BTreeMap, BTreeSet};

/// Named requests in one plan: each has histograms of its own.
pub const REQUESTS_MAX: usize = 200;
/// Scenarios in one plan.
pub const SCENARIOS_MAX: usize = 100;

/// What a plan file, a command line or a program asks for, before it was looked at as a whole.
#[derive(Debug, Clone)]
pub struct PlanDraft {
    pub name: String,
    /// The first is that of requests which name none.
    pub targets: Vec<NamedTarget>,
    /// A request without a whole answer after this time is given up and counted as a timeout.
    pub timeout: Nanos,
    pub wire: WireOptions,
    pub seed: u64,
    pub variables: Vec<Variable>,
    pub requests: Vec<RequestDraft>,
    pub scenarios: Vec<ScenarioDraft>,
    pub subscriptions: Vec<SubscriptionDraft>,
    pub thresholds: Vec<Threshold>,
    /// Cut off the beginning of the steady state and shown as a window of its own.
    pub warm_up: Nanos,
    pub tags: BTreeMap<String, String>,
    /// What is watched beside the load, as the plan says it; the runner's observers read it.
    pub observe: Vec<String>,
}

impl PlanDraft {
    /// One scenario with this load, no requests yet, no waits, a timeout of 30 s, kept connections and the seed 1.
    pub fn new(name: &str, target: Target, load: LoadModel) -> Self {
        Self {
            name: name.to_owned(),
            targets: vec![NamedTarget { name: "default".to_owned(), target }],
            timeout: Nanos::from_secs(30),
            wire: WireOptions::default(),
            seed: 1,
            variables: Vec::new(),
            requests: Vec::new(),
            scenarios: vec![ScenarioDraft::new("default", load)],
            subscriptions: Vec::new(),
            thresholds: Vec::new(),
            warm_up: Nanos::ZERO,
            tags: BTreeMap::new(),
            observe: Vec::new(),
        }
    }

    /// The wait after each iteration, in every scenario.
    #[must_use]
    pub fn with_think_time(mut self, think_time: ThinkTime) -> Self {
        for scenario in &mut self.scenarios {
            scenario.pacing = Pacing::ThinkTime(think_time);
        }
        self
    }

    /// Everything that is wrong, or the plan.
    pub fn check(mut self) -> Result<Plan, PlanFaults> {
        let mut faults = Faults::default();
        self.declare_captured();
        self.check_times(&mut faults);
        self.check_variables(&mut faults);
        self.check_requests(&mut faults);
        self.check_thresholds(&mut faults);
        let requests: Vec<_> = self
            .requests
            .iter()
            .enumerate()
            .map(|(index, draft)| Request::check(index, draft, &self.variables, &mut faults.0))
            .collect();
        let scenarios: Vec<_> = self
            .scenarios
            .iter()
            .enumerate()
            .filter_map(|(index, draft)| self.check_scenario(index, draft, &mut faults))
            .collect();
        let subscriptions = self.check_subscriptions(&requests, &mut faults);
        if faults.0.is_empty() {
            values::check(&self.variables, &requests, &scenarios, &mut faults.0);
        }
        if !faults.0.is_empty() {
            return Err(PlanFaults(faults.0));
        }
        let plan = Plan { draft: self, requests, scenarios, subscriptions };
        check_scopes(&plan, &mut faults);
        if faults.0.is_empty() { Ok(plan) } else { Err(PlanFaults(faults.0)) }
    }

    /// Subscribers and nothing else: a scenario without users then says how long they stay.
    fn only_listens(&self) -> bool {
        let has_users = self.scenarios.iter().any(|scenario| scenario.load.users_max() > 0);
        self.requests.is_empty() && !self.subscriptions.is_empty() && !has_users
    }

    /// What requests capture are variables too, after those that the plan fills.
    fn declare_captured(&mut self) {
        for capture in self.requests.iter().flat_map(|request| &request.captures) {
            if !self.variables.iter().any(|variable| variable.name == capture.name) {
                self.variables.push(Variable::captured(&capture.name));
            }
        }
    }

    fn check_times(&self, faults: &mut Faults) {
        if self.timeout == Nanos::ZERO {
            faults.add(Place::Timeout, "a timeout of zero fails every request; write for example `30s`");
        }
        let targets: Vec<_> = self.targets.iter().map(|named| named.target.clone()).collect();
        for fault in self.wire.faults(&targets) {
            faults.add(Place::Wire(fault.key), fault.message);
        }
        let is_sequence = |scenario: &ScenarioDraft| matches!(scenario.flow, FlowDraft::Sequence(_));
        if self.wire.pipeline > 1 && !self.scenarios.is_empty() && self.scenarios.iter().all(is_sequence) {
            let message = "each of `steps` waits for the response of the one before; leave `pipeline` out";
            faults.add(Place::Wire("pipeline"), message);
        }
        let users: u64 = self.scenarios.iter().map(|scenario| u64::from(scenario.load.users_max())).sum();
        // A load that has too many by itself is reported where it stands.
        let is_each_within = self.scenarios.iter().all(|scenario| scenario.load.users_max() <= USERS_MAX);
        if users > u64::from(USERS_MAX) && is_each_within {
            let message = format!(
                "{users} users of all scenarios together are more than the limit of {USERS_MAX}; ask for fewer"
            );
            faults.add(Place::Load(0), message);
        }
        if self.scenarios.is_empty() {
            faults.add(Place::Scenarios, "there is no scenario; add one with a load");
        }
        if self.scenarios.len() > SCENARIOS_MAX {
            let count = self.scenarios.len();
            faults.add(
                Place::Scenarios,
                format!("{count} scenarios are more than the limit of {SCENARIOS_MAX}"),
            );
        }
    }

    fn check_variables(&self, faults: &mut Faults) {
        for (index, variable) in self.variables.iter().enumerate() {
            let place = Place::Variable(index);
            if let Some(message) = variable.fault() {
                faults.add(place, message);
            }
            if self.variables[..index].iter().any(|before| before.name == variable.name) {
                faults.add(place, format!("variable `{}` is defined twice", variable.name));
            }
        }
    }

    fn check_requests(&self, faults: &mut Faults) {
        let is_script = |scenario: &ScenarioDraft| scenario.flow == FlowDraft::Script;
        if self.requests.is_empty() && !self.only_listens() && !self.scenarios.iter().all(is_script) {
            faults.add(Place::Requests, "there is no request to send; add one");
        }
        if self.requests.len() > REQUESTS_MAX {
            let count = self.requests.len();
            faults
                .add(Place::Requests, format!("{count} requests are more than the limit of {REQUESTS_MAX}"));
        }
        for (index, request) in self.requests.iter().enumerate() {
            if self.requests[..index].iter().any(|before| before.name == request.name) {
                let message = format!("two requests are named `{}`; results are kept by name", request.name);
                faults.add(Place::Request(index, Field::Name), message);
            }
            if let Some(target) = &request.target
                && !self.targets.iter().any(|known| known.name == *target)
            {
                let known = names(self.targets.iter().map(|target| target.name.as_str()));
                let message = format!("unknown target `{target}`; targets are: {known}");
                faults.add(Place::Request(index, Field::Target), message);
            }
        }
    }

    fn check_subscriptions(&self, requests: &[Request], faults: &mut Faults) -> Vec<Subscription> {
        if self.subscriptions.len() > SUBSCRIPTIONS_MAX {
            let count = self.subscriptions.len();
            let message =
                format!("{count} groups of subscribers are more than the limit of {SUBSCRIPTIONS_MAX}");
            faults.add(Place::Subscription(SUBSCRIPTIONS_MAX, SubscriptionField::Name), message);
        }
        let context =
            Context { variables: &self.variables, targets: &self.targets, wire: &self.wire, requests };
        let groups = self.subscriptions.iter().enumerate();
        let checked = groups.filter_map(|(index, draft)| {
            if self.subscriptions[..index].iter().any(|before| before.name == draft.name) {
                let message =
                    format!("two groups of subscribers are named `{}`; results are kept by name", draft.name);
                faults.add(Place::Subscription(index, SubscriptionField::Name), message);
            }
            draft.check(index, &context, &mut faults.0)
        });
        checked.collect()
    }

    fn check_thresholds(&self, faults: &mut Faults) {
        let asks_for_a_rate = self.scenarios.iter().any(|scenario| scenario.load.rate_max().is_some());
        for (index, threshold) in self.thresholds.iter().enumerate() {
            if threshold.metric == Metric::RateReached && !asks_for_a_rate {
                let message = format!(
                    "threshold `{threshold}` is a share of an asked rate, and users ask for none; \
                     write requests a second, as in `rate>=500/s`"
                );
                faults.add(Place::Threshold(index), message);
            } else if threshold.metric == Metric::RateReached && threshold.scope != Scope::All {
                let message = format!(
                    "threshold `{threshold}` is for some requests, and rates are asked of whole iterations; \
                     write `rate>=99%`"
                );
                faults.add(Place::Threshold(index), message);
            }
            let fault = if threshold.metric.is_of_subscribers() {
                self.subscriber_fault(threshold)
            } else {
                self.scope_fault(&threshold.scope)
            };
            if let Some(message) = fault {
                faults.add(Place::Threshold(index), message);
            }
        }
    }

    /// What is wrong where a threshold speaks of subscribers that there are not.
    fn subscriber_fault(&self, threshold: &Threshold) -> Option<String> {
        let known: Vec<_> = self.subscriptions.iter().map(|group| group.name.as_str()).collect();
        if known.is_empty() {
            return Some(format!(
                "threshold `{threshold}` is for subscribers; the plan has no `[[subscriptions]]`"
            ));
        }
        match &threshold.scope {
            Scope::All => None,
            Scope::Request(name) if known.contains(&name.as_str()) => None,
            Scope::Request(name) => {
                let known = names(known.into_iter());
                Some(format!("threshold is for `{name}`; groups of subscribers are: {known}"))
            }
            Scope::Group(_) | Scope::Tag(..) => Some(format!(
                "threshold `{threshold}` is for subscribers, which have names only; write `{{name:…}}`"
            )),
        }
    }

    /// What is wrong where a threshold speaks of no request at all.
    fn scope_fault(&self, scope: &Scope) -> Option<String> {
        let listed = |known: Vec<&str>, what: &str, wanted: &str| {
            let is_known = known.contains(&wanted);
            let known = if known.is_empty() { "there is none".to_owned() } else { names(known.into_iter()) };
            (!is_known).then(|| format!("threshold is for `{wanted}`; {what} are: {known}"))
        };
        match scope {
            Scope::All => None,
            Scope::Request(name) => {
                listed(self.requests.iter().map(|request| request.name.as_str()).collect(), "requests", name)
            }
            Scope::Group(group) => {
                listed(self.requests.iter().filter_map(|r| r.group.as_deref()).collect(), "groups", group)
            }
            Scope::Tag(key, value) => {
                let scenarios = self.scenarios.iter().map(|scenario| &scenario.tags);
                let tables = self.requests.iter().map(|request| &request.tags).chain(scenarios);
                let all: Vec<_> = tables.collect();
                let values: Vec<_> =
                    all.iter().filter_map(|tags| tags.get(key)).map(String::as_str).collect();
                if values.is_empty() {
                    let mut keys: Vec<_> =
                        all.iter().flat_map(|tags| tags.keys()).map(String::as_str).collect();
                    keys.extend(["name", "group"]);
                    return listed(keys, "tags", key);
                }
                listed(values, &format!("values of the tag `{key}`"), value)
            }
        }
    }

    fn check_scenario(&self, index: usize, draft: &ScenarioDraft, faults: &mut Faults) -> Option<Scenario> {
        if !self.only_listens() || draft.load.duration() == Nanos::ZERO {
            for message in draft.load.faults() {
                faults.add(Place::Load(index), message);
            }
        }
        let fault = match draft.pacing {
            Pacing::ThinkTime(think_time) => think_time.fault(),
            Pacing::Fixed { interval_ns: Nanos::ZERO } => {
                Some("a pacing of zero is none; leave it out".to_owned())
            }
            Pacing::Fixed { .. } => None,
        };
        if let Some(message) = fault {
            faults.add(Place::Pacing(index), message);
        }
        if self.scenarios[..index].iter().any(|before| before.name == draft.name) {
            faults.add(Place::ScenarioName(index), format!("two scenarios are named `{}`", draft.name));
        }
        let flow = self.check_flow(index, &draft.flow, faults)?;
        let pipeline = if matches!(flow, Flow::Mix { .. }) { self.wire.pipeline } else { 1 };
        if pipeline > 1 && self.targets_of(&flow) > 1 {
            let message = format!(
                "requests of a pipeline share a connection, and those of `{}` go to several targets; \
                 write a scenario for each target, or leave `pipeline` out",
                draft.name
            );
            faults.add(Place::Wire("pipeline"), message);
        }
        Some(Scenario {
            name: draft.name.clone(),
            start: draft.start,
            load: draft.load.clone(),
            pacing: draft.pacing,
            flow,
            after_failure: draft.after_failure,
            grace: draft.grace,
            iteration_min: draft.iteration_min,
            users_ready: draft.users_ready,
            pipeline,
            tags: draft.tags.clone(),
        })
    }

    /// How many targets the requests of a flow go to.
    fn targets_of(&self, flow: &Flow) -> usize {
        let first = self.targets.first().map(|target| target.name.as_str());
        let sent = self.requests.iter().enumerate().filter(|(index, _)| flow.sends(*index));
        let targets: BTreeSet<_> = sent.map(|(_, request)| request.target.as_deref().or(first)).collect();
        targets.len()
    }

    fn check_flow(&self, index: usize, flow: &FlowDraft, faults: &mut Faults) -> Option<Flow> {
        if matches!(flow, FlowDraft::Sequence(steps) if steps.is_empty()) {
            faults.add(Place::Flow(index), "the scenario has no steps; name at least one request");
        }
        let mut find = |name: &str| {
            let found = self.requests.iter().position(|request| request.name == name);
            if found.is_none() {
                let known = names(self.requests.iter().map(|request| request.name.as_str()));
                faults.add(Place::Flow(index), format!("unknown request `{name}`; requests are: {known}"));
            }
            found
        };
        let weights: Vec<_> = match flow {
            FlowDraft::Sequence(steps) => {
                let steps: Vec<_> = steps
                    .iter()
                    .filter_map(|step| {
                        Some(FlowStep { request: find(&step.request)?, think_time: step.think_time })
                    })
                    .collect();
                return (!steps.is_empty()).then_some(Flow::Sequence(steps));
            }
            FlowDraft::Script => return Some(Flow::Script),
            FlowDraft::AnyRequest => self.requests.iter().map(|request| request.weight).enumerate().collect(),
            FlowDraft::Mix(weights) => {
                weights.iter().filter_map(|(name, weight)| Some((find(name)?, *weight))).collect()
            }
        };
        let place = if matches!(flow, FlowDraft::Mix(_)) { Place::Flow(index) } else { Place::Requests };
        // An unknown name was noted.
        if weights.is_empty() && place == Place::Flow(index) {
            return None;
        }
        let sum: u64 = weights.iter().map(|(_, weight)| u64::from(*weight)).sum();
        match u32::try_from(sum) {
            Ok(0) if self.only_listens() => Some(Flow::Mix { weights, sum: 0 }),
            Ok(0) if self.requests.is_empty() => None,
            Ok(0) => {
                faults.add(place, "there is no request to send; give one a weight above 0");
                None
            }
            Ok(sum) => Some(Flow::Mix { weights, sum }),
            Err(_) => {
                faults.add(place, format!("the weights' sum {sum} is above the limit of {}", u32::MAX));
                None
            }
        }
    }
}

/// A threshold for requests none of which is ever sent could only be undecided.
fn check_scopes(plan: &Plan, faults: &mut Faults) {
    let is_sent = |request: usize| plan.scenarios().iter().any(|scenario| scenario.flow.sends(request));
    for (index, threshold) in plan.thresholds().iter().enumerate() {
        let is_of = |request: usize| match &threshold.scope {
            Scope::All => true,
            Scope::Request(name) => plan.requests()[request].name == *name,
            Scope::Group(group) => plan.requests()[request].group.as_ref() == Some(group),
            Scope::Tag(key, value) => plan.tags_of(request).get(key) == Some(value),
        };
        let is_of_all = threshold.scope == Scope::All || threshold.metric.is_of_subscribers();
        if is_of_all || (0..plan.requests().len()).any(|request| is_of(request) && is_sent(request)) {
            continue;
        }
        let hint = if matches!(threshold.scope, Scope::Tag(..)) {
            "; a request has a scenario's tag where all scenarios that send it have it: give the tag to the request"
        } else {
            "; name it in `steps` or `mix`, or give it a weight"
        };
        let message = format!("threshold `{threshold}` is for requests that no scenario sends{hint}");
        faults.add(Place::Threshold(index), message);
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
