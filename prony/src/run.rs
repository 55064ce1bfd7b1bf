//! `prony run`: runs the load test that a plan or a URL with flags describes, shows how it goes, and prints the result.

pub(crate) mod folder;
pub(crate) mod jmeter;
mod jmeter_names;
pub(crate) mod k6;
pub(crate) mod live;
mod other_names;
pub(crate) mod outputs;
pub(crate) mod place;
mod quantity;
mod url;
mod warning;
pub(crate) mod workers;

use anyhow::bail;
use prony_load::{RunOptions, StopFlag, Url, explain, plan_schema, read_plan, run, run_workload};
use prony_model::result::Progress;
use prony_model::verdict::conclusion::RunVerdict;
use prony_model::{Plan, ResultFile};
use prony_report::{Document, NamedDocument, ProgressDisplay, TextLooks, WrkShown};
use prony_runs::wrk::{self, SharedScript, WrkGiven, WrkLoad};
use prony_runs::{Argument, Flags, UrlGiven, observe, url_bundle};
use prony_script_wrk::{ScriptError, WrkScript};
use prony_workers::{Bundle, UserState};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::terminal::{TerminalFlags, run_display};
use crate::{COULD_NOT_RUN, interrupt, summaries::SummaryFlags};
use live::LiveFlags;
use other_names::OtherNames;
pub(crate) use other_names::shell_word;
use outputs::Outputs;
use place::{ResultFlags, ResultPlace};
use url::UrlFlags;
use workers::{Waiting, WorkersFlags};

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
// As with wrk, of a flag that is given twice the last one counts; repeatable ones add up.
#[command(args_override_self = true)]
pub(crate) struct RunArguments {
    /// The plan, a TOML file (docs/run.md describes it), or a URL to load (docs/wrk.md), or a wrk script and a URL; k6 scripts
    /// (.js, .ts) and JMeter plans (.jmx) have flags of their own: `prony run PLAN.jmx --help`.
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
    /// What to watch meanwhile: pid:N, name:NAME, prom:URL[#METRIC,METRIC], pg:URL, gc:FILE, host:local; can be given several times. docs/observers.md describes it.
    #[arg(long, value_name = "SPEC")]
    observe: Vec<String>,
    /// Send the run's seconds to prometheus:URL, otlp:URL, influxdb:URL, statsd:HOST:PORT or graphite:HOST:PORT, or write each sample to json:FILE or csv:FILE; can be given several times. docs/outputs.md describes it.
    #[arg(long, value_name = "OUTPUT")]
    out: Vec<String>,
    #[command(flatten)]
    place: ResultFlags,
    /// Print the result as JSON instead of a summary.
    #[arg(long)]
    json: bool,
    /// Show nothing while the run goes.
    #[arg(long)]
    quiet: bool,
    /// Exit with 1, and not with 3, where what was measured cannot be believed.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    terminal: TerminalFlags,
    #[command(flatten)]
    live: LiveFlags,
    #[command(flatten)]
    summaries: SummaryFlags,
    #[command(flatten)]
    url_flags: UrlFlags,
    #[command(flatten)]
    workers: WorkersFlags,
    #[command(flatten)]
    other_names: OtherNames,
}

pub(crate) fn execute(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    if arguments.schema {
        return say(&plan_schema());
    }
    let stop = interrupt::stop_flag()?;
    let mut work = work(arguments)?;
    if let Some(seed) = arguments.seed {
        work.plan = work.plan.with_seed(seed);
    }
    if arguments.explain {
        return say(&explain(&work.plan));
    }
    let users = if work.shared_script.is_some() { UserState::OfWorker } else { UserState::OfPlan };
    arguments.workers.check(&work.plan, users)?;
    let place = arguments.place.place(work.plan.name());
    let outputs = Outputs::open(&arguments.out)?;
    let live = arguments.live.open(work.plan.name(), &place.label(), &stop)?;
    let options = outputs.listen(&work.plan, options(arguments, &work, &place, stop)?);
    let (result, shared) = load(arguments, &work, live.watch(options))?;
    live.finish(&result, &place);
    outputs.finish();
    let script = shared.as_ref().map(SharedScript::script).or(work.script.as_ref());
    if let Some(script) = script {
        script.flush()?;
    }
    let looks = (!arguments.json).then(|| arguments.terminal.color.output_looks());
    print(&result, looks, work.shown.as_ref(), &place)?;
    if let Some(script) = script {
        script.done(&result)?;
    }
    let conclusion = RunVerdict::of_kept(&result).conclusion;
    let conclusion = if arguments.strict { conclusion.strict() } else { conclusion };
    arguments.summaries.write(|| {
        let document = Document::Run(Box::new(result));
        vec![NamedDocument { name: place.label(), document }]
    })?;
    Ok(ExitCode::from(conclusion.exit_code()))
}

