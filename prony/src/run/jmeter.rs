//! `prony run PLAN.jmx`: a JMeter plan with JMeter's flags, from the command line to the exit code.

use super::jmeter_names::JmeterNames;
use super::live::LiveFlags;
use super::outputs::Outputs;
use super::place::{ResultFlags, ResultPlace};
use super::warning::warn;
use super::workers::{SAMPLES_STAY, THREADS_ARE_THE_WORKERS, Waiting, WorkersFlags};
use super::{print, say, show, summary_afterwards};
use crate::interrupt;
use crate::terminal::{TerminalFlags, run_display};
use anyhow::{anyhow, bail};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use prony_load::{RunOptions, explain};
use prony_model::Plan;
use prony_model::verdict::conclusion::RunVerdict;
use prony_report::samples_table;
use prony_runs::jmeter::{Given, PlanLog, PlanOutcome, live as run_plan};
use prony_runs::{Flags, Kind, observe};
use prony_script_jmeter::JmeterPlan;
use prony_workers::UserState;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs a JMeter plan.
#[derive(Debug, Clone, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(name = "prony run", max_term_width = 100, args_override_self = true)]
pub(crate) struct JmeterArguments {
    /// The plan. docs/jmeter.md describes what of it is run.
    #[arg(value_name = "PLAN.jmx", required_unless_present = "plan")]
    argument: Option<PathBuf>,
    /// Taken for JMeter's sake: the plan.
    #[arg(short = 't', long = "testfile", value_name = "PLAN.jmx", hide = true)]
    plan: Option<PathBuf>,
    /// Taken for JMeter's sake: there is no GUI.
    #[arg(short = 'n', long = "nongui", hide = true)]
    nongui: bool,
    /// Set a property, which the plan reads with `${__P(name)}`; repeatable.
    #[arg(short = 'J', long = "jmeterproperty", value_name = "NAME=VALUE")]
    properties: Vec<String>,
    /// A file of properties; repeatable. `user.properties` beside the plan is read before it.
    #[arg(short = 'q', long = "addprop", value_name = "FILE")]
    property_files: Vec<PathBuf>,
    /// Write each sample to a file as JMeter does; `-Jjmeter.save.saveservice.output_format=xml` makes it XML.
    #[arg(short = 'l', long = "logfile", value_name = "FILE.jtl")]
    jtl: Option<PathBuf>,
    /// Do not run the plan: say what in it cannot be run, and what to write instead.
    #[arg(long)]
    check: bool,
    /// Do not run the plan: say what it would do.
    #[arg(long)]
    explain: bool,
    /// Threads of the lab, which have the plan's threads as their users; by default one for each processor.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Seed of all random choices.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// What to watch meanwhile: pid:N, name:NAME, prom:URL[#METRIC,METRIC], pg:URL, gc:FILE, host:local; can be given several times. docs/observers.md describes it.
    #[arg(long, value_name = "SPEC")]
    observe: Vec<String>,
    /// Send the run's seconds to prometheus:URL, otlp:URL, influxdb:URL, statsd:HOST:PORT or graphite:HOST:PORT, or write each request to json:FILE or csv:FILE; can be given several times. docs/outputs.md describes it.
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
    workers: WorkersFlags,
    #[command(flatten)]
    names: JmeterNames,
    /// Known so that it can be refused.
    #[arg(long, value_name = "FORMAT=FILE", hide = true)]
    summary: Vec<String>,
}

impl JmeterArguments {
    /// Something where a command line is `prony run` with a plan of JMeter.
    pub(crate) fn read(line: &[OsString]) -> Option<Result<Self, clap::Error>> {
        let (command, rest) = line.get(1..)?.split_first()?;
        let is_plan = |text: &str| Kind::of(text).flags == Flags::Jmeter;
        let has_plan = || rest.iter().any(|argument| argument.to_str().is_some_and(is_plan));
        (command == "run" && has_plan()).then(|| Self::parse_all(rest))
    }

    fn parse_all(rest: &[OsString]) -> Result<Self, clap::Error> {
        let name = OsString::from("prony run");
        let matches = Self::command().try_get_matches_from([&name].into_iter().chain(rest))?;
        Self::from_arg_matches(&matches)
    }

