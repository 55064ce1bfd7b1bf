//! `prony run`: runs the load test that a plan or a URL with flags describes, shows how it goes, and prints the result.

mod quantity;
mod url;

use anyhow::{Context as _, bail};
use prony_lab::observe;
use prony_load::{Output, Progress, RunOptions, read_plan, run};
use prony_load_model::{Plan, ResultFile};
use prony_report::{ProgressDisplay, ProgressLine, WrkShown};
use std::io::{IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::interrupt;
use url::{Url, UrlFlags};

const THRESHOLD_FAILED: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The plan, a TOML file (docs/run.md describes it), or a URL to load (docs/wrk.md).
    #[arg(value_name = "PLAN.toml|URL")]
    target: String,
    /// Threads of the lab; by default one for each processor, with a URL 2.
    #[arg(short, long, value_name = "COUNT", value_parser = quantity::count)]
    threads: Option<u32>,
    /// Seed of all random choices, in place of the plan's.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// What to watch meanwhile: pid:N, name:NAME; can be given several times. docs/observers.md describes it.
    #[arg(long, value_name = "SPEC")]
    observe: Vec<String>,
    /// Folder that the result file is written to.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
    /// Print the result as JSON instead of a summary.
    #[arg(long)]
    json: bool,
    /// Show nothing while the run goes.
    #[arg(long)]
    quiet: bool,
    /// Exit with 1 where a finding voids what was measured.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    url_flags: UrlFlags,
}

pub(crate) fn execute(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (plan, shown) =
        if Url::is_one(&arguments.target) { url_plan(arguments)? } else { file_plan(arguments)? };
    let plan = match arguments.seed {
        Some(seed) => plan.with_seed(seed),
        None => plan,
    };
    let path = result_path(&arguments.output, &plan);
    let options = options(arguments, &shown, &path)?;
    let result = run(&plan, options)?;
    print(&result, arguments.json, &shown, &path)?;
    let is_void = arguments.strict && result.findings.iter().any(|finding| finding.voids_claim);
    let is_good = result.keeps_thresholds() && !is_void;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(THRESHOLD_FAILED) })
}

/// In whose words the result is printed.
#[derive(Debug)]
enum Shown {
    Own,
    Wrk { shown: WrkShown, threads: u32 },
}

fn file_plan(arguments: &Arguments) -> anyhow::Result<(Plan, Shown)> {
    if let Some(flag) = arguments.url_flags.first_given() {
        let target = &arguments.target;
        bail!(
            "{flag} belongs to a URL, and `{target}` is a plan, which says this itself; a URL begins with http://"
        );
    }
    Ok((read_plan(Path::new(&arguments.target))?, Shown::Own))
}

fn url_plan(arguments: &Arguments) -> anyhow::Result<(Plan, Shown)> {
    let flags = &arguments.url_flags;
    let url = Url::parse(&arguments.target)?;
    let threads = flags.threads(arguments.threads)?;
    let shown = WrkShown { url: url.text.clone(), latency: flags.latency, uncorrected: flags.uncorrected };
    Ok((flags.plan(&url)?, Shown::Wrk { shown, threads }))
}

fn options(arguments: &Arguments, shown: &Shown, path: &Path) -> anyhow::Result<RunOptions> {
    let mut display = display(arguments.quiet);
    let mut options = RunOptions {
        output: Output::File(path.to_owned()),
        command_line: std::env::args().collect(),
        progress: Box::new(move |progress| show(&mut display, progress)),
        observe: Some(observe::open(&arguments.observe)?),
        stop: interrupt::stop_flag()?,
        ..RunOptions::default()
    };
    let threads = match shown {
        Shown::Wrk { threads, .. } => Some(*threads),
        Shown::Own => arguments.threads,
    };
    options.threads =
        threads.and_then(|threads| NonZeroUsize::new(threads as usize)).unwrap_or(options.threads);
    Ok(options)
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

fn print(result: &ResultFile, as_json: bool, shown: &Shown, path: &Path) -> anyhow::Result<()> {
    let text = match shown {
        _ if as_json => prony_report::json(result)? + "\n",
        Shown::Own => format!("{}result: {}\n", prony_report::summary(result), path.display()),
        Shown::Wrk { shown, .. } => {
            format!("{}result: {}\n", prony_report::wrk(result, shown), path.display())
        }
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
