//! What the figures say about the thresholds, and what all of it comes to ([`rule`]).

pub mod conclusion;
pub mod finding;
pub mod findings;
pub mod littles_law;
pub mod rule;
pub mod threshold;

use crate::measurement::figures::Figures;
use crate::result::window::{NamedFigures, WindowResult};
use crate::subscription::figures::Subscribers;
use crate::verdict::threshold::{Metric, Scope, Threshold};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    Kept,
    Failed,
    /// There was nothing, or too little, to judge by; not the same as kept.
    Undecided,
    /// The figure is there and cannot be believed: neither kept nor failed.
    Void,
}

impl Judgement {
    /// For people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Failed => "FAILED",
            Self::Undecided => "UNDECIDED",
            Self::Void => "VOID",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub threshold: String,
    pub judgement: Judgement,
    /// The figure with its unit; absent where it is undecided.
    pub measured: Option<String>,
}

fn named<'a>(list: &'a [NamedFigures], name: &str) -> Option<&'a Figures> {
    list.iter().find(|entry| entry.name == name).map(|entry| &entry.figures)
}

impl Verdict {
    pub fn of(threshold: &Threshold, window: &WindowResult, subscribers: &Subscribers) -> Self {
        let figures = match &threshold.scope {
            Scope::All => Some(&window.all),
            Scope::Request(name) => named(&window.by_request, name),
            Scope::Group(name) => named(&window.by_group, name),
            Scope::Tag(key, value) => {
                let tag = window.by_tag.iter().find(|tag| tag.key == *key && tag.value == *value);
                tag.map(|tag| &tag.figures)
            }
        };
        let measured = match threshold.metric {
            Metric::RateReached => window.rate_reached,
            metric if metric.is_of_subscribers() => subscribers.metric(metric, &threshold.scope),
            metric => figures.and_then(|figures| figures.metric(metric)),
        };
        let judgement = match measured {
            None => Judgement::Undecided,
            Some(figure) if threshold.is_kept_by(figure) => Judgement::Kept,
            Some(_) => Judgement::Failed,
        };
        let measured = measured.map(|figure| threshold.show(figure));
        Self { threshold: threshold.text.clone(), judgement, measured }
    }
}
