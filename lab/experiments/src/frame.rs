//! The frame of every experiment: processors are shared out, the results' folder is made, the experiment measures, and
//! its outcome is written as tables and as JSON. What is measured, and what the tables say, is the experiment's own.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use prony_load::StopFlag;
use prony_model::Conclusion;
use prony_model::result::Machine;
use prony_report::StudyData;
use serde::Serialize;
use tempfile::TempDir;

use crate::{
    clock::rfc3339,
    display::Display,
    engine::{Engine, EngineCommand, raise_descriptor_limit},
    error::LabError,
    folder::Folder,
    processors::{self, Assignment, assign},
    runs::Runs,
};

/// What a run leaves.
#[derive(Debug)]
pub struct Report<O> {
    pub outcome: O,
    /// The tables, as in `table.md`.
    pub markdown: String,
    /// `results/NAME-TIME`.
    pub directory: PathBuf,
    /// Of the file in it that holds the outcome.
    pub json_name: String,
    /// Of the page in it, where the experiment has one.
    pub page_name: Option<&'static str>,
    pub conclusion: Conclusion,
}

/// The beginning of every outcome: what ran where and when.
#[derive(Debug, Clone, Serialize)]
pub struct Head {
    /// `prony-lab-NAME`.
    pub schema: String,
    pub schema_version: u32,
    pub prony_version: &'static str,
    pub command_line: Vec<String>,
    /// `2026-11-21T02:03:04Z`.
    pub started_at: String,
    /// Known from when the first load has been run.
    pub machine: Machine,
}

impl Head {
    /// `2 × Example 3000, Linux 6.1`
    pub(crate) fn machine_text(&self) -> String {
        let Machine { processors, processor, kernel, .. } = &self.machine;
        format!("{processors} × {processor}, {kernel}")
    }

    #[cfg(test)]
    pub(crate) fn example(name: &str) -> Self {
        Self {
            schema: format!("prony-lab-{name}"),
            schema_version: 1,
            prony_version: "0.1.0",
            command_line: Vec::new(),
            started_at: "2026-11-21T02:03:04Z".into(),
            machine: Machine {
                processors: 2,
                processor: "Example 3000".into(),
                kernel: "Linux 6.1".into(),
                ..Machine::default()
            },
        }
    }
}

/// What an experiment found. Its JSON begins with the head.
pub(crate) trait Outcome: Serialize {
    fn head_mut(&mut self) -> &mut Head;

    /// The whole result as Markdown.
    fn render(&self) -> String;

    /// The page of the result, and the files of the runs that it shows; none where the experiment has no page of its own.
    fn page(&self) -> Option<(StudyData, Vec<&str>)> {
        None
    }

    /// An experiment has no objectives: it has passed where something of it can be believed.
    fn conclusion(&self) -> Conclusion;
}

/// Of an experiment with so many successes among so many requests.
pub(crate) fn conclusion_of(requests: u64, successes: u64) -> Conclusion {
    if requests > 0 && successes == 0 { Conclusion::Failed } else { Conclusion::Passed }
}

/// An experiment as its frame sees it.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Of the folder and the outcome's file.
    pub name: &'static str,
    /// Counts up when a reader of older outcomes would misread newer ones.
    pub schema_version: u32,
    /// The `prony` program that serves.
    pub program: &'a Path,
    /// In the durations of the study.
    pub is_full: bool,
    /// Numbers of processors for the engine; empty stands for what suits the machine and the pace.
    pub processors: &'a [usize],
    /// The folder is made below it.
    pub output: &'a Path,
    pub command_line: &'a [String],
    pub stop: &'a StopFlag,
}

/// What an experiment measures with.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    frame: &'a Frame<'a>,
    pub display: Display,
    pub folder: Folder,
    pub head: Head,
    pub assignments: Vec<Assignment>,
    /// How many files the lab, and an engine that it starts, may have open.
    pub descriptors: u64,
}

