//! One run of the experiment from the empty directory to the written table.

use std::{path::PathBuf, time::SystemTime};

use prony_load::StopFlag;
use prony_load_model::{Nanos, Target, result::Machine};
use tempfile::TempDir;

use super::{
    disk::sync_cost,
    outcome::{Outcome, SCHEMA_VERSION},
    rates, report,
    steps::{self, Surroundings},
    study::{Durability, Pace, Questions},
};
use crate::{
    clock::rfc3339,
    display::Display,
    engine::{Engine, EngineCommand, raise_descriptor_limit},
    error::LabError,
    folder::Folder,
    processors::{self, Assignment, assign},
    runs::Runs,
};

/// What the user asked for.
#[derive(Debug)]
pub struct Options {
    /// The `prony` program that serves.
    pub program: PathBuf,
    pub pace: Pace,
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

/// What a run leaves.
#[derive(Debug)]
pub struct Report {
    pub outcome: Outcome,
    /// The tables, as in `table.md`.
    pub markdown: String,
    /// `results/graph-TIME`.
    pub directory: PathBuf,
}

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &Options) -> Result<Report, LabError> {
    let display = Display::new();
    let started_at = rfc3339(SystemTime::now());
    let available = processors::available().map_err(LabError::io("ask for this machine's processors"))?;
    let assignments = assign(&options.processors, options.pace.name == Pace::FULL.name, &available)?;
    let folder = Folder::create(&options.output, "graph", &started_at)?;
    raise_descriptor_limit();
    let mut outcome = empty_outcome(options, assignments, started_at);
    let experiment = Experiment { options, display: &display, folder: &folder };
    let measured = experiment.measure(&mut outcome);
    let restored = processors::bind_thread(&available);
    display.finish();
    measured?;
    restored.map_err(LabError::io("give the lab its processors back"))?;
    outcome.machine = Machine { processors: available.len() as u32, ..folder.machine() };
    let markdown = report::render(&outcome);
    folder.write(&markdown, &outcome)?;
    Ok(Report { outcome, markdown, directory: folder.path().to_owned() })
}

fn empty_outcome(options: &Options, assignments: Vec<Assignment>, started_at: String) -> Outcome {
    Outcome {
        schema: "prony-lab-graph",
        schema_version: SCHEMA_VERSION,
        prony_version: env!("CARGO_PKG_VERSION"),
        command_line: options.command_line.clone(),
        started_at,
        machine: Machine::default(),
        pace: options.pace,
        seed: options.seed,
        durabilities: options.durabilities.clone(),
        assignments,
        sync_cost: None,
        steps: Vec::new(),
        rates: Vec::new(),
        stopped: false,
    }
}

/// A run under way.
struct Experiment<'a> {
    options: &'a Options,
    display: &'a Display,
    folder: &'a Folder,
}

impl Experiment<'_> {
    fn measure(&self, outcome: &mut Outcome) -> Result<(), LabError> {
        let cost = sync_cost(self.folder.path()).map_err(LabError::io("measure the disk's sync"))?;
        outcome.sync_cost = Some(Nanos(cost.as_nanos() as u64));
        self.display.line(&format!("one fdatasync takes {:.0} µs here (median)", cost.as_secs_f64() * 1e6));
        let assignments = outcome.assignments.clone();
        let mut left = assignments.len() * self.options.durabilities.len();
        for assignment in &assignments {
            for (index, durability) in self.options.durabilities.iter().enumerate() {
                if self.options.stop.is_stopped() {
                    break;
                }
                left -= 1;
                let rates = self.options.rates && index == 0;
                self.tell_time_left(left, rates);
                self.measure_one(assignment, *durability, rates, outcome)?;
            }
        }
        outcome.stopped = self.options.stop.is_stopped();
        Ok(())
    }

    /// What comes after the steps that are about to begin.
    fn tell_time_left(&self, durabilities: usize, rates: bool) {
        let pace = &self.options.pace;
        let rates = if rates { pace.rates_time().0 } else { 0 };
        self.display.set_later(Nanos(pace.steps_time().0 * durabilities as u64 + rates));
    }

    /// One engine on a directory of its own, which goes with it.
    fn measure_one(
        &self,
        assignment: &Assignment,
        durability: Durability,
        rates: bool,
        outcome: &mut Outcome,
    ) -> Result<(), LabError> {
        let data = self.data_directory()?;
        let engine = self.start(assignment, durability, &data)?;
        let surroundings = Surroundings {
            address: engine.address(),
            process: engine.process(),
            processors: &assignment.server,
            durability,
            data: data.path(),
            runs: Runs {
                stop: &self.options.stop,
                command_line: &self.options.command_line,
                directory: self.folder.path(),
                threads: assignment.lab_threads(),
            },
            display: self.display,
        };
        let target =
            Target::parse(&format!("http://{}", engine.address())).expect("an engine's address is one");
        let pace = &self.options.pace;
        let mut questions = Questions { target, nodes: pace.nodes, seed: self.options.seed };
        let made = steps::make(&surroundings, pace, &mut questions, &mut outcome.steps)?;
        if let Some(ledger) = made
            && rates
        {
            self.display.set_later(Nanos(pace.steps_time().0 * (self.options.durabilities.len() as u64 - 1)));
            outcome.rates.extend(rates::measure(&surroundings, pace, &questions)?);
            ledger.compare(surroundings.address, "reads", &durability.to_string())?;
        }
        engine.stop();
        data.close().map_err(LabError::io("remove the engine's data"))
    }

    /// Beside the results, so that writes go to the same disk as the user's data would.
    fn data_directory(&self) -> Result<TempDir, LabError> {
        let place = self.folder.path();
        let made = tempfile::Builder::new().prefix("data-").tempdir_in(place);
        made.map_err(LabError::io(format!("make a directory for the engine's data in {}", place.display())))
    }

    fn start(
        &self,
        assignment: &Assignment,
        durability: Durability,
        data: &TempDir,
    ) -> Result<Engine, LabError> {
        let source = format!("graph:{}", data.path().display());
        let arguments = vec!["serve".to_owned(), source, "--durability".to_owned(), durability.to_string()];
        Ok(Engine::start(&EngineCommand {
            program: &self.options.program,
            arguments,
            processors: &assignment.server,
            lab_processors: &assignment.lab,
            log: self.folder.path().join("engine.log"),
        })?)
    }
}
