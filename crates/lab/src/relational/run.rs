//! One run of the experiment from the data to the written table.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use prony_load::StopFlag;
use prony_load_model::{Nanos, result::Machine};

use super::{
    answer,
    capacity::{self, Capacity},
    dataset::{self, DatasetPlan},
    display::Display,
    measure::Surroundings,
    outcome::{DatabaseKind, Outcome, SCHEMA_VERSION},
    report,
    resolvers::{self, MODELS, ResolverRow},
    script::Scripts,
    study::{Operation, Pace, Workload},
};
use crate::{
    clock::rfc3339,
    engine::{Engine, EngineCommand, raise_descriptor_limit},
    error::LabError,
    folder::Folder,
    processors::{self, Assignment, assign},
    runs::Runs,
};

/// Descriptors that are not connections of users: logs, results, threads' own.
const DESCRIPTORS_RESERVED: u64 = 200;
/// The engine's own copy of the kept SQLite file.
const COPY: &str = "meetup.sqlite";
/// More users than this are more than the study's question is about.
const USERS_MAX: u32 = 100_000;

/// What the user asked for.
#[derive(Debug)]
pub struct Options {
    /// The `prony` program that serves.
    pub program: PathBuf,
    pub database: Database,
    pub dataset: DatasetPlan,
    pub pace: Pace,
    /// Numbers of processors for the engine; empty stands for what suits the machine and the pace.
    pub processors: Vec<usize>,
    pub operations: Vec<Operation>,
    pub limits: Vec<u32>,
    /// The resolver model of the searches.
    pub resolver: String,
    /// Users of the searches run k6 scripts instead of plans.
    pub script: bool,
    /// Also compare the three models.
    pub compare_resolvers: bool,
    /// Results go below it, and the SQLite file is kept there.
    pub output: PathBuf,
    pub command_line: Vec<String>,
    pub stop: StopFlag,
}

/// Where the engine gets its rows.
#[derive(Debug, Clone)]
pub enum Database {
    Sqlite,
    /// A `postgres://…` address.
    Postgres(String),
}

/// What a run leaves.
#[derive(Debug)]
pub struct Report {
    pub outcome: Outcome,
    /// The tables, as in `table.md`.
    pub markdown: String,
    /// `results/relational-TIME`.
    pub directory: PathBuf,
}

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &Options) -> Result<Report, LabError> {
    let display = Display::new();
    let started_at = rfc3339(SystemTime::now());
    let available = processors::available().map_err(LabError::io("ask for this machine's processors"))?;
    let experiment = Experiment::prepare(options, &display, &available, &started_at)?;
    let outcome = experiment.measure(started_at);
    let restored =
        processors::bind_thread(&available).map_err(LabError::io("give the lab its processors back"));
    display.finish();
    let report = experiment.write(outcome?)?;
    restored.map(|()| report)
}

/// A run under way.
struct Experiment<'a> {
    options: &'a Options,
    display: &'a Display,
    assignments: Vec<Assignment>,
    folder: Folder,
    scripts: Option<Scripts>,
    /// The engine's first argument after `serve`.
    source: String,
    users_max: u32,
    /// Of the machine, as far as we may use them.
    processors: u32,
}

impl<'a> Experiment<'a> {
    fn prepare(
        options: &'a Options,
        display: &'a Display,
        available: &[usize],
        started_at: &str,
    ) -> Result<Self, LabError> {
        let is_full = options.pace == Pace::FULL;
        let assignments = assign(&options.processors, is_full, available)?;
        let folder = Folder::create(&options.output, "relational", started_at)?;
        let place = folder.path().join("scripts");
        let scripts = options.script.then(|| Scripts::write(place.clone())).transpose();
        let scripts = scripts.map_err(LabError::io(format!("write the scripts to {}", place.display())))?;
        let source = provide(options, folder.path(), display)?;
        let descriptors = raise_descriptor_limit().saturating_sub(DESCRIPTORS_RESERVED);
        let users_max = u32::try_from(descriptors).unwrap_or(u32::MAX).min(USERS_MAX);
        let processors = available.len() as u32;
        Ok(Self { options, display, assignments, folder, scripts, source, users_max, processors })
    }

    fn measure(&self, started_at: String) -> Result<Outcome, LabError> {
        let mut outcome = self.empty_outcome(started_at);
        for assignment in &self.assignments {
            self.search_all(assignment, &mut outcome)?;
        }
        if self.options.compare_resolvers {
            self.compare_resolvers(&mut outcome)?;
        }
        outcome.stopped = self.options.stop.is_stopped();
        outcome.machine = Machine { processors: self.processors, ..self.folder.machine() };
        Ok(outcome)
    }

    /// All cells of one number of processors.
    fn search_all(&self, assignment: &Assignment, outcome: &mut Outcome) -> Result<(), LabError> {
        if self.options.stop.is_stopped() {
            return Ok(());
        }
        let engine = self.start(assignment, &self.options.resolver)?;
        for workload in self.workloads() {
            if self.options.stop.is_stopped() {
                break;
            }
            self.tell_time_left(outcome.cells.len() + 1);
            answer::check(engine.address(), &workload)?;
            let surroundings = self.surroundings(&engine, assignment);
            let processors = assignment.server.len();
            let pace = &self.options.pace;
            let users_max = self.users_max;
            let found = capacity::search(workload, processors, pace, users_max, &surroundings, self.display)?;
            self.tell_answer(&found);
            outcome.cells.push(found);
        }
        engine.stop();
        Ok(())
    }

