//! `prony report`: shows saved results in the terminal, as one HTML page, or as files for other programs.

mod jtl;

use crate::summaries::SummaryFlags;
use crate::terminal::TerminalFlags;
use anyhow::{Context as _, bail};
use prony_model::ResultFile;
use prony_report::{
    Document, NamedDocument, PageForm, TextLooks, figures_csv, html, read_document, series_csv,
};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How the names of result files end; in folders only such files are looked at.
const SUFFIX: &str = ".prony.json";
/// Of a run's label in the name of its spectrum. File systems take 255 bytes, and a number, `-service` and the ending stand behind it.
const LABEL_BYTES_MAX: usize = 200;
/// The file name that stands for standard output.
const TERMINAL: &str = "-";

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArguments {
    /// Result files, or folders of them, or files of JMeter's samples (JTL: CSV or XML); docs/report.md describes what is shown.
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// Write one self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the result as JSON; several as a list.
    #[arg(long)]
    json: bool,
    /// Write the seconds of the runs as CSV to FILE, and their figures beside it (seconds.csv: seconds-figures.csv); without FILE
    /// the seconds are printed.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = TERMINAL)]
    csv: Option<PathBuf>,
    /// Write percentile spectra that HdrHistogram's plotters read: to FILE for one run, else into the folder DIR.
    #[arg(long, value_name = "FILE|DIR")]
    hgrm: Option<PathBuf>,
    #[command(flatten)]
    terminal: TerminalFlags,
    #[command(flatten)]
    summaries: SummaryFlags,
}

pub(crate) fn execute(arguments: &ReportArguments) -> anyhow::Result<ExitCode> {
    if arguments.results.iter().any(|path| jtl::is_one(path)) {
        return jtl::execute(arguments);
    }
    let mut documents = Vec::new();
    for path in files(&arguments.results)? {
        documents.push(read_file(&path)?);
    }
    if let Some(path) = &arguments.html {
        write(path, &html(&documents, PageForm::Plots))?;
    }
    if let Some(path) = &arguments.csv {
        write_csv(path, &documents)?;
    }
    if let Some(path) = &arguments.hgrm {
        write_spectra(path, &documents)?;
    }
    if arguments.json {
        crate::print(&json(&documents)?)?;
    }
    // What was asked for is not said twice.
    let asked_files = [&arguments.html, &arguments.csv, &arguments.hgrm].iter().any(|path| path.is_some());
    let is_asked = asked_files || arguments.json || !arguments.summaries.is_empty();
    if !is_asked {
        crate::print(&terminal(&documents, arguments.terminal.color.output_looks()))?;
    }
    arguments.summaries.write(|| documents)?;
    Ok(ExitCode::SUCCESS)
}

/// Files as they were named, and those of named folders in the order of their names.
fn files(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.with_context(|| format!("cannot read the folder {}", path.display()))?;
        let results = entries.into_iter().map(|entry| entry.path());
        let mut results: Vec<_> = results.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
        if results.is_empty() {
            bail!("{} holds no result: no file in it ends with {SUFFIX}", path.display());
        }
        results.sort();
        files.append(&mut results);
    }
    Ok(files)
}

fn read_file(path: &Path) -> anyhow::Result<NamedDocument> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow::anyhow!("cannot read {}: not a result file: it is no text", path.display()))?;
    let document = read_document(&text).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(NamedDocument { name: path.display().to_string(), document })
}

fn runs(documents: &[NamedDocument]) -> Vec<(String, &ResultFile)> {
    prony_report::labelled_runs(documents).into_iter().map(|run| (run.label, run.result)).collect()
}

fn terminal(documents: &[NamedDocument], looks: TextLooks) -> String {
    match documents {
        [one] => match &one.document {
            Document::Run(result) => prony_report::summary(result, looks),
            Document::Search(file) => prony_report::search_summary(file, looks),
            Document::Comparison(file) => prony_report::comparison_summary(file, looks),
        },
        several => prony_report::side_by_side(&runs(several), looks),
    }
}

fn json(documents: &[NamedDocument]) -> anyhow::Result<String> {
    let values: Vec<_> = documents.iter().map(|named| &named.document).collect();
    let text = match values.as_slice() {
        [one] => serde_json::to_string_pretty(one),
        several => serde_json::to_string_pretty(several),
    };
    Ok(text.context("cannot write JSON")? + "\n")
}

fn write_csv(path: &Path, documents: &[NamedDocument]) -> anyhow::Result<()> {
    let runs = runs(documents);
    if path == Path::new(TERMINAL) {
        return crate::print(&series_csv(&runs));
    }
    write(path, &series_csv(&runs))?;
    write(&with_kind(path, "figures"), &figures_csv(&runs))
}

/// One run goes to the named file, with `-service` before its suffix for service times; several, or one into an
/// existing folder, to files of their own names.
fn write_spectra(path: &Path, documents: &[NamedDocument]) -> anyhow::Result<()> {
    let runs = runs(documents);
    let in_folder = runs.len() != 1 || path.is_dir();
    if in_folder {
        fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))?;
    }
    let mut taken = HashSet::new();
    for (label, result) in &runs {
        let spectra = prony_report::spectra(result).with_context(|| format!("cannot read {label}"))?;
        let stem = free_stem(label, &mut taken);
        for (kind, text) in spectra {
            let file = if in_folder { path.join(format!("{stem}.hgrm")) } else { path.to_owned() };
            write(&if kind == "response" { file } else { with_kind(&file, kind) }, &text)?;
        }
    }
    Ok(())
}

/// For the spectra of a run in a folder. Labels that differ may be the same once they are names of files.
fn free_stem(label: &str, taken: &mut HashSet<String>) -> String {
    let name = file_name(label);
    let of_run = |stem: &str| [stem.to_owned(), format!("{stem}-service")];
    let mut stem = name.clone();
    for number in 2_u64.. {
        if of_run(&stem).iter().all(|file| !taken.contains(file)) {
            break;
        }
        stem = format!("{name}-{number}");
    }
    taken.extend(of_run(&stem));
    stem
}

/// What every file system takes.
fn file_name(label: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let mut name = String::new();
    for c in label.trim_start_matches('.').chars().map(safe) {
        if name.len() + c.len_utf8() > LABEL_BYTES_MAX {
            break;
        }
        name.push(c);
    }
    name
}

/// `a.hgrm` to `a-service.hgrm`.
fn with_kind(path: &Path, kind: &str) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, suffix) = (part(path.file_stem()), part(path.extension()));
    let dot = if suffix.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{kind}{dot}{suffix}"))
}

/// Refuses to write over a result: `--csv RESULT` is a slip of the keyboard, not a wish.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if path.to_string_lossy().ends_with(SUFFIX) || jtl::is_named(path) {
        bail!("{} is named as a result, which is not written over; name the results first", path.display());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    crate::print(&format!("wrote {}\n", path.display()))
}