/// Makes the load, here or on workers; a script whose threads were there comes back for its `done`.
fn load(
    arguments: &RunArguments,
    work: &Work,
    options: RunOptions,
) -> anyhow::Result<(ResultFile, Option<SharedScript>)> {
    let result = match (&work.shared_script, &work.script) {
        (Some(path), _) => {
            let (result, script) = load_shared(arguments, work, path, options)?;
            return Ok((result, Some(script)));
        }
        _ if arguments.workers.is_given() => {
            arguments.workers.run(&bundle(arguments, work)?, &work.plan, options)?
        }
        (_, Some(script)) => run_workload(&work.plan, script, options)?,
        (_, None) => run(&work.plan, options)?,
    };
    Ok((result, None))
}

/// Makes the load of a script on workers.
fn load_shared(
    arguments: &RunArguments,
    work: &Work,
    path: &Path,
    options: RunOptions,
) -> anyhow::Result<(ResultFile, SharedScript)> {
    if options.records.is_some() {
        bail!(workers::SAMPLES_STAY);
    }
    let shown = work.shown.as_ref().map_or("", |shown| &shown.url);
    let flags = arguments.url_flags.given();
    let given = wrk_given(&Url::parse(shown)?, arguments, &flags)?;
    let Waiting { mut recruited, local } =
        arguments.workers.recruit(&work.plan, UserState::OfWorker, &options.stop)?;
    let threads = recruited.threads(&work.plan)?;
    let script = SharedScript::prepare(path, &given, &WrkLoad::Flags(Box::new(flags)), threads)?;
    let result = script.run(&mut recruited, &work.plan, options)?;
    drop(recruited);
    drop(local);
    Ok((result, script))
}

fn say(text: &str) -> anyhow::Result<ExitCode> {
    crate::print(text)?;
    Ok(ExitCode::SUCCESS)
}

fn work(arguments: &RunArguments) -> anyhow::Result<Work> {
    let (first, second) = (arguments.target.as_str(), arguments.url.as_deref());
    // The number behind such a switch would be taken for an argument too many.
    if let Some(instead) = arguments.other_names.switch() {
        bail!("{instead}");
    }
    let read = Argument::read_all("prony run", [Some(first), second].into_iter().flatten())?;
    let [argument] = read.as_slice() else {
        bail!("`{}` is one argument too many after `{first}`", second.unwrap_or_default());
    };
    let is_wrk = argument.kind.flags == Flags::Wrk;
    if let Some(instead) = arguments.other_names.instead(is_wrk, first, &crate::command_line()) {
        bail!("{instead}");
    }
    let script = match (&argument.url, &arguments.script) {
        (Some(_), Some(other)) => {
            bail!("two scripts, `{first}` and `{}`: one can be run", other.display());
        }
        (Some(_), None) => Some(Path::new(first)),
        (None, named) => named.as_deref().filter(|_| is_wrk),
    };
    if script.is_none() && !arguments.after_dashes.is_empty() {
        bail!(
            "arguments after `--` are for a script's `init`, and there is no script; give one with --script"
        );
    }
    if arguments.workers.is_given() && arguments.threads.is_some() {
        bail!(workers::THREADS_ARE_THE_WORKERS);
    }
    if is_wrk {
        url_work(argument.url.as_deref().unwrap_or(first), script, arguments)
    } else {
        file_work(Path::new(first), arguments)
    }
}

/// What is run, and how it is shown.
#[derive(Debug)]
struct Work {
    plan: Plan,
    script: Option<WrkScript>,
    /// One whose threads are on workers; it is prepared once they have come.
    shared_script: Option<PathBuf>,
    threads: Option<u32>,
    /// In wrk's words, where it is.
    shown: Option<WrkShown>,
}

/// What to type for the summary of a script or a plan of JMeter, which have no `--summary`.
fn summary_afterwards(format: &str) -> String {
    format!(
        "--summary belongs to plans in TOML and URLs; type it when the run is over: prony report results --summary {format}"
    )
}

