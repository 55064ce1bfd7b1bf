//! `prony graph`: fills a graph from CSV files, writes it out as such, and looks after its files. The graph must not be
//! open elsewhere, but for a backup: a served one answers over HTTP.

mod cells;
mod chain;
mod export;
mod header;
mod import;
mod place;
mod problems;
mod progress;
mod records;

use crate::print;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use header::FileOf;
use import::Import;
use place::{Place, PlaceArguments};
use problems::Problems;
use progress::Progress;
use prony_graph_store::{Backup, Recovery, Store, backup};
use prony_model::units::{counted, grouped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    #[command(subcommand)]
    command: GraphCommand,
}

#[derive(Debug, Subcommand)]
enum GraphCommand {
    /// Add the nodes and relationships of CSV files: all of them, or none where a line is faulty.
    Import(ImportArguments),
    /// Write all nodes and relationships into CSV files.
    Export(ExportArguments),
    /// Read the log and the snapshot as a start would, and see that everything in them fits together. Changes nothing. Of a graph that is being served,
    /// the files alone are read.
    Check(PlaceArguments),
    /// Copy the graph to a new directory, also while it is served, and see that everything in the copy can be read.
    Backup(BackupArguments),
    /// Make a graph of a backup, or of a chain of backups as it was at a moment, in a new directory.
    Restore(RestoreArguments),
    /// Put the graph into one file, as a snapshot, and remove the log before it.
    Compact(CompactArguments),
}

#[derive(Debug, Args)]
struct BackupArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Where the copy is made; there must be nothing yet. It is the directory of one graph, to be put into a directory of graphs under its name.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Add what was written since the last backup to the chain of backups in TARGET, which begins with a whole copy; `restore` can go back to any
    /// write in it.
    #[arg(long)]
    incremental: bool,
}

#[derive(Debug, Args)]
struct RestoreArguments {
    /// What `backup` has made: one copy, or a chain.
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// Where the graph is made; there must be nothing yet. It is the directory of one graph.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Leave out what was written after this time, such as 2026-11-24T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = chain::moment)]
    until: Option<u64>,
    /// Leave out what follows this frame of the log; `backup` and `restore` say their numbers.
    #[arg(long, value_name = "NUMBER", conflicts_with = "until")]
    until_sequence: Option<u64>,
}

#[derive(Debug, Args)]
struct CompactArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Go on without what is damaged, and say what is lost.
    #[arg(long)]
    recover: bool,
}

#[derive(Debug, Args)]
struct ImportArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Go on without what is damaged, and say what is lost.
    #[arg(long)]
    recover: bool,
    /// The file of nodes; columns: `:LABEL` (the type), `key:ID`, and properties as `name:TYPE`.
    #[arg(value_name = "NODES.csv")]
    nodes: PathBuf,
    /// The file of relationships; columns: `:START_ID`, `:END_ID`, `:TYPE`, and properties.
    #[arg(value_name = "RELATIONSHIPS.csv")]
    relationships: Option<PathBuf>,
    /// Import the good lines, and put the faulty ones into this directory, to be mended and imported by themselves.
    #[arg(long, value_name = "DIR")]
    rejects: Option<PathBuf>,
    /// What stands between cells; `\t` is a tab.
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
}

#[derive(Debug, Args)]
struct ExportArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Go on without what is damaged, and say what is lost.
    #[arg(long)]
    recover: bool,
    /// Where nodes.csv and relationships.csv are written.
    #[arg(value_name = "OUTDIR", default_value = ".")]
    output: PathBuf,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" => Ok(b'\t'),
        "\"" | "\n" | "\r" => Err("quotes and ends of lines cannot separate cells".to_owned()),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() => Ok(*byte),
            _ => Err("write one ASCII character, or \\t".to_owned()),
        },
    }
}

