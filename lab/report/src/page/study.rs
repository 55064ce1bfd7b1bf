//! What an experiment found by numbers of users, beside what a study published: the part of a page that stands before its runs.

use serde::Serialize;

use super::data::{TableData, Unit};

/// An experiment's own part of a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyData {
    /// Of the page.
    pub title: String,
    /// What was measured, on what.
    pub setting: String,
    /// One sentence on what differs from the study whose figures stand beside.
    pub differs: String,
    /// Numbers of users, rising: where the lines of all plots have their values.
    pub users: Vec<u32>,
    pub plots: Vec<StudyPlotData>,
    pub bars: Vec<BarsData>,
    pub tables: Vec<TableData>,
    /// What must be known to read the figures, in sentences.
    pub notes: Vec<String>,
}

/// Lines over numbers of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyPlotData {
    pub title: String,
    pub unit: Unit,
    pub lines: Vec<StudyLineData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyLineData {
    pub name: String,
    /// Lines of the same place have the same colour: what was measured, and what was published of it.
    pub place: usize,
    pub is_published: bool,
    /// As many as there are numbers of users.
    pub values: Vec<Option<f64>>,
}

/// Percentiles as bars, in groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarsData {
    pub title: String,
    pub note: String,
    pub groups: Vec<BarGroupData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarGroupData {
    pub name: String,
    pub bars: Vec<BarData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarData {
    /// `p90`, `p95`, `p99`: the same in each group.
    pub name: &'static str,
    pub ms: Option<f64>,
}
