//! `prony worker`: waits for its share of load tests that run on several machines, or takes up what workers kept of one.

use crate::interrupt;
use crate::nats::NatsFlags;
use crate::run::end_process;
use crate::terminal::ColorChoice;
use anyhow::Context as _;
use prony_model::verdict::conclusion::RunVerdict;
use prony_runs::{ReservedPath, load_kinds};
use prony_workers::{WorkerSettings, serve};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[command(flatten)]
    nats: NatsFlags,
    /// As results name this worker; by default the name of the machine.
    #[arg(long, value_name = "NAME", value_parser = worker_name)]
    name: Option<String>,
    /// What results say of it, such as zone=a,rack=7; repeatable.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = label)]
    labels: Vec<(String, String)>,
    /// Threads of the load; by default one for each processor.
    #[arg(short, long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Folder in which what is measured is kept until the coordinator has it, and that --take-up writes its result to.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// End after one run.
    #[arg(long)]
    once: bool,
    /// Say nothing while it works.
    #[arg(long)]
    quiet: bool,
    /// Make the result of a run whose coordinator is gone from what its workers kept: all of their files.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["nats", "once", "name", "labels", "threads"])]
    take_up: Vec<PathBuf>,
}

/// It stands in lines of terminals and of results.
fn worker_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err("a name has letters, and no line breaks or other control characters".to_owned());
    }
    Ok(text.to_owned())
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is no label; write for example zone=a")),
    }
}

pub(crate) fn execute(arguments: WorkerArguments) -> anyhow::Result<ExitCode> {
    if !arguments.take_up.is_empty() {
        return take_up(&arguments);
    }
    let missing = "--nats is missing: the address of the NATS server, such as nats://10.0.0.1:4222, at which it waits for runs; `PRONY_NATS` in the environment may have it too";
    let nats = arguments.nats.settings(missing)?;
    let name = arguments.name.unwrap_or_else(|| prony_load::describe_machine().host_name);
    let is_quiet = arguments.quiet;
    let settings = WorkerSettings {
        nats,
        name,
        labels: arguments.labels.into_iter().collect::<BTreeMap<_, _>>(),
        threads: arguments.threads.or(available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
        kinds: load_kinds(end_process),
        output: arguments.output,
        is_for_one_run: arguments.once,
        tell: Box::new(move |text| {
            if !is_quiet {
                // A line that cannot be shown is no reason to end.
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }),
    };
    serve(settings, &interrupt::stop_flag()?)?;
    Ok(ExitCode::SUCCESS)
}

fn take_up(arguments: &WorkerArguments) -> anyhow::Result<ExitCode> {
    let result = prony_workers::merge(&arguments.take_up, load_kinds(end_process))?;
    let reserved = ReservedPath::new(&arguments.output, &result.plan.name);
    let path = reserved.path();
    prony_load::replace_file(path, &result).with_context(|| format!("cannot write {}", path.display()))?;
    let summary = prony_report::summary(&result, ColorChoice::Auto.output_looks());
    crate::print(&format!("{summary}result: {}\n", path.display()))?;
    Ok(ExitCode::from(RunVerdict::of_kept(&result).conclusion.exit_code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_one_line() {
        assert_eq!(worker_name("größer 1, \"b\"").as_deref(), Ok("größer 1, \"b\""));
        for text in ["", " ", "a\nb", "\u{1b}[31mred"] {
            assert!(worker_name(text).is_err(), "{text:?}");
        }
    }
}
