//! `prony compare`: runs A and B in turns, or reads what was saved of them, and says what differs.

use crate::many::{Flags, duration};
use crate::run_names::RunFlagsInstead;
use crate::summaries::SummaryFlags;
use anyhow::{Context as _, bail};
use prony_model::comparison::{ComparisonFile, FailIf};
use prony_model::search::{Vary, held};
use prony_model::{LoadModel, Nanos, ResultFile};
use prony_report::{Document, NamedDocument};
use prony_runs::{Argument, Compared, Flags as Kinds, Kind, compare};
use prony_workers::UserState;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What saved results end with.
const SUFFIX: &str = ".prony.json";
/// Enough to tell what a file begins with.
const BEGINNING_BYTES: u64 = 64;
/// Of an address, where nothing else is said.
const USERS: u32 = 10;
/// Two wrk scripts, each with its address.
const GIVEN_MAX: usize = 4;
const DURATION: Nanos = Nanos::from_secs(10);

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArguments {
    /// Two of: a plan, an address, a k6 script, a JMeter plan, a wrk script and its address; or two of saved results: files separated by commas, or a folder; or alone, a saved comparison. Two wrk scripts may share the address after them.
    #[arg(value_name = "A> <B", required = true, num_args = 1..=GIVEN_MAX)]
    given: Vec<String>,
    /// Runs of each. An even number cancels a drift of the machine.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Exit with 1 where this is shown, such as `p99 worse than 5%`; may be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = FailIf::parse)]
    fail_if: Vec<FailIf>,
    /// How long each run lasts, at the plan's highest load; by default as the plan says, or 10 s of an address.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<Nanos>,
    /// Users of an address, without think time; or those that serve the starts, with --rate [default: 10].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    users: Option<u32>,
    /// Starts a second of an address, in place of users that wait for their answers.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    rate: Option<f64>,
    #[command(flatten)]
    summaries: SummaryFlags,
    #[command(flatten)]
    flags: Flags,
}

/// Of `prony run`.
const INSTEAD: RunFlagsInstead = RunFlagsInstead {
    command: "prony compare",
    connections: "--users",
    duration: "--duration",
    rate: "--rate",
};

pub(crate) fn execute(arguments: &CompareArguments) -> anyhow::Result<ExitCode> {
    arguments.flags.refuse_those_of_run(&INSTEAD)?;
    let (file, path) = match arguments.given.as_slice() {
        [alone] if !is_saved(alone) || Path::new(alone).is_dir() => bail!("{}", second_missing(alone)),
        [saved] => (saved_comparison(saved, &arguments.fail_if)?, None),
        [a, b] if is_saved(a) && is_saved(b) => (saved_results([a, b], &arguments.fail_if)?, None),
        given if given.iter().any(|given| is_saved(given)) => {
            bail!("one of the two is saved and the other would be measured now; give two of the same kind")
        }
        _ => {
            let (file, path) = measure(arguments)?;
            // Of what was stopped before anything was measured there is no file, and nobody tried to make one.
            let kept = (!file.runs.is_empty()).then_some(path);
            (file, kept)
        }
    };
    arguments.flags.print(
        || serde_json::to_string_pretty(&file),
        &prony_report::comparison_summary(&file, arguments.flags.looks()),
        path.as_deref(),
    )?;
    let conclusion = file.kept_verdict().conclusion;
    arguments.summaries.write(|| {
        let document = Document::Comparison(Box::new(file));
        vec![NamedDocument { name: document.title(), document }]
    })?;
    Ok(ExitCode::from(conclusion.exit_code()))
}

/// What to type where A stands alone and is no saved comparison.
fn second_missing(a: &str) -> String {
    let b = match (a.contains("://"), Path::new(a).extension()) {
        (true, _) => "http://OTHER".to_owned(),
        (false, Some(extension)) => format!("OTHER.{}", extension.to_string_lossy()),
        (false, None) => "OTHER".to_owned(),
    };
    format!("two things are compared, and {a} is one; write: prony compare {a} {b}")
}

