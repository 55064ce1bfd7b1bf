//! One run of the experiment from the empty directory to the written tables.

use std::{path::PathBuf, time::Instant};

use prony_load::StopFlag;
use prony_model::Nanos;

use super::{
    dataset::SeriesDataset,
    ingest::{self, Ingest},
    outcome::{SCHEMA_VERSION, SeriesOutcome},
    reads::{LOADS, ReadRun},
    rows,
    study::{ReadQuestion, SeriesPace, SeriesPart, WriteForm},
    writes::WriteRun,
};
use crate::{
    disk::{bytes_in, sync_cost},
    durability::Durability,
    error::LabError,
    frame::{Frame, Ground, Report},
    processors::Assignment,
};

/// What the user asked for.
#[derive(Debug)]
pub struct SeriesOptions {
    /// The `prony` program that serves.
    pub program: PathBuf,
    pub pace: SeriesPace,
    pub parts: Vec<SeriesPart>,
    /// Of notifications; the study's form is measured with the first.
    pub durabilities: Vec<Durability>,
    /// For the engine.
    pub processors: usize,
    pub seed: u64,
    /// Results go below it, and the engine's data while it runs.
    pub output: PathBuf,
    pub command_line: Vec<String>,
    pub stop: StopFlag,
}

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &SeriesOptions) -> Result<Report<SeriesOutcome>, LabError> {
    let frame = Frame {
        name: "series",
        schema_version: SCHEMA_VERSION,
        program: &options.program,
        is_full: options.pace.name == SeriesPace::FULL.name,
        processors: &[options.processors],
        output: &options.output,
        command_line: &options.command_line,
        stop: &options.stop,
    };
    frame.run(|ground| {
        let assignment = ground.assignments[0].clone();
        let mut outcome = empty_outcome(options, ground, assignment.clone());
        SeriesRun { options, ground, assignment }.measure(&mut outcome)?;
        Ok(outcome)
    })
}

fn empty_outcome(options: &SeriesOptions, ground: &Ground<'_>, assignment: Assignment) -> SeriesOutcome {
    SeriesOutcome {
        head: ground.head.clone(),
        pace: options.pace,
        seed: options.seed,
        parts: options.parts.clone(),
        durabilities: options.durabilities.clone(),
        assignment,
        sync_cost: None,
        writes: Vec::new(),
        restart: None,
        ingest: None,
        reads: Vec::new(),
        stopped: false,
    }
}

/// A run under way.
struct SeriesRun<'a> {
    options: &'a SeriesOptions,
    ground: &'a Ground<'a>,
    assignment: Assignment,
}

impl SeriesRun<'_> {
    fn measure(&self, outcome: &mut SeriesOutcome) -> Result<(), LabError> {
        let cost = sync_cost(self.ground.folder.path()).map_err(LabError::io("measure the disk's sync"))?;
        outcome.sync_cost = Some(Nanos(cost.as_nanos() as u64));
        let has = |part| self.options.parts.contains(&part);
        if has(SeriesPart::Writes) {
            self.measure_writes(outcome)?;
        }
        if has(SeriesPart::Reads) && !self.ground.is_stopped() {
            self.ground.display.set_later(Nanos::ZERO);
            self.measure_reads(outcome)?;
        }
        outcome.stopped = self.ground.is_stopped();
        Ok(())
    }

    fn measure_writes(&self, outcome: &mut SeriesOutcome) -> Result<(), LabError> {
        let SeriesOptions { pace, seed, durabilities, .. } = self.options;
        let run = WriteRun { ground: self.ground, assignment: &self.assignment, pace, seed: *seed };
        for (place, durability) in durabilities.iter().enumerate() {
            if self.ground.is_stopped() {
                break;
            }
            let others = durabilities.len() - place - 1;
            self.ground.display.set_later(Nanos(pace.write.0 * 2 * others as u64 + self.time_of_reads().0));
            let forms = if place == 0 { &WriteForm::ALL[..] } else { &WriteForm::ALL[1..] };
            let restart = run.measure(*durability, forms, &mut outcome.writes)?;
            outcome.restart = outcome.restart.or(restart);
        }
        Ok(())
    }

    fn time_of_reads(&self) -> Nanos {
        let has = self.options.parts.contains(&SeriesPart::Reads);
        let runs = if has { ReadQuestion::ALL.len() * LOADS.len() } else { 0 };
        Nanos(self.options.pace.read.0 * runs as u64)
    }

    fn measure_reads(&self, outcome: &mut SeriesOutcome) -> Result<(), LabError> {
        let data = self.ground.data_directory()?;
        let dataset = SeriesDataset::new(self.options.pace.rows);
        let directory = data.path().display().to_string();
        let serve =
            || self.ground.start(vec!["serve".to_owned(), format!("series:{directory}")], &self.assignment);
        let engine = serve()?;
        let display = &self.ground.display;
        let written = ingest::write(engine.address(), dataset, display, || self.ground.is_stopped())?;
        let Some(written) = written else { return Ok(()) };
        rows::compare(engine.address(), "Room", dataset.rows(), "after they were written")?;
        engine.stop();
        let began = Instant::now();
        let compact = ["series", "compact", &directory].map(str::to_owned).to_vec();
        if self.ground.output(compact, &self.assignment)?.is_none() {
            return Ok(());
        }
        let compact_time = Nanos(began.elapsed().as_nanos() as u64);
        outcome.ingest = Some(Ingest { compact_bytes: bytes_in(data.path()), compact_time, ..written });
        let engine = serve()?;
        let run = ReadRun {
            ground: self.ground,
            assignment: &self.assignment,
            engine: &engine,
            dataset,
            time: self.options.pace.read,
            seed: self.options.seed,
        };
        run.measure(&mut outcome.reads)?;
        engine.stop();
        data.close().map_err(LabError::io("remove the engine's data"))
    }
}
