//! One run of the experiment from the first part to the written tables.

use std::path::PathBuf;

use prony_load::StopFlag;
use prony_model::Nanos;

use super::{
    control, memory, micro,
    outcome::{ResolversOutcome, SCHEMA_VERSION},
    study::{Part, ResolversPace, ResolversQuestions},
    subscriptions, throughput,
};
use crate::{
    display::StepCount,
    engine::Engine,
    error::LabError,
    frame::{Frame, Ground, Report},
    processors::Assignment,
    runs::Measured,
};

/// What the user asked for.
#[derive(Debug)]
pub struct ResolversOptions {
    /// The `prony` program that serves the examples.
    pub program: PathBuf,
    pub pace: ResolversPace,
    /// In the order of the tables, whatever the order here.
    pub parts: Vec<Part>,
    /// For the engine.
    pub processors: usize,
    pub seed: u64,
    /// Results go below it.
    pub output: PathBuf,
    pub command_line: Vec<String>,
    pub stop: StopFlag,
}

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &ResolversOptions) -> Result<Report<ResolversOutcome>, LabError> {
    let frame = Frame {
        name: "resolvers",
        schema_version: SCHEMA_VERSION,
        program: &options.program,
        is_full: options.pace.name == ResolversPace::FULL.name,
        processors: &[options.processors],
        output: &options.output,
        command_line: &options.command_line,
        stop: &options.stop,
    };
    frame.run(|ground| {
        let assignment = ground.assignments[0].clone();
        ResolversExperiment { options, ground, assignment }.measure()
    })
}

/// A run under way.
struct ResolversExperiment<'a> {
    options: &'a ResolversOptions,
    ground: &'a Ground<'a>,
    assignment: Assignment,
}

impl ResolversExperiment<'_> {
    fn measure(&self) -> Result<ResolversOutcome, LabError> {
        let parts: Vec<Part> =
            Part::ALL.into_iter().filter(|part| self.options.parts.contains(part)).collect();
        let mut outcome = ResolversOutcome {
            head: self.ground.head.clone(),
            pace: self.options.pace,
            seed: self.options.seed,
            parts: parts.clone(),
            assignment: self.assignment.clone(),
            micro: Vec::new(),
            control: Vec::new(),
            throughput: None,
            subscriptions: Vec::new(),
            memory: Vec::new(),
            stopped: false,
        };
        let steps = parts.iter().map(|part| self.options.pace.steps_of(*part)).sum();
        self.ground.display.set_steps(StepCount::Exactly(steps));
        for (index, part) in parts.iter().enumerate() {
            if self.ground.is_stopped() {
                break;
            }
            let later = parts[index + 1..].iter().map(|part| self.options.pace.time_of(*part));
            self.ground.display.set_later(later.fold(Nanos::ZERO, Nanos::plus));
            self.measure_part(*part, &mut outcome)?;
        }
        outcome.stopped = self.ground.is_stopped();
        Ok(outcome)
    }

    fn measure_part(&self, part: Part, outcome: &mut ResolversOutcome) -> Result<(), LabError> {
        if part == Part::Micro {
            outcome.micro = micro::measure(self.ground, &self.assignment, &self.options.pace)?;
            return Ok(());
        }
        let engine = self.donuts()?;
        control::check(engine.address())?;
        let questions = ResolversQuestions::new(engine.address(), self.options.seed);
        let measured = Measured { process: engine.process(), processors: &self.assignment.server };
        let (pace, display) = (&self.options.pace, &self.ground.display);
        let runs = self.ground.runs(&self.assignment);
        match part {
            Part::Micro => {}
            Part::Control => {
                control::measure(&questions, measured, pace, &runs, display, &mut outcome.control)?;
            }
            Part::Throughput => {
                outcome.throughput = throughput::measure(&questions, measured, pace, &runs, display)?;
            }
            Part::Subscriptions => {
                let done = &mut outcome.subscriptions;
                subscriptions::measure(&questions, measured, pace, &runs, display, done)?;
            }
            Part::Memory => {
                memory::measure(&questions, measured, pace, &runs, display, &mut outcome.memory)?;
            }
        }
        engine.stop();
        Ok(())
    }

    /// A new one for each part: none begins with the memory and the caches of another.
    fn donuts(&self) -> Result<Engine, LabError> {
        self.ground.start(["example", "donuts"].map(str::to_owned).into(), &self.assignment)
    }
}
