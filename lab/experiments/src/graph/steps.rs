//! The study's four steps against one engine, each followed by a look at what the engine has.

use std::path::Path;

use serde::Serialize;

use super::{
    ledger::Ledger,
    study::{GraphPace, GraphQuestions, GraphStep},
};
use crate::{
    disk::bytes_in,
    display::{Display, count_of_processors},
    durability::Durability,
    error::LabError,
    markdown::{milliseconds, thousands},
    runs::{Measured, Runs, Used, whole},
    statistics::Statistics,
};

/// One step with one durability.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    pub processors: usize,
    pub durability: Durability,
    pub step: GraphStep,
    #[serde(flatten)]
    pub statistics: Statistics,
    #[serde(flatten)]
    pub used: Used,
    /// Of the data directory, after the step.
    pub data_bytes: u64,
    /// The result file, next to the table.
    pub file: String,
}

/// An engine and what it is asked with.
pub(super) struct GraphSurroundings<'a> {
    pub address: &'a str,
    pub process: u32,
    pub processors: &'a [usize],
    pub durability: Durability,
    /// The engine's data.
    pub data: &'a Path,
    pub runs: Runs<'a>,
    pub display: &'a Display,
}

/// Makes the four steps, and gives what there is now; `None` where it was stopped. Rows are added as they come, and
/// `questions` learns how many nodes there are.
pub(super) fn make(
    surroundings: &GraphSurroundings<'_>,
    pace: &GraphPace,
    questions: &mut GraphQuestions,
    rows: &mut Vec<StepRow>,
) -> Result<Option<Ledger>, LabError> {
    let mut ledger = Ledger::default();
    ledger.compare(surroundings.address, "start", &surroundings.durability.to_string())?;
    for step in GraphStep::ALL {
        let Some(row) = make_one(surroundings, pace, questions, step, &mut ledger)? else { return Ok(None) };
        if step == GraphStep::CreateNodes {
            // Keys begin at 0 and none was left out, unless some failed: then the last ones may be missing.
            questions.nodes = u32::try_from(row.statistics.ok).unwrap_or(u32::MAX);
        }
        surroundings.display.line(&line(&row));
        rows.push(row);
        ledger.compare(surroundings.address, step.label(), &surroundings.durability.to_string())?;
    }
    Ok(Some(ledger))
}

fn make_one(
    surroundings: &GraphSurroundings<'_>,
    pace: &GraphPace,
    questions: &GraphQuestions,
    step: GraphStep,
    ledger: &mut Ledger,
) -> Result<Option<StepRow>, LabError> {
    let processors = surroundings.processors.len();
    let time = pace.step_time(step);
    let plan = questions.step(step, time);
    let title = format!("{}, {}", step.label(), surroundings.durability);
    let watch = surroundings.display.begin(title, time, pace.time_after(step));
    let file = format!("{}-{}-{processors}cpu.prony.json", step.name(), surroundings.durability);
    let engine = Measured { process: surroundings.process, processors: surroundings.processors };
    let Some((result, used)) = surroundings.runs.measure(&plan, &file, engine, watch)? else {
        return Ok(None);
    };
    ledger.add(step, &result);
    Ok(Some(StepRow {
        processors,
        durability: surroundings.durability,
        step,
        statistics: Statistics::of(whole(&result)),
        used,
        data_bytes: bytes_in(surroundings.data),
        file,
    }))
}

fn line(row: &StepRow) -> String {
    let StepRow { statistics, .. } = row;
    let p99 = statistics.p99_ms.map_or("-".to_owned(), milliseconds);
    format!(
        "{:<20} {:<12} {}: {:>7}/s, p99 {p99}, {} OK, {} KO",
        row.step.label(),
        row.durability.to_string(),
        count_of_processors(row.processors),
        thousands(statistics.requests_per_second.round() as u64),
        thousands(statistics.ok),
        thousands(statistics.ko),
    )
}

#[cfg(test)]
mod tests {
    use prony_load::StopFlag;
    use prony_model::{Nanos, Target};

    use super::*;
    use crate::graph::fake::{Graph, Habit};

    const PACE: GraphPace = GraphPace {
        nodes: 500,
        create: Nanos::from_secs(20),
        step: Nanos::from_millis(100),
        ..GraphPace::QUICK
    };

    fn made(habit: Habit, stop: &StopFlag) -> (Result<Option<Ledger>, String>, Vec<StepRow>, GraphQuestions) {
        let graph = Graph::start(0, 0, habit);
        let address = graph.address();
        let directory = tempfile::tempdir().unwrap();
        let target = Target::parse(&format!("http://{address}")).unwrap();
        let mut questions = GraphQuestions { target, nodes: PACE.nodes, seed: 1 };
        let surroundings = GraphSurroundings {
            address: &address,
            process: std::process::id(),
            processors: &[0],
            durability: Durability::Off,
            data: directory.path(),
            runs: Runs {
                stop,
                command_line: &[],
                directory: directory.path(),
                threads: std::num::NonZeroUsize::MIN,
                observers: &[],
            },
            display: &Display::new("graph"),
        };
        let mut rows = Vec::new();
        let made = make(&surroundings, &PACE, &mut questions, &mut rows).map_err(|error| error.to_string());
        (made, rows, questions)
    }

    #[test]
    fn all_keys_are_made_once_and_all_is_counted() {
        let (ledger, rows, questions) = made(Habit::Good, &StopFlag::default());
        let ledger = ledger.unwrap().unwrap();
        assert_eq!((ledger.nodes.acknowledged, questions.nodes), (500, 500));
        assert_eq!(rows.iter().map(|row| row.step).collect::<Vec<_>>(), GraphStep::ALL);
        assert_eq!(rows[2].statistics.ok, ledger.relationships.acknowledged);
        assert!(rows.iter().all(|row| row.statistics.ko == 0 && row.statistics.ok > 0), "{rows:?}");
    }

    #[test]
    fn a_lost_write_is_an_error() {
        let (ledger, rows, _) = made(Habit::Forgets, &StopFlag::default());
        assert_eq!(
            ledger.unwrap_err(),
            "after \"Create nodes\" with durability off the engine has 499 nodes, but 500 were acknowledged"
        );
        assert_eq!(rows.len(), 1, "nothing more is measured");
    }

    #[test]
    fn refusals_are_not_ok() {
        let (ledger, rows, _) = made(Habit::Refuses, &StopFlag::default());
        assert_eq!(ledger.unwrap().unwrap().relationships.acknowledged, 0);
        assert!(rows[2].statistics.ko > 0 && rows[2].statistics.ok == 0);
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = StopFlag::default();
        stop.stop();
        let (ledger, rows, _) = made(Habit::Good, &stop);
        assert_eq!((ledger, rows.len()), (Ok(None), 0));
    }
}
