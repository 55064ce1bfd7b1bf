//! `prony run`: runs the load test that a plan or a URL with flags describes, shows how it goes, and prints the result.

pub(crate) mod k6;
mod quantity;
mod script;
mod url;

use anyhow::{Context as _, bail};
use prony_experiments::observe;
use prony_load::{
    Output, Progress, RunOptions, StopFlag, Url, explain, plan_schema, read_plan, run, run_workload,
};
use prony_model::{Plan, ResultFile};
use prony_report::{ProgressDisplay, WrkShown};
use prony_script_wrk::WrkScript;
use std::io::{IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{interrupt, progress};
use url::UrlFlags;

const THRESHOLD_FAILED: u8 = 1;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
// As with wrk, of a flag that is given twice the last one counts; repeatable ones add up.
#[command(args_override_self = true)]
pub(crate) struct Arguments {
    /// The plan, a TOML file (docs/run.md describes it), or a URL to load (docs/wrk.md), or a wrk script and a URL.
    #[arg(value_name = "PLAN.toml|URL|SCRIPT.lua", required_unless_present = "schema", default_value = "")]
    #[arg(hide_default_value = true)]
    target: String,
    /// The URL for a script.
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// A wrk script, in Lua, that says what is sent to the URL.
    #[arg(short, long, value_name = "FILE", help_heading = "For a URL")]
    script: Option<PathBuf>,
    /// For the script's `init`.
    #[arg(last = true, value_name = "ARGUMENT")]
    after_dashes: Vec<String>,
    /// Threads of the lab; by default one for each processor, with a URL 2.
    #[arg(short, long, value_name = "COUNT", value_parser = quantity::count)]
    threads: Option<u32>,
    /// Seed of all random choices, in place of the plan's.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print what the plan or URL would do, without doing it.
    #[arg(long)]
    explain: bool,
    /// Print the JSON Schema of plans, for editors; docs/plans.md says how to use it.
    #[arg(long, exclusive = true)]
    schema: bool,
    /// What to watch meanwhile: pid:N, name:NAME, prom:URL[#METRIC,METRIC], pg:URL, gc:FILE; can be given several times. docs/observers.md describes it.
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
    if arguments.schema {
        return say(&plan_schema());
    }
    let stop = interrupt::stop_flag()?;
    let mut work = match arguments.place()? {
        Place::Plan(path) => file_work(path, arguments)?,
        Place::Url { url, script } => url_work(url, script, arguments)?,
    };
    if let Some(seed) = arguments.seed {
        work.plan = work.plan.with_seed(seed);
    }
    if arguments.explain {
        return say(&explain(&work.plan));
    }
    let path = result_path(&arguments.output, &work.plan);
    let options = options(arguments, &work, &path, stop)?;
    let result = match &work.script {
        Some(script) => run_workload(&work.plan, script, options)?,
        None => run(&work.plan, options)?,
    };
    if let Some(script) = &work.script {
        script.flush()?;
    }
    print(&result, arguments.json, work.shown.as_ref(), &path)?;
    if let Some(script) = &work.script {
        script.done(&result)?;
    }
    let is_void = arguments.strict && result.findings.iter().any(|finding| finding.voids_claim);
    let is_good = result.keeps_thresholds() && !is_void;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(THRESHOLD_FAILED) })
}

fn say(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().write_all(text.as_bytes()).context("cannot print")?;
    Ok(ExitCode::SUCCESS)
}

/// What the positional arguments and `--script` name.
#[derive(Debug)]
enum Place<'a> {
    Plan(&'a Path),
    Url { url: &'a str, script: Option<&'a Path> },
}

impl Arguments {
    fn place(&self) -> anyhow::Result<Place<'_>> {
        let (first, second) = (self.target.as_str(), self.url.as_deref());
        let place = match (first, second) {
            (script, Some(url)) if script::is_one(script) && Url::is_one(url) => {
                if let Some(other) = &self.script {
                    bail!("two scripts, `{script}` and `{}`: one can be run", other.display());
                }
                Place::Url { url, script: Some(Path::new(script)) }
            }
            (_, Some(second)) => bail!("`{second}` is one argument too many after `{first}`"),
            (script, None) if script::is_one(script) => {
                bail!("the script `{script}` needs a URL: prony run {script} http://…")
            }
            (url, None) if Url::is_one(url) => Place::Url { url, script: self.script.as_deref() },
            (plan, None) => Place::Plan(Path::new(plan)),
        };
        let has_script = matches!(place, Place::Url { script: Some(_), .. });
        if !has_script && !self.after_dashes.is_empty() {
            bail!(
                "arguments after `--` are for a script's `init`, and there is no script; give one with --script"
            );
        }
        Ok(place)
    }
}

/// What is run, and how it is shown.
#[derive(Debug)]
struct Work {
    plan: Plan,
    script: Option<WrkScript>,
    threads: Option<u32>,
    /// In wrk's words, where it is.
    shown: Option<WrkShown>,
}

fn file_work(path: &Path, arguments: &Arguments) -> anyhow::Result<Work> {
    let flag = arguments.url_flags.first_given().or(arguments.script.as_ref().map(|_| "--script"));
    if let Some(flag) = flag {
        let plan = path.display();
        bail!(
            "{flag} belongs to a URL, and `{plan}` is a plan, which says this itself; a URL begins with http://"
        );
    }
    Ok(Work { plan: read_plan(path)?, script: None, threads: arguments.threads, shown: None })
}

fn url_work(url: &str, script: Option<&Path>, arguments: &Arguments) -> anyhow::Result<Work> {
    let flags = &arguments.url_flags;
    let url = Url::parse(url)?;
    let threads = flags.threads(arguments.threads)?;
    let plan = flags.plan(&url)?;
    let prepare = |path| script::prepare(path, &url, flags, threads, &arguments.after_dashes);
    let script = script.map(prepare).transpose()?;
    let shown = WrkShown { url: url.text, latency: flags.latency, uncorrected: flags.uncorrected };
    Ok(Work { plan, script, threads: Some(threads), shown: Some(shown) })
}

fn options(arguments: &Arguments, work: &Work, path: &Path, stop: StopFlag) -> anyhow::Result<RunOptions> {
    let mut display = display(arguments.quiet);
    let mut options = RunOptions {
        output: Output::File(path.to_owned()),
        command_line: crate::command_line(),
        progress: Box::new(move |progress| show(&mut display, progress)),
        observe: Some(observe::open(&[work.plan.observe(), &arguments.observe].concat())?),
        stop,
        ..RunOptions::default()
    };
    options.threads =
        work.threads.and_then(|threads| NonZeroUsize::new(threads as usize)).unwrap_or(options.threads);
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

fn show(display: &mut ProgressDisplay, second: &Progress) {
    display.show(&progress::line(second));
    if let Some(warning) = &second.warning {
        display.warn(warning);
    }
    if second.is_last {
        display.finish();
    }
}

fn print(result: &ResultFile, as_json: bool, shown: Option<&WrkShown>, path: &Path) -> anyhow::Result<()> {
    let summary = match shown {
        _ if as_json => return out(&(prony_report::json(result)? + "\n")),
        Some(shown) => prony_report::wrk(result, shown),
        None => prony_report::summary(result),
    };
    out(&format!("{summary}result: {}\n", path.display()))
}

fn out(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("cannot print the result")
}

/// `DIR/NAME-UNIXSECONDS.prony.json`, the name reduced to what every file system takes.
fn result_path(directory: &Path, plan: &Plan) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = plan.name().chars().map(safe).collect();
    directory.join(format!("{name}-{seconds}.prony.json"))
}
