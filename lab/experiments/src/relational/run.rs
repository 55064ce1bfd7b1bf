//! One run of the experiment from the data to the written table.

use std::{
    fs,
    path::{Path, PathBuf},
};

use prony_load::StopFlag;
use prony_model::Nanos;

use super::{
    answer,
    capacity::{self, Capacity, Cell},
    dataset::{self, DatasetError, DatasetPlan},
    display::RelationalDisplay,
    measure::RelationalSurroundings,
    outcome::{DatabaseKind, RelationalOutcome, SCHEMA_VERSION},
    resolvers::{self, MODELS, ResolverRow},
    script::Scripts,
    study::{Operation, RelationalPace, Workload},
};
use crate::{
    engine::Engine,
    error::LabError,
    frame::{Frame, Ground, Report},
    processors::Assignment,
};

/// Descriptors that are not connections of users: logs, results, threads' own.
const DESCRIPTORS_RESERVED: u64 = 200;
/// The engine's own copy of the kept SQLite file.
const COPY: &str = "meetup.sqlite";
/// More users than this are more than the study's question is about.
const USERS_MAX: u32 = 100_000;

/// What the user asked for.
#[derive(Debug)]
pub struct RelationalOptions {
    /// The `prony` program that serves.
    pub program: PathBuf,
    pub database: Database,
    pub dataset: DatasetPlan,
    pub pace: RelationalPace,
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

/// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
pub fn run(options: &RelationalOptions) -> Result<Report<RelationalOutcome>, LabError> {
    let frame = Frame {
        name: "relational",
        schema_version: SCHEMA_VERSION,
        program: &options.program,
        is_full: options.pace == RelationalPace::FULL,
        processors: &options.processors,
        output: &options.output,
        command_line: &options.command_line,
        stop: &options.stop,
    };
    let report = frame.run(|ground| RelationalExperiment::prepare(options, ground)?.measure())?;
    remove_copy(&report.directory);
    Ok(report)
}

/// A run under way.
struct RelationalExperiment<'a> {
    options: &'a RelationalOptions,
    ground: &'a Ground<'a>,
    display: RelationalDisplay,
    scripts: Option<Scripts>,
    /// The engine's first argument after `serve`.
    source: String,
    users_max: u32,
}

impl<'a> RelationalExperiment<'a> {
    fn prepare(options: &'a RelationalOptions, ground: &'a Ground<'a>) -> Result<Self, LabError> {
        let folder = ground.folder.path();
        let place = folder.join("scripts");
        let scripts = options.script.then(|| Scripts::write(place.clone())).transpose();
        let scripts = scripts.map_err(LabError::io(format!("write the scripts to {}", place.display())))?;
        let display = RelationalDisplay::new(&ground.display);
        let source = match provide(options, folder, &display) {
            // Nothing is served after a stop.
            Err(LabError::Dataset(DatasetError::Stopped)) => String::new(),
            provided => provided?,
        };
        let descriptors = ground.descriptors.saturating_sub(DESCRIPTORS_RESERVED);
        let users_max = u32::try_from(descriptors).unwrap_or(u32::MAX).min(USERS_MAX);
        Ok(Self { options, ground, display, scripts, source, users_max })
    }

    fn measure(&self) -> Result<RelationalOutcome, LabError> {
        let mut outcome = self.empty_outcome();
        for assignment in &self.ground.assignments {
            self.search_all(assignment, &mut outcome)?;
        }
        if self.options.compare_resolvers {
            self.compare_resolvers(&mut outcome)?;
        }
        outcome.stopped = self.ground.is_stopped();
        Ok(outcome)
    }

