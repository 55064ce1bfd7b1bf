//! One run of the experiment from the empty directory to the written tables.

use std::path::PathBuf;

use prony_load::StopFlag;
use prony_model::Nanos;

use super::{
    dataset::SeriesDataset,
    engines::{EngineSetting, SeriesEngine},
    ingest::{self, Ingest},
    outcome::{NotMeasured, SCHEMA_VERSION, SeriesOutcome},
    places::{Given, Places, Servers, Storage},
    reads::{LOADS, ReadRun},
    rows,
    study::{ReadQuestion, SeriesPace, SeriesPart, WriteForm},
    writes::WriteRun,
};
use crate::{
    disk::sync_cost,
    display::StepCount,
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
    /// What keeps the rows.
    pub engines: Vec<SeriesEngine>,
    /// Of notifications to the embedded engine; the study's form is measured with the first.
    pub durabilities: Vec<Durability>,
    /// The address of a `PostgreSQL` server; none stands for one of the experiment's own.
    pub postgres: Option<String>,
    /// The address of a Redis, likewise.
    pub redis: Option<String>,
    /// The address of a `QuestDB`, likewise, or the file of its program.
    pub questdb: Option<String>,
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
        engines: options.engines.clone(),
        durabilities: options.durabilities.clone(),
        assignment,
        sync_cost: None,
        servers: Servers::default(),
        writes: Vec::new(),
        restart: None,
        ingests: Vec::new(),
        reads: Vec::new(),
        not_measured: Vec::new(),
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
        let (writes, reads) = (self.writes(), self.reads());
        let settings: Vec<_> =
            writes.iter().map(|(setting, _)| *setting).chain(reads.iter().copied()).collect();
        let SeriesOptions { postgres, redis, questdb, .. } = self.options;
        let given =
            Given { postgres: postgres.as_deref(), redis: redis.as_deref(), questdb: questdb.as_deref() };
        let places = Places::provide(self.ground, &self.assignment, given, &settings)?;
        outcome.servers = places.servers();
        let written: usize = writes.iter().map(|(_, forms)| forms.len()).sum();
        let steps = written + reads.len() * ReadQuestion::ALL.len() * LOADS.len();
        self.ground.display.set_steps(StepCount::Exactly(steps as u32));
        for (place, (setting, forms)) in writes.iter().enumerate() {
            if self.ground.is_stopped() {
                break;
            }
            let later = writes[place + 1..].iter().flat_map(|(_, forms)| forms);
            let later = later.map(|form| self.options.pace.write_time(*form).0).sum::<u64>();
            self.ground.display.set_later(Nanos(later + self.time_of_reads(reads.len()).0));
            match places.open(*setting)? {
                Ok(storage) => self.measure_writes(storage, forms, outcome)?,
                Err(reason) => outcome.not_measured.push(not_measured(SeriesPart::Writes, *setting, reason)),
            }
        }
        for (place, setting) in reads.iter().enumerate() {
            if self.ground.is_stopped() {
                break;
            }
            self.ground.display.set_later(self.time_of_reads(reads.len() - place - 1));
            match places.open(*setting)? {
                Ok(storage) => self.measure_reads(storage, outcome)?,
                Err(reason) => outcome.not_measured.push(not_measured(SeriesPart::Reads, *setting, reason)),
            }
        }
        outcome.stopped = self.ground.is_stopped();
        Ok(())
    }

    /// What is notified, and in which forms: the study's script goes with all settings of the study, many entities at a time with those that
    /// an engine has by itself.
    fn writes(&self) -> Vec<(EngineSetting, Vec<WriteForm>)> {
        if !self.options.parts.contains(&SeriesPart::Writes) {
            return Vec::new();
        }
        let durabilities = &self.options.durabilities;
        let settings = self.options.engines.iter().flat_map(|engine| engine.settings(durabilities));
        let forms = |setting: EngineSetting| match setting {
            EngineSetting::Embedded { durability } if durabilities.first() != Some(&durability) => {
                vec![WriteForm::Saturated, WriteForm::Batches]
            }
            EngineSetting::Postgres { .. } if !setting.is_usual() => {
                vec![WriteForm::Published, WriteForm::Saturated]
            }
            EngineSetting::Embedded { .. } | EngineSetting::QuestDb | EngineSetting::Postgres { .. } => {
                WriteForm::ALL.to_vec()
            }
        };
        settings.map(|setting| (setting, forms(setting))).collect()
    }

    /// Whose large table is queried.
    fn reads(&self) -> Vec<EngineSetting> {
        let has = self.options.parts.contains(&SeriesPart::Reads);
        let engines = self.options.engines.iter().filter(|_| has);
        engines.map(|engine| engine.usual()).collect()
    }

    fn time_of_reads(&self, engines: usize) -> Nanos {
        Nanos(self.options.pace.read.0 * (engines * ReadQuestion::ALL.len() * LOADS.len()) as u64)
    }

    fn measure_writes(
        &self,
        storage: Storage<'_>,
        forms: &[WriteForm],
        outcome: &mut SeriesOutcome,
    ) -> Result<(), LabError> {
        let SeriesOptions { pace, seed, .. } = self.options;
        let run = WriteRun { ground: self.ground, assignment: &self.assignment, pace, seed: *seed };
        let restart = run.measure(&storage, forms, &mut outcome.writes)?;
        outcome.restart = outcome.restart.or(restart);
        storage.close()
    }

    fn measure_reads(&self, storage: Storage<'_>, outcome: &mut SeriesOutcome) -> Result<(), LabError> {
        let dataset = SeriesDataset::new(self.options.pace.rows);
        let engine = storage.serve()?;
        let (display, setting) = (&self.ground.display, storage.setting);
        let written =
            ingest::write(engine.address(), setting, dataset, display, || self.ground.is_stopped())?;
        let Some(written) = written else { return storage.close() };
        rows::compare(engine.address(), "Room", dataset.rows(), "after they were written")?;
        engine.stop();
        let Some(compact_time) = storage.put_together()? else { return storage.close() };
        outcome.ingests.push(Ingest { compact_bytes: storage.bytes()?, compact_time, ..written });
        let engine = storage.serve()?;
        let run = ReadRun {
            ground: self.ground,
            assignment: &self.assignment,
            storage: &storage,
            engine: &engine,
            dataset,
            time: self.options.pace.read,
            seed: self.options.seed,
        };
        run.measure(&mut outcome.reads)?;
        engine.stop();
        storage.close()
    }
}

fn not_measured(part: SeriesPart, setting: EngineSetting, reason: String) -> NotMeasured {
    NotMeasured { part, setting, reason }
}
