//! Why a plan cannot be run: each fault with its place in the file and in the tree, and what to write instead.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a plan's file, before its elements are looked at.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {kind}", .path.display())]
pub struct PlanError {
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
    pub kind: PlanErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanErrorKind {
    #[error("the file is not UTF-8; open the plan in JMeter and save it again, which writes UTF-8")]
    Encoding,
    #[error("this is no XML: {0}; open the plan in JMeter and save it again")]
    Xml(String),
    #[error(
        "the file declares a document type (DTD), which no plan of JMeter has and which is never read; \
         remove the `<!DOCTYPE …>`"
    )]
    Dtd,
    #[error(
        "elements stand more than {limit} deep, which is the limit; move the inner ones to a Test Fragment and include it"
    )]
    Depth { limit: usize },
    #[error("this is no plan of JMeter: it begins with `{found}`, not with `jmeterTestPlan`")]
    NoPlan { found: String },
    #[error(
        "the plan has version `{version}` (JMeter {jmeter}) and 1.2 is known; open it in JMeter 5 and save it again"
    )]
    Version { version: String, jmeter: String },
}

impl PlanError {
    pub(crate) fn new(path: &Path, line: u32, kind: PlanErrorKind) -> Self {
        Self { path: path.to_owned(), line, kind }
    }
}

/// One element that cannot be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementFault {
    pub file: PathBuf,
    pub line: u32,
    /// The names of the elements from the plan down to it.
    pub place: String,
    /// What it is, such as `HTTP Request`.
    pub element: String,
    pub message: String,
}

impl ElementFault {
    pub(crate) fn new(file: &Path, line: u32, place: &str, element: &str, message: String) -> Self {
        Self { file: file.to_owned(), line, place: place.to_owned(), element: element.to_owned(), message }
    }
}

impl fmt::Display for ElementFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, place, element, message } = self;
        write!(f, "{}:{line}: {element} ({place}): {message}", file.display())
    }
}

/// Why a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum JmeterError {
    #[error("cannot read {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{} has {bytes} bytes, more than the limit of {limit}", .path.display())]
    TooLarge { path: PathBuf, bytes: u64, limit: u64 },
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// All elements that are not run.
    #[error("the plan cannot be run as it is:\n  - {}", list(.0))]
    Elements(Vec<ElementFault>),
    #[error("{0}: write it as -Jname=value")]
    Property(String),
    #[error(transparent)]
    Model(#[from] prony_model::plan::PlanFaults),
}

fn list(faults: &[ElementFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  - ")
}
