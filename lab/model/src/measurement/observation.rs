//! What was seen of processes, databases and collectors while a run went, on the run's own time line.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What the names of series begin with whose points are events that took time, as the pauses of a garbage collector are. Other series
/// of times are samples, such as the mean time of a request.
pub const PAUSE: &str = "pause";

/// All that one observer saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// For people: `process nginx (4711)`, `PostgreSQL shop`, `collector gc.log`, `lab`.
    pub name: String,
    pub series: Vec<ObservedSeries>,
    /// Figures over the whole run, such as the share of time that a collector left to the program.
    pub summary: Vec<ObservedFigure>,
    /// What could not be observed, each with the time when it first happened.
    pub faults: Vec<(Nanos, String)>,
}

/// One figure over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedSeries {
    pub name: String,
    pub unit: ObservedUnit,
    /// Rising in time, counted from the start of the run; regular samples, or events where they came.
    pub points: Vec<(Nanos, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedFigure {
    pub name: String,
    pub unit: ObservedUnit,
    pub value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedUnit {
    /// Of processor time a second: 1 is one processor.
    Processors,
    Bytes,
    Count,
    PerSecond,
    BytesPerSecond,
    Nanoseconds,
    /// From 0 to 1.
    Share,
}