    /// All cells of one number of processors.
    fn search_all(&self, assignment: &Assignment, outcome: &mut RelationalOutcome) -> Result<(), LabError> {
        if self.ground.is_stopped() {
            return Ok(());
        }
        let engine = self.start(assignment, &self.options.resolver)?;
        for workload in self.workloads() {
            if self.ground.is_stopped() {
                break;
            }
            self.tell_time_left(outcome.cells.len() + 1);
            answer::check(engine.address(), &workload)?;
            let surroundings = self.surroundings(&engine, assignment);
            let found = capacity::search(&Cell {
                workload,
                processors: assignment.server.len(),
                pace: &self.options.pace,
                users_max: self.users_max,
                surroundings: &surroundings,
                display: &self.display,
            })?;
            self.tell_answer(&found);
            outcome.cells.push(found);
        }
        engine.stop();
        Ok(())
    }

    fn compare_resolvers(&self, outcome: &mut RelationalOutcome) -> Result<(), LabError> {
        let Some(assignment) = self.ground.assignments.first() else { return Ok(()) };
        let mut rows: Vec<ResolverRow> = Vec::new();
        for resolver in MODELS {
            if self.ground.is_stopped() {
                break;
            }
            let engine = self.start(assignment, resolver)?;
            for workload in self.workloads().filter(|workload| self.is_compared(workload)) {
                answer::check(engine.address(), &workload)?;
                let surroundings = self.surroundings(&engine, assignment);
                let pace = &self.options.pace;
                rows.extend(resolvers::measure(resolver, &workload, pace, &surroundings, &self.display)?);
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
        self.ground.start(arguments, assignment)
    }

    fn surroundings<'s>(
        &'s self,
        engine: &'s Engine,
        assignment: &'s Assignment,
    ) -> RelationalSurroundings<'s> {
        RelationalSurroundings {
            engine,
            engine_processors: matches!(self.options.database, Database::Sqlite)
                .then_some(&assignment.server),
            runs: self.ground.runs(assignment),
            scripts: self.scripts.as_ref(),
        }
    }

    fn tell_time_left(&self, cell: usize) {
        let cells = self.workloads().count() * self.ground.assignments.len();
        let compared = if self.options.compare_resolvers {
            self.workloads().filter(|workload| self.is_compared(workload)).count() * MODELS.len()
        } else {
            0
        };
        let further = Nanos(self.options.pace.saturation.0 * compared as u64);
        let left = cells.saturating_sub(cell);
        self.display.set_later(left, &self.options.pace, further);
        self.display.set_steps(left + 1, &self.options.pace, compared);
    }

    fn tell_answer(&self, found: &Capacity) {
        if let Some(limit) = &found.outside_limit {
            self.display.line(&format!("  at least: the engine was not the limit ({limit})"));
        }
    }

    fn empty_outcome(&self) -> RelationalOutcome {
        RelationalOutcome {
            head: self.ground.head.clone(),
            database: match self.options.database {
                Database::Sqlite => DatabaseKind::Sqlite,
                Database::Postgres(_) => DatabaseKind::Postgres,
            },
            dataset: self.options.dataset,
            pace: self.options.pace,
            resolver: self.options.resolver.clone(),
            script: self.options.script,
            assignments: self.ground.assignments.clone(),
            cells: Vec::new(),
            resolvers: Vec::new(),
            stopped: false,
        }
    }
}

/// The file that the engine wrote to is no result.
fn remove_copy(directory: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        // Not there after PostgreSQL; and what cannot be removed does no harm.
        let _ = fs::remove_file(directory.join(format!("{COPY}{suffix}")));
    }
}

/// Makes the data set and returns the engine's source.
fn provide(
    options: &RelationalOptions,
    directory: &Path,
    display: &RelationalDisplay,
) -> Result<String, LabError> {
    display.line(&format!("data: {}", options.dataset.fingerprint()));
    match &options.database {
        Database::Postgres(url) => {
            dataset::provide_postgres(options.dataset, url, &options.stop)?;
            Ok(url.clone())
        }
        Database::Sqlite => {
            let cache = options.output.join("cache");
            let (kept, _) = dataset::provide_sqlite(options.dataset, &cache, &options.stop)?;
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
