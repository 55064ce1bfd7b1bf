//! Result files as they are found: reads their text and says what keeps a file from being one.

use crate::search::shown_load;
use prony_model::comparison::{ComparisonFile, Side};
use prony_model::search::{SearchFile, SearchStep};
use prony_model::{ResultFile, comparison, result, search};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Document {
    Run(Box<ResultFile>),
    Search(Box<SearchFile>),
    Comparison(Box<ComparisonFile>),
}

/// With the name that people know it by, such as its path.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDocument {
    pub name: String,
    pub document: Document,
}

/// A run with a name that no other of the same list has.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledRun<'a> {
    pub label: String,
    /// The document that holds it.
    pub file: String,
    pub result: &'a ResultFile,
}

/// All runs of all documents. Those with the same name get numbers.
pub fn labelled_runs(documents: &[NamedDocument]) -> Vec<LabelledRun<'_>> {
    let runs = documents.iter().flat_map(|document| {
        let runs = document.document.runs();
        runs.into_iter().map(|(label, result)| LabelledRun { label, file: document.name.clone(), result })
    });
    let mut runs: Vec<_> = runs.collect();
    let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
    let mut taken: HashSet<String> = labels.iter().cloned().collect();
    for (index, run) in runs.iter_mut().enumerate() {
        if labels.iter().filter(|other| **other == labels[index]).count() > 1 {
            let number = labels[..=index].iter().filter(|other| **other == labels[index]).count();
            // Somebody may have called a plan as if it were the second of its name.
            let mut names = (number..).map(|number| format!("{} #{number}", labels[index]));
            run.label = names.find(|name| taken.insert(name.clone())).unwrap_or_default();
        }
    }
    runs
}

impl Document {
    /// All runs that it holds, each with a short name.
    fn runs(&self) -> Vec<(String, &ResultFile)> {
        match self {
            Self::Run(result) => vec![(result.plan.name.clone(), &**result)],
            Self::Search(file) => {
                let runs = |step| of_step(file, step);
                file.steps_by_load().into_iter().flat_map(runs).collect()
            }
            Self::Comparison(file) => {
                let label = |side| if side == Side::A { "A" } else { "B" };
                file.runs.iter().map(|run| (label(run.side).to_owned(), &run.result)).collect()
            }
        }
    }

    pub fn title(&self) -> String {
        match self {
            Self::Run(result) => result.plan.name.clone(),
            Self::Search(file) => file.name.clone(),
            Self::Comparison(file) => format!("{} against {}", file.b.given, file.a.given),
        }
    }
}

fn of_step<'a>(
    file: &SearchFile,
    step: &'a SearchStep,
) -> impl Iterator<Item = (String, &'a ResultFile)> + use<'a> {
    let label = shown_load(file, step.load);
    step.runs.iter().map(move |run| (label.clone(), &run.result))
}

/// What every file of ours begins with, whatever else it holds.
#[derive(Deserialize)]
struct Head {
    schema: String,
    schema_version: u32,
}

/// Reads the text of any result file, and refuses what is none.
pub fn read_document(text: &str) -> Result<Document, ReadError> {
    let head: Head = parse(text)?;
    match head.schema.as_str() {
        result::SCHEMA => {
            check_version(head.schema_version, result::SCHEMA_VERSION)?;
            let mut result: ResultFile = parse(text)?;
            result.judge_once();
            Ok(Document::Run(Box::new(result)))
        }
        search::SCHEMA => {
            check_version(head.schema_version, search::SCHEMA_VERSION)?;
            let mut file: SearchFile = parse(text)?;
            for step in &mut file.steps {
                step.runs.iter_mut().for_each(|run| run.result.judge_once());
            }
            if file.verdict.is_none() {
                file.conclude(file.interval);
            }
            Ok(Document::Search(Box::new(file)))
        }
        comparison::SCHEMA => {
            check_version(head.schema_version, comparison::SCHEMA_VERSION)?;
            let mut file: ComparisonFile = parse(text)?;
            file.runs.iter_mut().for_each(|run| run.result.judge_once());
            if file.verdict.is_none() {
                file.conclude();
            }
            Ok(Document::Comparison(Box::new(file)))
        }
        _ => Err(ReadError::Schema(head.schema)),
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(ReadError::of)
}

/// Reads the text of one run's result file.
pub fn read(text: &str) -> Result<ResultFile, ReadError> {
    match read_document(text)? {
        Document::Run(result) => Ok(*result),
        Document::Search(_) => Err(ReadError::ManyRuns { what: "a search", command: "prony find" }),
        Document::Comparison(_) => {
            Err(ReadError::ManyRuns { what: "a comparison", command: "prony compare" })
        }
    }
}

const fn check_version(found: u32, known: u32) -> Result<(), ReadError> {
    if found > known {
        return Err(ReadError::Newer { found, known });
    }
    if found < known {
        return Err(ReadError::Older { found, known });
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it is empty")]
    Empty,
    #[error(
        "it ends in the middle, at line {line}; it was cut off, perhaps by a full disk or while it was copied"
    )]
    Truncated { line: usize },
    #[error("not a result file: {0}")]
    Json(#[source] serde_json::Error),
    #[error("not a result file: its schema is `{0}`")]
    Schema(String),
    /// One that has been read all the same.
    #[error(
        "it is the result of {what} (`{command}`), and that of one run is wanted; name the files that are"
    )]
    ManyRuns { what: &'static str, command: &'static str },
    #[error("written by a newer version (schema {found}, known is {known}); update prony")]
    Newer { found: u32, known: u32 },
    #[error("written by an older version (schema {found}, known is {known}); report it with that version")]
    Older { found: u32, known: u32 },
}

impl ReadError {
    fn of(error: serde_json::Error) -> Self {
        if !error.is_eof() {
            Self::Json(error)
        } else if error.line() <= 1 && error.column() == 0 {
            Self::Empty
        } else {
            Self::Truncated { line: error.line() }
        }
    }
}
