//! `prony report FILE.jtl`: files of JMeter's samples, of any origin, in the figures of JMeter's dashboard.

use super::ReportArguments;
use anyhow::{Context as _, bail};
use prony_jtl::{Statistics, read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// True for the name of such a file.
pub(super) fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jtl"))
}

/// Several files are the parts of one run, as several machines write them.
pub(super) fn execute(arguments: &ReportArguments) -> anyhow::Result<ExitCode> {
    if let Some(other) = arguments.results.iter().find(|path| !is_named(path)) {
        bail!(
            "{} is no JTL, and the others are: report files of JMeter and results of Prony one after the other",
            other.display()
        );
    }
    let asked = [("--html", &arguments.html), ("--csv", &arguments.csv), ("--hgrm", &arguments.hgrm)];
    if let Some((flag, _)) = asked.iter().find(|(_, path)| path.is_some()) {
        bail!(
            "{flag} is made of results of Prony, and a JTL has not what stands in it; --json prints its statistics.json"
        );
    }
    if !arguments.summaries.is_empty() {
        bail!("--summary is made of results of Prony, and a JTL has not what stands in it");
    }
    let statistics = count(&arguments.results)?;
    if arguments.json {
        crate::print(&(statistics.json().context("cannot write JSON")? + "\n"))?;
    } else {
        crate::print(&text(&arguments.results, &statistics))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// In one pass; memory does not grow with the files.
fn count(paths: &[PathBuf]) -> anyhow::Result<Statistics> {
    let mut statistics = Statistics::default();
    for path in paths {
        read(path, |sample| statistics.add(sample))?;
    }
    Ok(statistics)
}

fn text(paths: &[PathBuf], statistics: &Statistics) -> String {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    if statistics.is_empty() {
        return format!("{names}: no samples\n");
    }
    let (apdex, errors) = (statistics.apdex_table(), statistics.error_table());
    let errors = if errors.is_empty() { errors } else { format!("\n{errors}") };
    format!(
        "{names}: {} samples, {} failed\n\n{apdex}\n{}{errors}",
        statistics.samples(),
        statistics.failures(),
        statistics.table()
    )
}
