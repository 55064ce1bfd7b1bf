//! `prony run`: runs the load test that a plan describes, shows how it goes, and prints the result.

use anyhow::Context as _;
use prony_load::{Output, Progress, RunOptions, read_plan, run};
use prony_load_model::{Plan, ResultFile};
use prony_report::{ProgressDisplay, ProgressLine};
use std::io::{IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::interrupt;

const THRESHOLD_FAILED: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The plan, a TOML file; docs/run.md describes it.
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Threads of the lab; by default one for each processor.
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Seed of all random choices, in place of the plan's.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Folder that the result file is written to.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Print the result as JSON instead of a summary.
    #[arg(long)]
    json: bool,
    /// Show nothing while the run goes.
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut plan = read_plan(&arguments.plan)?;
    if let Some(seed) = arguments.seed {
        plan = plan.with_seed(seed);
    }
    let path = result_path(&arguments.output, &plan);
    let stop = interrupt::stop_flag()?;
    let mut display = display(arguments.quiet);
    let mut options = RunOptions {
        output: Output::File(path.clone()),
        command_line: std::env::args().collect(),
        progress: Box::new(move |progress| show(&mut display, progress)),
        stop,
        ..RunOptions::default()
    };
    options.threads = arguments.threads.unwrap_or(options.threads);
    let result = run(&plan, options)?;
    print(&result, arguments.json, &path)?;
    Ok(if result.keeps_thresholds() { ExitCode::SUCCESS } else { ExitCode::from(THRESHOLD_FAILED) })
}

fn display(quiet: bool) -> ProgressDisplay {
    if quiet {
        ProgressDisplay::Quiet
    } else if std::io::stderr().is_terminal() {
        ProgressDisplay::bar()
    } else {
        ProgressDisplay::plain()
    }
}

fn show(display: &mut ProgressDisplay, progress: &Progress) {
    display.show(&ProgressLine {
        elapsed: progress.elapsed,
        duration: progress.duration,
        last: progress.last,
        requests: progress.requests,
        failures: progress.failures,
    });
    if let Some(warning) = &progress.warning {
        display.warn(warning);
    }
    if progress.is_last {
        display.finish();
    }
}

fn print(result: &ResultFile, as_json: bool, path: &Path) -> anyhow::Result<()> {
    let text = if as_json {
        prony_report::json(result)? + "\n"
    } else {
        format!("{}result: {}\n", prony_report::summary(result), path.display())
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot print the result")
}

/// `DIR/NAME-UNIXSECONDS.prony.json`, the name reduced to what every file system takes.
fn result_path(directory: &Path, plan: &Plan) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = plan.name().chars().map(safe).collect();
    directory.join(format!("{name}-{seconds}.prony.json"))
}
