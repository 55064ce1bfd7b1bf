//! The figures of one window of a run.

use crate::load::windows::Window;
use crate::measurement::figures::Figures;
use crate::measurement::tally::StartCounts;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The windows of a file, which has that of the whole run at least.
pub(super) fn with_whole_run<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<WindowResult>, D::Error> {
    let windows = Vec::<WindowResult>::deserialize(from)?;
    if windows.is_empty() {
        return Err(D::Error::custom("`windows` is empty, and the last one is of the whole run"));
    }
    Ok(windows)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowResult {
    #[serde(flatten)]
    pub window: Window,
    pub all: Figures,
    /// Of the iterations that open models wanted started in it, the share that was; absent without open models.
    #[serde(default)]
    pub rate_reached: Option<f64>,
    pub by_request: Vec<NamedFigures>,
    pub by_scenario: Vec<ScenarioFigures>,
    /// By the group that requests name; the requests of a group add up to it.
    #[serde(default)]
    pub by_group: Vec<NamedFigures>,
    /// By the tags of requests and scenarios; a request with several tags is in several.
    #[serde(default)]
    pub by_tag: Vec<TagFigures>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TagFigures {
    pub key: String,
    pub value: String,
    pub figures: Figures,
}

/// The iterations of one scenario that were due in one window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioFigures {
    pub name: String,
    #[serde(flatten)]
    pub starts: StartCounts,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedFigures {
    pub name: String,
    pub figures: Figures,
}
