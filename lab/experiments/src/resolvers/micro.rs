//! Micro-benchmarks: the engine's own, run as a process of its own, from the bytes of a request to those of its answer.

use prony_model::Nanos;
use serde::{Deserialize, Serialize};

use super::study::{Part, ResolversPace};
use crate::{ask::AnswerError, error::LabError, frame::Ground, processors::Assignment};

/// The engine's command that measures itself: its argument is how often each request is executed, and it prints a
/// list of [`MicroRow`] as JSON.
pub const COMMAND: &str = "micro-benchmarks";

/// One request of the music example, with the plan cache and without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MicroRow {
    pub name: String,
    pub warm: Executions,
    /// Each document is new: it is parsed, checked and planned.
    pub cold: Executions,
}

/// Many executions of one request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Executions {
    pub count: u32,
    pub median_ns: u64,
    pub p99_ns: u64,
    /// Of the usual one.
    pub allocations: u64,
}

/// Nothing where the user stopped it.
pub(super) fn measure(
    ground: &Ground<'_>,
    assignment: &Assignment,
    pace: &ResolversPace,
) -> Result<Vec<MicroRow>, LabError> {
    let time = pace.time_of(Part::Micro);
    // It says nothing while it runs; the bar names it and the time that it will take.
    drop(ground.display.begin("Micro-benchmarks".to_owned(), time, Nanos::ZERO));
    let arguments = vec![COMMAND.to_owned(), pace.executions.to_string()];
    let Some(printed) = ground.output(arguments, assignment)? else { return Ok(Vec::new()) };
    let rows: Vec<MicroRow> = serde_json::from_slice(&printed).map_err(|error| AnswerError::Wrong {
        operation: COMMAND,
        why: error.to_string(),
        answer: String::from_utf8_lossy(&printed).into_owned(),
    })?;
    for row in &rows {
        ground.display.line(&line(row));
    }
    Ok(rows)
}

fn line(row: &MicroRow) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "Micro-benchmark {:<13}: median {:.2} µs, {} allocations; without the plan cache {:.1} µs, {}",
        row.name,
        us(row.warm.median_ns),
        row.warm.allocations,
        us(row.cold.median_ns),
        row.cold.allocations
    )
}