fn measure(arguments: &CompareArguments) -> anyhow::Result<(ComparisonFile, PathBuf)> {
    let read = Argument::read_all("prony compare", arguments.given.iter().map(String::as_str))?;
    let [a, b] = read.as_slice() else {
        bail!("two things are compared, and the arguments name {}", read.len());
    };
    refuse_load_of_addresses(arguments, [a, b])?;
    arguments.flags.refuse_foreign_settings(&[a, b])?;
    let users = [a, b].map(|argument| argument.kind.users);
    let users = if users.contains(&UserState::OfWorker) { UserState::OfWorker } else { UserState::OfPlan };
    let (a, b) = (subject(arguments, a)?, subject(arguments, b)?);
    let name = format!("compare-{}-{}", a.subject.plan().name(), b.subject.plan().name());
    let (mut options, path, live) = arguments.flags.options(&name, Vary::Users)?;
    let local = arguments.flags.recruit(&mut options, users, &[a.subject.plan(), b.subject.plan()])?;
    let file = compare(&a, &b, arguments.runs, &arguments.fail_if, options)?;
    drop(local);
    live.finish_with(&path, || Document::Comparison(Box::new(file.clone())));
    Ok((file, path))
}

/// An error where flags say the load of addresses, and neither of the two is one.
fn refuse_load_of_addresses(arguments: &CompareArguments, both: [&Argument; 2]) -> anyhow::Result<()> {
    if both.iter().any(|argument| argument.kind.flags == Kinds::Wrk) {
        return Ok(());
    }
    let flags = [("--users", arguments.users.is_some()), ("--rate", arguments.rate.is_some())];
    if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
        let Argument { text, kind, .. } = both[0];
        bail!(
            "{flag} is the load of an address, and {text} is {}, which says its load itself: write it there",
            kind.name
        );
    }
    Ok(())
}

fn subject(arguments: &CompareArguments, argument: &Argument) -> anyhow::Result<Compared> {
    let length = arguments.duration.unwrap_or(DURATION);
    let users = arguments.users.unwrap_or(USERS);
    let load = match arguments.rate {
        Some(rate) => LoadModel::open(rate, length, users),
        None => LoadModel::constant(users, length),
    };
    let mut subject = arguments.flags.open(argument, load)?;
    if let Some(duration) = arguments.duration {
        subject.draft = held(subject.draft, duration);
    }
    let given = match &argument.url {
        Some(url) => format!("{} {url}", argument.text),
        None => argument.text.clone(),
    };
    Ok(Compared { given, subject: subject.check()? })
}

fn is_saved(given: &str) -> bool {
    !given.contains("://")
        && (files_of(given).all(|part| part.ends_with(SUFFIX) || is_json(part)) || Path::new(given).is_dir())
}

/// One, whose name may hold commas, or several between commas.
fn files_of(given: &str) -> impl Iterator<Item = &str> {
    let is_one = Path::new(given).is_file();
    given.split(move |c: char| c == ',' && !is_one)
}

/// A result under a name of its own, as `--json > FILE` makes it: no plan begins as one.
fn is_json(given: &str) -> bool {
    let path = Path::new(given);
    // What is no file of its own, such as a pipe, would be read once and for nothing.
    if Kind::of(given).flags != Kinds::Plan || !path.is_file() {
        return false;
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut beginning));
    read.is_ok() && beginning.trim_ascii_start().starts_with(b"{")
}

fn saved_comparison(saved: &str, conditions: &[FailIf]) -> anyhow::Result<ComparisonFile> {
    let path = Path::new(saved);
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let document =
        prony_report::read_document(&text).with_context(|| format!("cannot read {}", path.display()))?;
    let Document::Comparison(mut file) = document else {
        bail!(
            "{} is no saved comparison; give B as well, the results that it is compared with",
            path.display()
        );
    };
    file.judge(conditions);
    Ok(*file)
}

fn saved_results([a, b]: [&str; 2], conditions: &[FailIf]) -> anyhow::Result<ComparisonFile> {
    ComparisonFile::of_saved((a, read_all(a)?), (b, read_all(b)?), conditions)
        .context("there is nothing to compare: no result was found")
}

/// In the order of their names within a folder.
fn read_all(given: &str) -> anyhow::Result<Vec<ResultFile>> {
    let mut paths: Vec<PathBuf> = files_of(given).map(PathBuf::from).collect();
    if Path::new(given).is_dir() {
        let entries = fs::read_dir(given).with_context(|| format!("cannot read {given}"))?;
        let files = entries.filter_map(Result::ok).map(|entry| entry.path());
        paths = files.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
        if paths.is_empty() {
            bail!("{given} holds no result: no file in it ends with {SUFFIX}");
        }
        paths.sort_unstable();
    }
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> anyhow::Result<ResultFile> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    prony_report::read(&text).with_context(|| path.display().to_string())
}
