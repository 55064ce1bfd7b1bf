//! What can be wrong with a plan, and where in it.

use std::fmt;

/// Where in a plan a fault is, so that a plan file can say the line. Numbers are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    Timeout,
    /// With the option's key as plans write it.
    Wire(&'static str),
    Requests,
    Scenarios,
    ScenarioName(usize),
    Load(usize),
    Pacing(usize),
    Flow(usize),
    Variable(usize),
    Request(usize, Field),
    Threshold(usize),
    Subscription(usize, SubscriptionField),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubscriptionField {
    Name,
    Target,
    Path,
    Header(usize),
    Clients,
    Rate,
    Query,
    Variables,
    ConnectionInit,
    FanOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Name,
    Target,
    Method,
    Path,
    Header(usize),
    Body,
    Variables,
    Status,
    Capture(usize),
    Check(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    pub message: String,
}

#[derive(Debug, Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, place: Place, message: impl Into<String>) {
        self.0.push(Fault { place, message: message.into() });
    }
}

/// All that is wrong with a plan; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanFaults(pub Vec<Fault>);

impl fmt::Display for PlanFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<_> = self.0.iter().map(|fault| fault.message.as_str()).collect();
        f.write_str(&messages.join("\n"))
    }
}