    fn given(&self) -> anyhow::Result<Given> {
        let path = self.argument.clone().or_else(|| self.plan.clone()).unwrap_or_default();
        Ok(Given {
            path,
            properties: properties(&self.properties)?,
            property_files: self.property_files.clone(),
            jtl: self.jtl.clone(),
            ..Given::default()
        })
    }

    /// Workers, where the flags ask for any.
    fn recruit(&self, plan: &Plan, options: &RunOptions) -> anyhow::Result<Option<Waiting>> {
        if !self.workers.is_given() {
            return Ok(None);
        }
        if options.records.is_some() {
            bail!(SAMPLES_STAY);
        }
        self.workers.recruit(plan, UserState::OfWorker, &options.stop).map(Some)
    }

    fn options(&self, plan: &Plan, place: &ResultPlace) -> anyhow::Result<RunOptions> {
        let mut display = run_display(plan.name(), self.quiet, self.terminal.color);
        let options = RunOptions {
            output: place.output(),
            seeks_findings: display.is_screen(),
            command_line: crate::command_line(),
            progress: Box::new(move |progress| show(&mut display, progress)),
            observe: Some(observe::open(&[plan.observe(), &self.observe].concat())?),
            stop: interrupt::stop_flag()?,
            ..RunOptions::default()
        };
        let threads = self.threads.and_then(|threads| NonZeroUsize::new(threads as usize));
        Ok(RunOptions { threads: threads.unwrap_or(options.threads), ..options })
    }
}

/// Names and values of `-J`.
pub(crate) fn properties(given: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let split = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err(anyhow!("-J{text} has no value; write -Jname=value")),
    };
    given.iter().map(split).collect()
}

pub(crate) fn execute(arguments: &JmeterArguments) -> anyhow::Result<ExitCode> {
    if let Some(format) = arguments.summary.first() {
        bail!(summary_afterwards(format));
    }
    if let Some(instead) = arguments.names.instead(arguments.jtl.as_deref()) {
        bail!("{instead}");
    }
    if arguments.workers.is_given() && arguments.threads.is_some() {
        bail!(THREADS_ARE_THE_WORKERS);
    }
    let jmeter = Arc::new(JmeterPlan::open(arguments.given()?)?);
    let mut plan = jmeter.plan()?;
    if let Some(seed) = arguments.seed {
        plan = plan.with_seed(seed);
    }
    if arguments.check {
        return say(&format!("{}: all of its elements are run\n", plan.name()));
    }
    if arguments.explain {
        return say(&format!("{}{}", explain(&plan), jmeter.outline()));
    }
    arguments.workers.check(&plan, UserState::OfWorker)?;
    if let Some(jtl) = arguments.jtl.as_ref().filter(|jtl| jtl.is_dir()) {
        bail!("-l {} is a folder; name a file, such as {}/samples.jtl", jtl.display(), jtl.display());
    }
    let place = arguments.place.place(plan.name());
    let outputs = Outputs::open(&arguments.out)?;
    let options = outputs.listen(&plan, arguments.options(&plan, &place)?);
    let live = arguments.live.open(plan.name(), &place.label(), &options.stop)?;
    let options = live.watch(options);
    let log = (!arguments.quiet).then(|| PlanLog::new(warn, std::io::stderr().is_terminal()));
    let waiting = arguments.recruit(&plan, &options)?;
    let (mut recruited, local) = waiting.map(|waiting| (waiting.recruited, waiting.local)).unzip();
    let lived = run_plan(&jmeter, &plan, options, true, recruited.as_mut(), log)?;
    drop(recruited);
    drop(local);
    live.finish(&lived.result, &place);
    outputs.finish();
    lived.missing.iter().for_each(|missing| warn(missing));
    finish(arguments, &lived, &place)
}

/// The summary with JMeter's figures, and what the run comes to.
fn finish(arguments: &JmeterArguments, lived: &PlanOutcome, place: &ResultPlace) -> anyhow::Result<ExitCode> {
    let looks = (!arguments.json).then(|| arguments.terminal.color.output_looks());
    if let Some(looks) = looks {
        let table = samples_table(&lived.statistics, looks);
        crate::print(&format!("{table}\n{}", lived.statistics.error_table()))?;
    }
    print(&lived.result, looks, None, place)?;
    let conclusion = RunVerdict::of_kept(&lived.result).conclusion;
    let conclusion = if arguments.strict { conclusion.strict() } else { conclusion };
    Ok(ExitCode::from(conclusion.exit_code()))
}
