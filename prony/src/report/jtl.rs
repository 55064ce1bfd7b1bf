//! `prony report FILE.jtl`: files of JMeter's samples, of any origin, in the figures of JMeter's dashboard.

use super::{ReportArguments, write};
use anyhow::{Context as _, bail};
use prony_jtl::{FileFacts, Statistics, Timeline, read};
use prony_report::{PageForm, SampleCounts, TextLooks, samples_html, samples_table};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Beside a page, under the name that JMeter's dashboard gives it.
const STATISTICS_FILE: &str = "statistics.json";

/// What is looked at of a file's beginning.
const BEGINNING_BYTES: u64 = 1_024;

/// True for the name of such a file.
pub(super) fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jtl"))
}

/// True for such a file: people keep them under other names, too, such as `samples.csv`.
pub(super) fn is_one(path: &Path) -> bool {
    is_named(path) || beginning(path).is_some_and(|text| is_beginning(&text))
}

fn beginning(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BEGINNING_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// XML by its root, CSV by the names of two columns that are always there.
fn is_beginning(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let has = |name: &str| {
        let line = text.lines().next().unwrap_or_default();
        line.split([',', ';', '\t', '|']).any(|cell| cell.trim_matches('"') == name)
    };
    text.starts_with('<') && text.contains("<testResults") || has("timeStamp") && has("elapsed")
}

/// Several files are the parts of one run, as several machines write them.
pub(super) fn execute(arguments: &ReportArguments) -> anyhow::Result<ExitCode> {
    if let Some(other) = arguments.results.iter().find(|path| !is_one(path)) {
        bail!(
            "{} is no JTL, and the others are: report files of JMeter and results of Prony one after the other",
            other.display()
        );
    }
    let asked = [("--csv", &arguments.csv), ("--hgrm", &arguments.hgrm)];
    if let Some((flag, _)) = asked.iter().find(|(_, path)| path.is_some()) {
        bail!(
            "{flag} is made of results of Prony, and a JTL has not what stands in it; --html makes a page, and --json prints \
             its statistics.json"
        );
    }
    if !arguments.summaries.is_empty() {
        bail!("--summary is made of results of Prony, and a JTL has not what stands in it");
    }
    let counted = Counted::of(&arguments.results, arguments.html.is_some())?;
    if let Some(page) = &arguments.html {
        counted.write_page(page)?;
    }
    if arguments.json {
        crate::print(&counted.json()?)?;
    } else if arguments.html.is_none() {
        crate::print(&counted.text(arguments.terminal.color.output_looks()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What was counted of all files.
struct Counted {
    /// Each with what it lacks.
    files: Vec<(String, FileFacts)>,
    statistics: Statistics,
    timeline: Timeline,
}

impl Counted {
    /// In one pass; memory does not grow with the files. What lies over time is counted for a page alone.
    fn of(paths: &[PathBuf], has_page: bool) -> anyhow::Result<Self> {
        let mut counted =
            Self { files: Vec::new(), statistics: Statistics::default(), timeline: Timeline::default() };
        for path in paths {
            let (statistics, timeline) = (&mut counted.statistics, &mut counted.timeline);
            let facts = read(path, |sample| {
                statistics.add(sample);
                if has_page {
                    timeline.add(sample);
                }
            })?;
            counted.files.push((path.display().to_string(), facts));
        }
        Ok(counted)
    }

    fn names(&self) -> Vec<String> {
        self.files.iter().map(|(name, _)| name.clone()).collect()
    }

    fn notices(&self) -> Vec<String> {
        let of = |(name, facts): &(String, FileFacts)| {
            let said = facts.notices().into_iter().map(|notice| format!("{name}: {notice}"));
            said.collect::<Vec<_>>()
        };
        self.files.iter().flat_map(of).collect()
    }

    fn json(&self) -> anyhow::Result<String> {
        Ok(self.statistics.json().context("cannot write JSON")? + "\n")
    }

    fn write_page(&self, path: &Path) -> anyhow::Result<()> {
        let lacking =
            self.files.iter().filter(|(_, facts)| !facts.lacking.is_empty()).map(|(name, facts)| {
                format!("{name} has no {}: their figures are 0 or left out", facts.lacking.join(", "))
            });
        let counts = SampleCounts {
            names: self.names(),
            notices: self.notices().into_iter().chain(lacking).collect(),
            statistics: &self.statistics,
            timeline: &self.timeline,
        };
        write(path, &samples_html(&counts, PageForm::Plots))?;
        write(&path.with_file_name(STATISTICS_FILE), &self.json()?)
    }

    fn text(&self, looks: TextLooks) -> String {
        let (names, statistics) = (self.names().join(", "), &self.statistics);
        if statistics.is_empty() {
            return format!("{names}: no samples\n");
        }
        let (apdex, errors) = (statistics.apdex_table(), statistics.error_table());
        let errors = if errors.is_empty() { errors } else { format!("\n{errors}") };
        let mut text =
            format!("{names}: {} samples, {} failed\n", statistics.samples(), statistics.failures());
        for notice in self.notices() {
            let _ = writeln!(text, "{notice}");
        }
        format!("{text}\n{apdex}\n{}{errors}", samples_table(statistics, looks))
    }
}
