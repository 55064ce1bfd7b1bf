//! `prony series`: looks after the files of series. They must not be open elsewhere, but for a backup.

mod transfer;

use crate::print;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use prony_model::units::counted;
use prony_series_store::{Backup, CheckReport, Durability, Options, Store, backup, check};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct SeriesArguments {
    #[command(subcommand)]
    command: SeriesCommand,
}

#[derive(Debug, Subcommand)]
enum SeriesCommand {
    /// Read the log and every block of the segments, and see that everything can be read. Changes nothing.
    Check(SeriesPlace),
    /// Put all rows into one segment, without what is deleted, and remove the log before it.
    Compact(SeriesPlace),
    /// Copy the directory, also while it is served, and see that everything in the copy can be read.
    Backup(SeriesBackup),
    /// Write all rows of all tenants into a file, as lines of JSON.
    Export(SeriesExport),
    /// Make a directory of such a file: all of it, or none.
    Import(SeriesImport),
}

#[derive(Debug, Args)]
struct SeriesBackup {
    #[command(flatten)]
    place: SeriesPlace,
    /// The copy, for `prony serve series:TARGET`; it must be empty or not exist. Until it is whole it is called `TARGET.part`.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

#[derive(Debug, Args)]
struct SeriesExport {
    #[command(flatten)]
    place: SeriesPlace,
    /// The file, which must not exist; `-` for standard output.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
struct SeriesImport {
    /// The directory for `prony serve series:DIR`, which must be empty or not exist.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// What `prony series export` has written; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
struct SeriesPlace {
    /// The directory of `prony serve series:DIR`.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn execute(arguments: &SeriesArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        SeriesCommand::Check(place) => run_check(existing(place)?),
        SeriesCommand::Compact(place) => run_compact(existing(place)?),
        SeriesCommand::Backup(arguments) => run_backup(existing(&arguments.place)?, &arguments.target),
        SeriesCommand::Export(arguments) => transfer::export(existing(&arguments.place)?, &arguments.file),
        SeriesCommand::Import(arguments) => transfer::import(&arguments.directory, &arguments.file),
    }
}

fn existing(place: &SeriesPlace) -> anyhow::Result<&Path> {
    let directory = &*place.directory;
    let has_files = directory.join("lock").exists();
    anyhow::ensure!(has_files, "there are no series in {}", directory.display());
    Ok(directory)
}

fn run_check(directory: &Path) -> anyhow::Result<ExitCode> {
    let CheckReport { recovery, types, entities, segments, rows, aggregates, problems } = check(directory)?;
    let mut text = format!(
        "{}: {}, {}, {}{}, in {} and a log of {}\n",
        directory.display(),
        counted(types as u64, "type", "types"),
        counted(entities as u64, "entity", "entities"),
        counted(rows, "row", "rows"),
        of_removed(aggregates),
        counted(segments as u64, "segment", "segments"),
        counted(recovery.log_bytes, "byte", "bytes"),
    );
    if recovery.torn_bytes > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "the last {} bytes of the log do not count: they were probably being written when the process or the machine died; \
             whether a write in them had been acknowledged is unknown",
            recovery.torn_bytes
        );
    }
    for problem in &problems {
        text.push_str(problem);
        text.push('\n');
    }
    print(&text)?;
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nothing where there are none.
fn of_removed(aggregates: u64) -> String {
    if aggregates == 0 {
        return String::new();
    }
    format!(", {} of removed rows", counted(aggregates, "aggregate", "aggregates"))
}

fn run_backup(directory: &Path, target: &Path) -> anyhow::Result<ExitCode> {
    let Backup { report, bytes } = backup(directory, target)
        .with_context(|| format!("there is no backup of {} in {}", directory.display(), target.display()))?;
    print(&format!(
        "{}: {} with {}, {} and {}{}, all of which can be read\n",
        target.display(),
        counted(bytes, "byte", "bytes"),
        counted(report.types as u64, "type", "types"),
        counted(report.entities as u64, "entity", "entities"),
        counted(report.rows, "row", "rows"),
        of_removed(report.aggregates),
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn run_compact(directory: &Path) -> anyhow::Result<ExitCode> {
    let store = Store::open(directory, Options::new(Durability::Sync))?;
    let (before, bytes_before) = (store.segments(), store.health().log_bytes);
    store.compact().with_context(|| format!("cannot put the series in {} together", directory.display()))?;
    let (segments, bytes) = store.segments();
    print(&format!(
        "{}: {} of {} and {} of a log became {} of {segments}\n",
        directory.display(),
        counted(before.1, "byte", "bytes"),
        counted(before.0 as u64, "segment", "segments"),
        counted(bytes_before, "byte", "bytes"),
        counted(bytes, "byte", "bytes"),
    ))?;
    Ok(ExitCode::SUCCESS)
}