pub(crate) fn execute(arguments: GraphArguments) -> anyhow::Result<ExitCode> {
    let text = match arguments.command {
        GraphCommand::Check(arguments) => return run_check(&arguments),
        GraphCommand::Backup(arguments) if arguments.incremental => {
            let place = Place::existing(&arguments.place)?;
            place.refuse_within(&arguments.place, &arguments.target)?;
            chain::run_backup(&place, &arguments.target)?
        }
        GraphCommand::Backup(arguments) => run_backup(&arguments)?,
        GraphCommand::Restore(arguments) => chain::run_restore(&arguments)?,
        GraphCommand::Import(arguments) => run_import(arguments)?,
        GraphCommand::Export(arguments) => run_export(&arguments)?,
        GraphCommand::Compact(arguments) => run_compact(&arguments)?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn run_import(arguments: ImportArguments) -> anyhow::Result<String> {
    let begun = Instant::now();
    let files = [(FileOf::Nodes, Some(arguments.nodes)), (FileOf::Relationships, arguments.relationships)];
    let files: Vec<(FileOf, PathBuf)> =
        files.into_iter().filter_map(|(of, path)| Some((of, path?))).collect();
    // Before the graph is opened, which may take a while and makes a directory.
    for (_, path) in &files {
        fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    let place = Place::for_import(&arguments.place)?;
    let store = place.open_for_snapshot(arguments.recover)?;
    say_recovery(store.recovery());
    let keeps_good = arguments.rejects.is_some();
    let mut problems = Problems::new(arguments.rejects.clone());
    let mut import = Import::new(&store, arguments.delimiter, &mut problems);
    let (mut done, mut lines) = (Vec::new(), Vec::new());
    for (of, path) in &files {
        let bytes = fs::metadata(path).map_or(0, |data| data.len());
        let started = Instant::now();
        let count = import.file(*of, path, &Progress::of_bytes(path.display().to_string(), bytes))?;
        lines.push(format!("{}: {}\n", path.display(), rate(*of, count, started.elapsed())));
        done.push(count);
    }
    let (faulty, shown) = problems.finish()?;
    for line in &shown {
        say(line);
    }
    if faulty > 0 && !keeps_good {
        anyhow::bail!(
            "nothing was imported: {} faulty; mend them, or put them aside and keep the rest with --rejects DIR",
            counted(faulty, "line is", "lines are")
        );
    }
    let report = store.snapshot().context("nothing was imported: the graph cannot be written to the disk")?;
    say_unremoved(&store);
    if let Some(directory) = arguments.rejects.filter(|_| faulty > 0) {
        let count = counted(faulty, "faulty line is", "faulty lines are");
        let them = if faulty == 1 { "it by itself" } else { "them by themselves" };
        lines.push(format!("{count} in {}: mend and import {them}\n", directory.display()));
    }
    lines.push(format!(
        "{} has {} and {} now, {} on the disk; it took {}\n",
        place.directory().display(),
        counted(report.nodes, "node", "nodes"),
        counted(report.relationships, "relationship", "relationships"),
        indicatif::BinaryBytes(report.bytes),
        seconds(begun.elapsed()),
    ));
    Ok(lines.concat())
}

fn rate(of: FileOf, count: u64, elapsed: Duration) -> String {
    let (one, many) = match of {
        FileOf::Nodes => ("node", "nodes"),
        FileOf::Relationships => ("relationship", "relationships"),
    };
    let per_second = count as f64 / elapsed.as_secs_f64().max(1e-9);
    format!("{} in {}, {}/s", counted(count, one, many), seconds(elapsed), grouped(per_second as u64))
}

fn run_export(arguments: &ExportArguments) -> anyhow::Result<String> {
    let place = Place::existing(&arguments.place)?;
    let store = place.open(arguments.recover)?;
    say_recovery(store.recovery());
    let (nodes, relationships) = export::export(&store.read(), &arguments.output)?;
    let path = |name| arguments.output.join(name).display().to_string();
    Ok(format!(
        "{}: {}\n{}: {}\n",
        path(export::NODES),
        counted(nodes, "node", "nodes"),
        path(export::RELATIONSHIPS),
        counted(relationships, "relationship", "relationships")
    ))
}

fn run_compact(arguments: &CompactArguments) -> anyhow::Result<String> {
    let place = Place::existing(&arguments.place)?;
    let before = size(place.directory())?;
    let store = place.open(arguments.recover)?;
    say_recovery(store.recovery());
    let report = store.snapshot().context("the graph is as it was")?;
    say_unremoved(&store);
    drop(store);
    Ok(format!(
        "{}: {} and {}, {} on the disk, {} before\n",
        place.directory().display(),
        counted(report.nodes, "node", "nodes"),
        counted(report.relationships, "relationship", "relationships"),
        indicatif::BinaryBytes(size(place.directory())?),
        indicatif::BinaryBytes(before)
    ))
}

fn run_backup(arguments: &BackupArguments) -> anyhow::Result<String> {
    let place = Place::existing(&arguments.place)?;
    let (directory, target) = (place.directory(), &arguments.target);
    let Backup { report, bytes } = backup(directory, target)
        .with_context(|| format!("there is no backup of {} in {}", directory.display(), target.display()))?;
    Ok(format!(
        "{}: {} with {} and {}, all of which can be read\n",
        target.display(),
        counted(bytes, "byte", "bytes"),
        counted(report.nodes, "node", "nodes"),
        counted(report.relationships, "relationship", "relationships")
    ))
}

fn run_check(arguments: &PlaceArguments) -> anyhow::Result<ExitCode> {
    let place = Place::existing(arguments)?;
    let Some(report) = place.check()? else { return run_check_served(&place) };
    say_recovery(&report.recovery);
    for problem in &report.problems {
        say(problem);
    }
    let found = format!(
        "{}: {} and {}",
        place.directory().display(),
        counted(report.nodes, "node", "nodes"),
        counted(report.relationships, "relationship", "relationships")
    );
    if report.problem_count == 0 {
        print(&format!("{found}; everything fits together\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&format!("{found}; {}\n", counted(report.problem_count, "problem", "problems")))?;
    Ok(ExitCode::FAILURE)
}

/// Of a graph that another process has open, the files can be read, and no more.
fn run_check_served(place: &Place) -> anyhow::Result<ExitCode> {
    let report = place.scrub()?;
    for problem in &report.problems {
        say(problem);
    }
    let snapshot = report.snapshot.map_or_else(String::new, |number| format!("snapshot {number} and "));
    let up_to = report.sequence.map_or_else(String::new, |sequence| format!(" up to frame {sequence}"));
    let found = format!(
        "{}: read {snapshot}the log{up_to}, {} in {}",
        place.directory().display(),
        counted(report.bytes, "byte", "bytes"),
        counted(report.frames, "frame", "frames"),
    );
    say(
        "another process has the graph open. Not checked: whether nodes, relationships, keys and indexes fit together, which needs the graph to \
         itself (check a backup of it: prony graph backup), and what is written after this has begun",
    );
    if report.problems.is_empty() {
        print(&format!("{found}; every frame is as it was written\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let count = counted(report.problems.len() as u64, "problem", "problems");
    print(&format!(
        "{found}; {count}. What is served is in memory and not affected; the next start would be\n"
    ))?;
    Ok(ExitCode::FAILURE)
}

/// Of all files in a directory.
fn size(directory: &Path) -> anyhow::Result<u64> {
    let cannot = || format!("cannot read {}", directory.display());
    let mut bytes = 0;
    for entry in fs::read_dir(directory).with_context(cannot)? {
        bytes += entry.and_then(|entry| entry.metadata()).with_context(cannot)?.len();
    }
    Ok(bytes)
}

/// What opening has mended.
/// Files that take room and that nobody reads.
fn say_unremoved(store: &Store) {
    if let Some((error, _)) = store.snapshots().unremoved {
        say(&format!("{:#}; the next snapshot tries it again", anyhow::Error::new(error)));
    }
}

fn say_recovery(recovery: &Recovery) {
    if recovery.torn_bytes > 0 {
        say(&format!(
            "the last {} of the log do not count: they were probably being written when the process or the machine died; whether a \
             write in them had been acknowledged is unknown",
            counted(recovery.torn_bytes, "byte", "bytes")
        ));
    }
    for loss in &recovery.lost {
        let bytes = match loss.bytes {
            // Of a file that is too short or missing, or of what its parts speak of.
            0 => "something".to_owned(),
            bytes => format!("{} from byte {} on", counted(bytes, "byte", "bytes"), loss.offset),
        };
        say(&format!(
            "lost: {bytes} of {}: {}{}",
            loss.path.display(),
            loss.why,
            loss.kept
                .as_ref()
                .map_or_else(String::new, |kept| format!("; {} has the file as it was", kept.display())),
        ));
    }
}

#[expect(clippy::print_stderr, reason = "what is no result goes to standard error")]
fn say(line: &str) {
    eprintln!("{line}");
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.2} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests;
