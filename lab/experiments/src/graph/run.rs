//! One run of the experiment from the empty directory to the written table.

use std::path::PathBuf;

use prony_load::StopFlag;
use prony_model::{Nanos, Target};
use tempfile::TempDir;

use super::{
    outcome::{GraphOutcome, SCHEMA_VERSION},
    rates,
    steps::{self, GraphSurroundings},
    study::{GraphPace, GraphQuestions, GraphStep},
};
use crate::{
    disk::sync_cost,
    display::StepCount,
    durability::Durability,
    engine::Engine,
    error::LabError,
    frame::{Frame, Ground, Report},
    processors::Assignment,
};

/// What the user asked for.
#[derive(Debug)]
pub struct GraphOptions {
    /// The `prony` program that serves.
    pub program: PathBuf,
    pub pace: GraphPace,
    /// Side by side; reads at a rate are measured with the first.
    pub durabilities: Vec<Durability>,
    /// Numbers of processors for the engine; empty stands for what suits the machine and the pace.
    pub processors: Vec<usize>,
    /// Also the closed loop of reads, the search for the rate, and the rate that holds for longer.
    pub rates: bool,
    pub seed: u64,
    /// Results go below it, and the engine's data while it runs.
    pub output: PathBuf,
    pub command_line: Vec<String>,
    pub stop: StopFlag,
}

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &GraphOptions) -> Result<Report<GraphOutcome>, LabError> {
    let frame = Frame {
        name: "graph",
        schema_version: SCHEMA_VERSION,
        program: &options.program,
        is_full: options.pace.name == GraphPace::FULL.name,
        processors: &options.processors,
        output: &options.output,
        command_line: &options.command_line,
        stop: &options.stop,
    };
    frame.run(|ground| {
        let mut outcome = empty_outcome(options, ground);
        GraphExperiment { options, ground }.measure(&mut outcome)?;
        Ok(outcome)
    })
}

fn empty_outcome(options: &GraphOptions, ground: &Ground<'_>) -> GraphOutcome {
    GraphOutcome {
        head: ground.head.clone(),
        pace: options.pace,
        seed: options.seed,
        durabilities: options.durabilities.clone(),
        assignments: ground.assignments.clone(),
        sync_cost: None,
        steps: Vec::new(),
        rates: Vec::new(),
        stopped: false,
    }
}

/// A run under way.
struct GraphExperiment<'a> {
    options: &'a GraphOptions,
    ground: &'a Ground<'a>,
}

impl GraphExperiment<'_> {
    fn measure(&self, outcome: &mut GraphOutcome) -> Result<(), LabError> {
        let cost = sync_cost(self.ground.folder.path()).map_err(LabError::io("measure the disk's sync"))?;
        outcome.sync_cost = Some(Nanos(cost.as_nanos() as u64));
        let line = format!("one fdatasync takes {:.0} µs here (median)", cost.as_secs_f64() * 1e6);
        self.ground.display.line(&line);
        let assignments = &self.ground.assignments;
        let mut left = assignments.len() * self.options.durabilities.len();
        for assignment in assignments {
            for (index, durability) in self.options.durabilities.iter().enumerate() {
                if self.ground.is_stopped() {
                    break;
                }
                left -= 1;
                let rates = self.options.rates && index == 0;
                self.tell_time_left(left, rates);
                self.measure_one(assignment, *durability, rates, outcome)?;
            }
        }
        outcome.stopped = self.ground.is_stopped();
        Ok(())
    }

    /// What comes after the steps that are about to begin, and how many there are.
    fn tell_time_left(&self, durabilities: usize, rates: bool) {
        let pace = &self.options.pace;
        let steps = (GraphStep::ALL.len() * (durabilities + 1)) as u32;
        // A closed loop stands before the search, and one rate for longer behind it.
        self.ground.display.set_steps(if rates {
            StepCount::About(steps + pace.rate_runs() + 2)
        } else {
            StepCount::Exactly(steps)
        });
        let rates = if rates { pace.rates_time().0 } else { 0 };
        self.ground.display.set_later(Nanos(pace.steps_time().0 * durabilities as u64 + rates));
    }

    /// One engine on a directory of its own, which goes with it.
    fn measure_one(
        &self,
        assignment: &Assignment,
        durability: Durability,
        rates: bool,
        outcome: &mut GraphOutcome,
    ) -> Result<(), LabError> {
        let data = self.ground.data_directory()?;
        let engine = self.start(assignment, durability, &data)?;
        let surroundings = GraphSurroundings {
            address: engine.address(),
            process: engine.process(),
            processors: &assignment.server,
            durability,
            data: data.path(),
            runs: self.ground.runs(assignment),
            display: &self.ground.display,
        };
        let target =
            Target::parse(&format!("http://{}", engine.address())).expect("an engine's address is one");
        let pace = &self.options.pace;
        let mut questions = GraphQuestions { target, nodes: pace.nodes, seed: self.options.seed };
        let made = steps::make(&surroundings, pace, &mut questions, &mut outcome.steps)?;
        if let Some(ledger) = made
            && rates
        {
            let later = pace.steps_time().0 * (self.options.durabilities.len() as u64 - 1);
            self.ground.display.set_later(Nanos(later));
            outcome.rates.extend(rates::measure(&surroundings, pace, &questions)?);
            ledger.compare(surroundings.address, "reads", &durability.to_string())?;
        }
        engine.stop();
        data.close().map_err(LabError::io("remove the engine's data"))
    }

    fn start(
        &self,
        assignment: &Assignment,
        durability: Durability,
        data: &TempDir,
    ) -> Result<Engine, LabError> {
        let source = format!("graph:{}", data.path().display());
        let arguments = vec!["serve".to_owned(), source, "--durability".to_owned(), durability.to_string()];
        self.ground.start(arguments, assignment)
    }
}
