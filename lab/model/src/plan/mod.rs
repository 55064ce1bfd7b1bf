//! What a run does, checked: a [`Plan`] only exists when everything in it makes sense together.
//!
//! [`PlanDraft`] is what a plan file, a command line or a program says; [`PlanDraft::check`] turns it into a
//! [`Plan`] or reports all its faults, each with its place.

pub mod hosts;
pub mod network;
pub mod offer;
pub mod request;
pub mod scenario;
pub mod target;
pub(crate) mod values;
pub mod wire;

mod change;
mod draft;
mod faults;

pub use change::{ChangeError, PlanChange};
pub use draft::{PlanDraft, REQUESTS_MAX, SCENARIOS_MAX};
pub use faults::{Fault, Field, Place, PlanFaults, SubscriptionField};

use crate::data::variable::Variable;
use crate::load::LoadModel;
use crate::load::windows::Windows;
use crate::plan::request::Request;
use crate::plan::scenario::Scenario;
use crate::plan::target::{NamedTarget, Target};
use crate::plan::wire::{Connections, WireOptions};
use crate::program::{RunShare, UserPlace};
use crate::subscription::Subscription;
use crate::units::Nanos;
use crate::verdict::threshold::Threshold;
use std::collections::BTreeMap;

/// A plan that makes sense as a whole. Made only by [`PlanDraft::check`].
#[derive(Debug, Clone)]
pub struct Plan {
    draft: PlanDraft,
    requests: Vec<Request>,
    scenarios: Vec<Scenario>,
    subscriptions: Vec<Subscription>,
}

impl Plan {
    pub fn name(&self) -> &str {
        &self.draft.name
    }

    /// The first is the default. Empty only where scripts find targets while the run goes.
    pub fn targets(&self) -> &[NamedTarget] {
        &self.draft.targets
    }

    /// The default target.
    pub fn target(&self) -> Option<&Target> {
        self.draft.targets.first().map(|named| &named.target)
    }

    /// The index of a request's target.
    pub fn target_of(&self, request: usize) -> usize {
        let name = self.draft.requests[request].target.as_ref();
        let known = |name: &String| self.draft.targets.iter().position(|target| target.name == *name);
        name.and_then(known).unwrap_or(0)
    }

    /// Never empty.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    pub fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    /// When all subscriptions should be in force, if connecting is quick.
    pub fn subscribers_ready(&self) -> Nanos {
        self.subscriptions.iter().map(|group| group.draft.ready()).max().unwrap_or(Nanos::ZERO)
    }

    /// Of all subscribers.
    pub fn subscriber_connections(&self) -> u64 {
        self.subscriber_connections_of(RunShare::WHOLE)
    }

    /// Of the subscribers of a part of the run.
    pub fn subscriber_connections_of(&self, share: RunShare) -> u64 {
        self.subscriptions.iter().map(|group| group.draft.sockets(share)).sum()
    }

    /// Into so many parts it can be split, each of which has a user or a connection of a subscriber.
    pub fn parts_max(&self) -> u32 {
        let connections = self.subscriptions.iter().map(|group| group.draft.connections()).max();
        let connections = u32::try_from(connections.unwrap_or(0)).unwrap_or(u32::MAX);
        self.users().max(connections)
    }

    pub fn variables(&self) -> &[Variable] {
        &self.draft.variables
    }

    pub fn thresholds(&self) -> &[Threshold] {
        &self.draft.thresholds
    }

    pub fn timeout(&self) -> Nanos {
        self.draft.timeout
    }

    pub fn connections(&self) -> Connections {
        self.draft.wire.connections
    }

    pub fn wire(&self) -> &WireOptions {
        &self.draft.wire
    }

    pub fn seed(&self) -> u64 {
        self.draft.seed
    }

    pub fn warm_up(&self) -> Nanos {
        self.draft.warm_up
    }

    /// What is watched beside the load, not read yet.
    pub fn observe(&self) -> &[String] {
        &self.draft.observe
    }

    /// A request's own tags and those on which all scenarios that send it agree. The plan's hold for every request.
    pub fn tags_of(&self, request: usize) -> BTreeMap<String, String> {
        let mut sending = self.scenarios.iter().filter(|scenario| scenario.flow.sends(request));
        let mut tags = sending.next().map(|scenario| scenario.tags.clone()).unwrap_or_default();
        for scenario in sending {
            tags.retain(|key, value| scenario.tags.get(key) == Some(value));
        }
        tags.extend(self.draft.requests[request].tags.clone());
        tags
    }

    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.draft.tags
    }

    /// When the last scenario starts nothing any more.
    pub fn duration(&self) -> Nanos {
        self.scenarios.iter().map(Scenario::end).max().unwrap_or(Nanos::ZERO)
    }

    /// Over all scenarios, as if all had their most at one time: each user has its number and connection.
    pub fn users(&self) -> u32 {
        self.scenarios.iter().map(|scenario| scenario.load.users_max()).sum()
    }

    /// All users, by scenario.
    pub fn user_places(&self) -> impl Iterator<Item = UserPlace> + '_ {
        let counts = self.scenarios.iter().map(|scenario| scenario.load.users_max()).enumerate();
        let scenarios = counts.flat_map(|(scenario, users)| (0..users).map(move |_| scenario));
        scenarios.zip(0..).map(|(scenario, number)| UserPlace { number, scenario })
    }

    pub fn windows(&self) -> Windows {
        if self.users() == 0 {
            // Only subscribers: their steady state begins when all should be there.
            let ready = self.subscribers_ready().min(self.duration());
            let there = LoadModel::constant(1, self.duration().since(ready));
            return Windows::of(&[(ready, &there)], self.warm_up());
        }
        let loads: Vec<_> = self.scenarios.iter().map(|scenario| (scenario.start, &scenario.load)).collect();
        Windows::of(&loads, self.warm_up())
    }

    /// True where any scenario starts requests at a rate, so that response and service time differ.
    pub fn is_open(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.load.rate_max().is_some())
    }

    /// The most requests a second that waits allow, were every answer immediate; none where a scenario has no waits.
    pub fn rate_cap(&self) -> Option<f64> {
        self.scenarios.iter().map(Scenario::rate_cap).sum()
    }

    /// The same plan with another seed: a seed cannot make it wrong.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.draft.seed = seed;
        self
    }

    /// What the plan was made of, to be changed and checked again.
    pub fn into_draft(self) -> PlanDraft {
        self.draft
    }
}