impl Frame<'_> {
    /// Runs the experiment. Binds the calling thread to the lab's processors while it lasts.
    pub(crate) fn run<O: Outcome>(
        &self,
        measure: impl FnOnce(&Ground<'_>) -> Result<O, LabError>,
    ) -> Result<Report<O>, LabError> {
        let available = processors::available().map_err(LabError::io("ask for this machine's processors"))?;
        let ground = self.prepare(&available)?;
        let measured = measure(&ground);
        let restored = processors::bind_thread(&available);
        ground.display.finish();
        let mut outcome = measured?;
        restored.map_err(LabError::io("give the lab its processors back"))?;
        let machine = Machine { processors: available.len() as u32, ..ground.folder.machine() };
        outcome.head_mut().machine = machine;
        let markdown = outcome.render();
        let json_name = ground.folder.write(&markdown, &outcome)?;
        let page_name =
            outcome.page().map(|(study, runs)| ground.folder.write_page(study, &runs)).transpose()?;
        let (conclusion, directory) = (outcome.conclusion(), ground.folder.path().to_owned());
        Ok(Report { outcome, markdown, directory, json_name, page_name, conclusion })
    }

    fn prepare(&self, available: &[usize]) -> Result<Ground<'_>, LabError> {
        let started_at = rfc3339(SystemTime::now());
        let assignments = assign(self.processors, self.is_full, available)?;
        Ok(Ground {
            frame: self,
            display: Display::new(self.name),
            folder: Folder::create(self.output, self.name, &started_at)?,
            head: Head {
                schema: format!("prony-lab-{}", self.name),
                schema_version: self.schema_version,
                prony_version: env!("CARGO_PKG_VERSION"),
                command_line: self.command_line.to_vec(),
                started_at,
                machine: Machine::default(),
            },
            assignments,
            descriptors: raise_descriptor_limit(),
        })
    }
}

impl Ground<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.frame.stop.is_stopped()
    }

    /// Load from the lab's processors.
    pub(crate) fn runs<'s>(&'s self, assignment: &Assignment) -> Runs<'s> {
        Runs {
            stop: self.frame.stop,
            command_line: self.frame.command_line,
            directory: self.folder.path(),
            threads: assignment.lab_threads(),
            observers: &[],
        }
    }

    /// Starts an engine on its processors, its log in the folder.
    pub(crate) fn start(&self, arguments: Vec<String>, assignment: &Assignment) -> Result<Engine, LabError> {
        Ok(Engine::start(&self.command(arguments, assignment))?)
    }

    /// Starts an engine behind the one that is measured: on the lab's processors, with a log of its own.
    pub(crate) fn start_backend(
        &self,
        arguments: Vec<String>,
        assignment: &Assignment,
    ) -> Result<Engine, LabError> {
        let log = self.folder.path().join("backend.log");
        let command = self.command(arguments, assignment);
        Ok(Engine::start(&EngineCommand { processors: &assignment.lab, log, ..command })?)
    }

    /// Has the engine do something that ends by itself, and returns what it printed. `None` where the user stopped it.
    pub(crate) fn output(
        &self,
        arguments: Vec<String>,
        assignment: &Assignment,
    ) -> Result<Option<Vec<u8>>, LabError> {
        Ok(self.command(arguments, assignment).output(|| self.is_stopped())?)
    }

    /// Beside the results, so that writes go to the same disk as the user's data would.
    pub(crate) fn data_directory(&self) -> Result<TempDir, LabError> {
        let place = self.folder.path();
        let made = tempfile::Builder::new().prefix("data-").tempdir_in(place);
        made.map_err(LabError::io(format!("make a directory for the engine's data in {}", place.display())))
    }

    fn command<'s>(&'s self, arguments: Vec<String>, assignment: &'s Assignment) -> EngineCommand<'s> {
        EngineCommand {
            program: self.frame.program,
            arguments,
            processors: &assignment.server,
            lab_processors: &assignment.lab,
            log: self.folder.path().join("engine.log"),
        }
    }
}
