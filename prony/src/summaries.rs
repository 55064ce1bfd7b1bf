//! `--summary FORMAT=FILE`: what a run, a search or a comparison comes to, for a pipeline of continuous integration.

use anyhow::Context as _;
use prony_report::{NamedDocument, SUMMARY_FORMATS, SummaryFormat};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

/// How the names of result files end.
const RESULT_SUFFIX: &str = ".prony.json";
/// Markdown, at the end of the file that GitHub names for the summary of a step.
const GITHUB: &str = "github";
const GITHUB_FORMAT: &str = "markdown";
const GITHUB_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SummaryFlags {
    /// Write a summary for a pipeline: markdown=FILE, junit=FILE, or github for the page of the job; can be given several times. docs/ci.md describes them.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse)]
    summary: Vec<SummaryTarget>,
}

/// A summary that was asked for.
#[derive(Debug, Clone)]
struct SummaryTarget {
    format: SummaryFormat,
    path: PathBuf,
    /// Whether others have written there.
    appends: bool,
}

impl SummaryFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.summary.is_empty()
    }

    /// Writes all that were asked for. Where none was, nothing is made.
    pub(crate) fn write(&self, documents: impl FnOnce() -> Vec<NamedDocument>) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let documents = documents();
        for target in &self.summary {
            target.write(&target.format.text(&documents))?;
        }
        Ok(())
    }
}

impl SummaryTarget {
    fn write(&self, text: &str) -> anyhow::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.create(true).write(true).append(self.appends).truncate(!self.appends);
        let written = options.open(&self.path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write the summary {}", self.path.display()))
    }
}

fn parse(text: &str) -> Result<SummaryTarget, String> {
    if text == GITHUB {
        let path = std::env::var_os(GITHUB_VARIABLE).filter(|path| !path.is_empty());
        let path =
            path.ok_or_else(|| format!("`{GITHUB}` is for jobs of GitHub: {GITHUB_VARIABLE} is not set"))?;
        let format = SummaryFormat::named(GITHUB_FORMAT).ok_or("it is not built in")?;
        return Ok(SummaryTarget { format, path: path.into(), appends: true });
    }
    let (name, path) = text.split_once('=').unwrap_or((text, ""));
    let Some(format) = SummaryFormat::named(name) else {
        let names: Vec<_> = SUMMARY_FORMATS.iter().map(|format| format!("{}=FILE", format.name)).collect();
        return Err(format!("`{name}` is no format of summaries; write {} or {GITHUB}", names.join(", ")));
    };
    if path.is_empty() {
        return Err(format!("write {name}=FILE"));
    }
    if path.ends_with(RESULT_SUFFIX) {
        return Err(format!("{path} is named as a result, which is not written over"));
    }
    Ok(SummaryTarget { format, path: path.into(), appends: false })
}