fn file_work(path: &Path, arguments: &RunArguments) -> anyhow::Result<Work> {
    let flag = arguments.url_flags.first_given().or(arguments.script.as_ref().map(|_| "--script"));
    if let Some(flag) = flag {
        let plan = path.display();
        bail!(
            "{flag} belongs to a URL, and `{plan}` is a plan, which says this itself: change it there; a URL begins with http://"
        );
    }
    let plan = read_plan(path)?;
    Ok(Work { plan, script: None, shared_script: None, threads: arguments.threads, shown: None })
}

/// What workers are handed.
fn bundle(arguments: &RunArguments, work: &Work) -> anyhow::Result<Bundle> {
    match &work.shown {
        Some(shown) => Ok(url_bundle(&Url::parse(&shown.url)?, &arguments.url_flags.given())?),
        None => Ok(Bundle::of_plan(Path::new(&arguments.target))?),
    }
}

fn url_work(url: &str, script: Option<&Path>, arguments: &RunArguments) -> anyhow::Result<Work> {
    let flags = &arguments.url_flags;
    let given = flags.given();
    let url = Url::parse(url)?;
    let threads = given.threads(arguments.threads)?;
    let plan = given.plan(&url)?;
    script.map_or(Ok(()), demand_lua)?;
    let (here, elsewhere) = if arguments.workers.is_given() { (None, script) } else { (script, None) };
    let script = here.map(|path| prepare(path, &url, arguments, &given, threads)).transpose()?;
    let shown = WrkShown { url: url.text, latency: flags.latency, uncorrected: flags.uncorrected };
    let shared_script = elsewhere.map(Path::to_owned);
    Ok(Work { plan, script, shared_script, threads: Some(threads), shown: Some(shown) })
}

fn demand_lua(path: &Path) -> anyhow::Result<()> {
    if !wrk::is_named(&path.to_string_lossy()) && path.extension().is_some() {
        bail!("--script takes a wrk script in Lua, and {} is none by its name", path.display());
    }
    Ok(())
}

/// Loads the script and calls its `setup` and `init` for each thread.
fn prepare(
    path: &Path,
    url: &Url,
    arguments: &RunArguments,
    flags: &UrlGiven,
    threads: u32,
) -> anyhow::Result<WrkScript> {
    Ok(wrk::prepare(path, &wrk_given(url, arguments, flags)?, threads)?)
}

fn wrk_given(url: &Url, arguments: &RunArguments, flags: &UrlGiven) -> anyhow::Result<WrkGiven> {
    Ok(WrkGiven {
        url: url.clone(),
        headers: flags.headers()?,
        method: flags.method().to_owned(),
        body: flags.body()?,
        arguments: arguments.after_dashes.clone(),
        connect_timeout: Duration::from_nanos(flags.timeout().0),
        on_stuck: end_process,
    })
}

/// The script's thread does not come back, so nothing but the end of the process ends it. What the run has measured is
/// in the result file as of its last writing.
pub(crate) fn end_process(error: &ScriptError) {
    crate::say(&anyhow::anyhow!("{error}"));
    std::process::exit(COULD_NOT_RUN.into());
}

fn options(
    arguments: &RunArguments,
    work: &Work,
    place: &ResultPlace,
    stop: StopFlag,
) -> anyhow::Result<RunOptions> {
    let mut display = run_display(work.plan.name(), arguments.quiet, arguments.terminal.color);
    let mut options = RunOptions {
        output: place.output(),
        seeks_findings: display.is_screen(),
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

fn show(display: &mut ProgressDisplay, second: &Progress) {
    display.show(second);
    if let Some(warning) = &second.warning {
        display.warn(warning);
    }
    if second.is_last {
        display.finish();
    }
}

/// The summary, or without looks JSON.
fn print(
    result: &ResultFile,
    looks: Option<TextLooks>,
    shown: Option<&WrkShown>,
    place: &ResultPlace,
) -> anyhow::Result<()> {
    let Some(looks) = looks else { return crate::print(&(prony_report::json(result)? + "\n")) };
    let summary = match shown {
        Some(shown) => prony_report::wrk(result, shown, looks),
        None => prony_report::summary(result, looks),
    };
    crate::print(&(summary + &place.line()))
}