    fn compare_resolvers(&self, outcome: &mut Outcome) -> Result<(), LabError> {
        let Some(assignment) = self.assignments.first() else { return Ok(()) };
        let mut rows: Vec<ResolverRow> = Vec::new();
        for resolver in MODELS {
            if self.options.stop.is_stopped() {
                break;
            }
            let engine = self.start(assignment, resolver)?;
            for workload in self.workloads().filter(|workload| self.is_compared(workload)) {
                answer::check(engine.address(), &workload)?;
                let surroundings = self.surroundings(&engine, assignment);
                let pace = &self.options.pace;
                rows.extend(resolvers::measure(resolver, &workload, pace, &surroundings, self.display)?);
            }
            engine.stop();
        }
        // By query, then by model: what is compared stands together.
        rows.sort_by_key(|row| Operation::QUERIES.iter().position(|query| *query == row.operation));
        outcome.resolvers = rows;
        Ok(())
    }

    fn is_compared(&self, workload: &Workload) -> bool {
        workload.operation != Operation::Create && Some(&workload.limit) == self.options.limits.first()
    }

    /// Queries by limit and nests, then the mutation, which has no limit.
    fn workloads(&self) -> impl Iterator<Item = Workload> {
        let DatasetPlan { seed, rows } = self.options.dataset;
        let queries = self.options.limits.iter().flat_map(move |limit| {
            let operations =
                self.options.operations.iter().filter(|operation| **operation != Operation::Create);
            operations.map(move |operation| Workload { operation: *operation, limit: *limit, rows, seed })
        });
        let create = self.options.operations.contains(&Operation::Create);
        queries.chain(create.then_some(Workload { operation: Operation::Create, limit: 1, rows, seed }))
    }

    fn start(&self, assignment: &Assignment, resolver: &str) -> Result<Engine, LabError> {
        let arguments = ["serve", &self.source, "--resolver", resolver].map(str::to_owned).into();
        Ok(Engine::start(&EngineCommand {
            program: &self.options.program,
            arguments,
            processors: &assignment.server,
            lab_processors: &assignment.lab,
            log: self.folder.path().join("engine.log"),
        })?)
    }

    fn surroundings<'s>(&'s self, engine: &'s Engine, assignment: &'s Assignment) -> Surroundings<'s> {
        Surroundings {
            engine,
            engine_processors: matches!(self.options.database, Database::Sqlite)
                .then_some(&assignment.server),
            runs: Runs {
                stop: &self.options.stop,
                command_line: &self.options.command_line,
                directory: self.folder.path(),
                threads: assignment.lab_threads(),
            },
            scripts: self.scripts.as_ref(),
        }
    }

    fn tell_time_left(&self, cell: usize) {
        let cells = self.workloads().count() * self.assignments.len();
        let compared = if self.options.compare_resolvers {
            self.workloads().filter(|workload| self.is_compared(workload)).count() * MODELS.len()
        } else {
            0
        };
        let further = Nanos(self.options.pace.saturation.0 * compared as u64);
        self.display.set_later(cells.saturating_sub(cell), &self.options.pace, further);
    }

    fn tell_answer(&self, found: &Capacity) {
        if let Some(limit) = &found.outside_limit {
            self.display.line(&format!("  at least: the engine was not the limit ({limit})"));
        }
    }

    fn empty_outcome(&self, started_at: String) -> Outcome {
        Outcome {
            schema: "prony-lab-relational",
            schema_version: SCHEMA_VERSION,
            prony_version: env!("CARGO_PKG_VERSION"),
            command_line: self.options.command_line.clone(),
            started_at,
            machine: Machine::default(),
            database: match self.options.database {
                Database::Sqlite => DatabaseKind::Sqlite,
                Database::Postgres(_) => DatabaseKind::Postgres,
            },
            dataset: self.options.dataset,
            pace: self.options.pace,
            resolver: self.options.resolver.clone(),
            script: self.options.script,
            assignments: self.assignments.clone(),
            cells: Vec::new(),
            resolvers: Vec::new(),
            stopped: false,
        }
    }

    /// The file that the engine wrote to is no result.
    fn remove_copy(&self) {
        for suffix in ["", "-wal", "-shm"] {
            // Not there after PostgreSQL; and what cannot be removed does no harm.
            let _ = fs::remove_file(self.folder.path().join(format!("{COPY}{suffix}")));
        }
    }

    fn write(&self, outcome: Outcome) -> Result<Report, LabError> {
        let markdown = report::render(&outcome);
        self.folder.write(&markdown, &outcome)?;
        self.remove_copy();
        Ok(Report { outcome, markdown, directory: self.folder.path().to_owned() })
    }
}

/// Makes the data set and returns the engine's source.
fn provide(options: &Options, directory: &Path, display: &Display) -> Result<String, LabError> {
    display.line(&format!("data: {}", options.dataset.fingerprint()));
    match &options.database {
        Database::Postgres(url) => {
            dataset::provide_postgres(options.dataset, url)?;
            Ok(url.clone())
        }
        Database::Sqlite => {
            let (kept, _) = dataset::provide_sqlite(options.dataset, &options.output.join("cache"))?;
            // The mutation writes: what is kept stays as it was made.
            let copy = directory.join(COPY);
            fs::copy(&kept, &copy).map_err(LabError::io(format!(
                "copy {} to {}",
                kept.display(),
                copy.display()
            )))?;
            Ok(format!("sqlite:{}", copy.display()))
        }
    }
}
