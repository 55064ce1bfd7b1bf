//! `prony run SCRIPT.js`: a k6 script with k6's flags, from the command line to k6's exit code. k6's summary is printed
//! as k6 does, and after it what Prony found.

mod flags;
mod refused;
mod traces;

use super::outputs::{self, Asked, warn_of_outputs};
use super::place::ResultPlace;
use super::show;
use super::warning::warn;
use super::workers::{SAMPLES_STAY, THREADS_ARE_THE_WORKERS, Waiting};
use crate::interrupt;
use crate::terminal::run_display;
use anyhow::{Context as _, bail};
use prony_load::{RunOptions, StopFlag};
use prony_model::{Conclusion, Plan};
use prony_report::{OutputLines, ProgressDisplay};
use prony_runs::k6::{
    Ended, GivenError, LifeControl, Lived, RestApi, ScriptWorkers, handle_summary, live_with,
};
use prony_runs::observe;
use prony_script_k6::{
    Check, Exit, LogTarget, MeasureSettings, Reader, Session, Style, SummaryMode, builtins, pretty,
};
use prony_workers::UserState;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub(crate) use flags::K6Arguments;

/// What is said where k6 would serve its dashboard.
const NO_DASHBOARD: &str = "K6_WEB_DASHBOARD has no effect: --live serves a page while the run goes, and `prony report RESULT --html FILE` writes it \
                            afterwards";

/// An error with the exit code that k6 has for it.
#[derive(Debug)]
struct Stopped {
    exit: Exit,
    error: anyhow::Error,
}

impl Stopped {
    fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }
}

impl From<GivenError> for Stopped {
    fn from(error: GivenError) -> Self {
        Self::new(error.exit(), error)
    }
}

impl From<anyhow::Error> for Stopped {
    /// What k6 has no code for of its own is a matter of what it was given.
    fn from(error: anyhow::Error) -> Self {
        Self { exit: Exit::Configuration, error }
    }
}

/// Where arguments are those of a script, runs it.
pub(crate) fn execute(arguments: &K6Arguments) -> ExitCode {
    match run(arguments) {
        Ok(exit) => ExitCode::from(exit),
        Err(stopped) => {
            crate::say(&stopped.error);
            ExitCode::from(stopped.exit.code())
        }
    }
}

fn run(arguments: &K6Arguments) -> Result<u8, Stopped> {
    if let Some(refusal) = &arguments.refusal {
        return Err(Stopped::new(Exit::Configuration, anyhow::anyhow!("{refusal}")));
    }
    if arguments.check {
        let (_, main) = arguments.given().main()?;
        let check = Check::of(main, &builtins());
        crate::print(&format!("{check}\n"))?;
        return Ok(if check.is_whole() { Exit::Done.code() } else { crate::COULD_NOT_RUN });
    }
    let mode = arguments.summary_mode()?;
    let asked = arguments.outputs().map_err(|error| Stopped::new(Exit::Configuration, error))?;
    let settings = MeasureSettings {
        outputs: asked.files.clone(),
        no_thresholds: arguments.no_thresholds(),
        no_color: !arguments.color().allows_colors(),
        share: None,
    };
    refuse_with_workers(arguments, &asked)?;
    if arguments.explain {
        return explain(arguments, &settings, &asked.names());
    }
    let has_traces = traces::is_wanted(&arguments.traces_output())
        .map_err(|error| Stopped::new(Exit::Other, anyhow::anyhow!(error)))?;
    let session = Arc::new(session(arguments, &settings)?);
    warn_before_run(&session.warnings, has_traces.then_some(traces::NO_SPANS));
    if session.options.paused && arguments.address.as_deref().is_none_or(str::is_empty) {
        let error = "the test is paused, and nobody could resume it: give the REST API an --address, such as localhost:6565";
        return Err(Stopped::new(Exit::Configuration, anyhow::anyhow!(error)));
    }
    let plan = session.plan().map_err(|error| Stopped::new(error.exit(), error))?;
    arguments.workers.check(&plan, UserState::OfWorker)?;
    let place = arguments.place.place(plan.name());
    let sinks = asked.open_sinks().map_err(|error| Stopped::new(Exit::Configuration, error))?;
    let options = outputs::listen(&sinks, &plan, options(arguments, &session, &plan, &place)?);
    let pages = arguments
        .live
        .open(plan.name(), &place.label(), &options.stop)
        .map_err(|error| Stopped::new(Exit::Configuration, error))?;
    let options = pages.watch(options);
    if !arguments.quiet && !arguments.json {
        crate::print(&introduction(arguments, &session, &asked.names()))?;
    }
    let (stop, control) = (options.stop.clone(), Arc::new(LifeControl::new(session.options.paused)));
    if let Some(address) = arguments.address.as_deref().filter(|address| !address.is_empty()) {
        serve_api(&session, address, &control, &stop)?;
    }
    let lived = live(arguments, &session, &plan, options, &control)?;
    if let Some(result) = &lived.result {
        pages.finish(result, &place);
    }
    if arguments.lingers() && !stop.is_stopped() {
        linger(&stop)?;
    }
    // What the script has logged stands before what is said of it.
    session.measure.log().flush();
    if mode != SummaryMode::Disabled {
        summarise(arguments, &session, &lived, mode)?;
    }
    warn_of_outputs(&session.measure.close_outputs());
    outputs::finish(sinks);
    session.measure.log().flush();
    say_end(&lived.ended);
    let code = exit_code(arguments, &lived);
    tell_findings(arguments, &lived, code, &place)?;
    Ok(code)
}

/// What the options lead to, and what is asked for and has no effect.
fn warn_before_run(of_options: &[String], of_traces: Option<&'static str>) {
    let of_dashboard = flags::wants_dashboard().then_some(NO_DASHBOARD);
    let all = of_options.iter().map(String::as_str).chain(of_traces).chain(of_dashboard);
    all.for_each(warn);
    if let Some(variable) = flags::proxy_variable() {
        warn(&format!("{variable} has no effect: connections go to their targets, through no proxy"));
    }
}

/// What stays on the machines of workers, or is theirs to choose.
fn refuse_with_workers(arguments: &K6Arguments, asked: &Asked) -> anyhow::Result<()> {
    if arguments.workers.is_given() && !asked.files.is_empty() {
        bail!(SAMPLES_STAY);
    }
    if arguments.workers.is_given() && arguments.threads.is_some() {
        bail!(THREADS_ARE_THE_WORKERS);
    }
    arguments.workers.check_kind(UserState::OfWorker)
}

/// Lives the script's life here, or with its load on workers.
fn live(
    arguments: &K6Arguments,
    session: &Session,
    plan: &Plan,
    options: RunOptions,
    control: &Arc<LifeControl>,
) -> anyhow::Result<Lived> {
    if !arguments.workers.is_given() {
        return Ok(live_with(session, plan, options, control, None));
    }
    let Waiting { mut recruited, local } =
        arguments.workers.recruit(plan, UserState::OfWorker, &options.stop)?;
    let (given, no_thresholds) = (arguments.given(), arguments.no_thresholds());
    let workers = ScriptWorkers { recruited: &mut recruited, given: &given, no_thresholds };
    let lived = live_with(session, plan, options, control, Some(workers));
    drop(recruited);
    drop(local);
    Ok(lived)
}

/// Serves k6's REST API.
fn serve_api(
    session: &Arc<Session>,
    address: &str,
    control: &Arc<LifeControl>,
    stop: &StopFlag,
) -> Result<(), Stopped> {
    let (control, session, stop) = (Arc::clone(control), Arc::clone(session), stop.clone());
    let served = RestApi { control, session, stop, calls: Mutex::default() }.serve(address);
    let cannot = || format!("cannot serve the REST API at {address}; choose another --address");
    let served = served.with_context(cannot)?;
    Ok(crate::print_error(&format!("REST API: http://{served}/v1/status\n"))?)
}

/// Waits for the signal that ends the program.
fn linger(stop: &StopFlag) -> anyhow::Result<()> {
    const LOOK: Duration = Duration::from_millis(50);
    crate::print_error(
        "The test is done, but --linger was enabled, so k6 is waiting for Ctrl+C to continue...\n",
    )?;
    while !stop.is_stopped() {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// k6's own; with `--strict` what the rule says of a script that k6 would call done.
fn exit_code(arguments: &K6Arguments, lived: &Lived) -> u8 {
    match lived.conclusion().map(Conclusion::strict) {
        Some(conclusion) if arguments.strict && lived.ended.exit == Exit::Done => conclusion.exit_code(),
        _ => lived.ended.exit.code(),
    }
}

fn session(arguments: &K6Arguments, settings: &MeasureSettings) -> Result<Session, Stopped> {
    let given = arguments.given();
    let (options, file) = (given.options()?, given.file()?);
    Session::open(&file, options, settings).map_err(|error| Stopped::new(error.exit(), error))
}

/// What would be run. No output is opened, because nothing is written.
fn explain(arguments: &K6Arguments, settings: &MeasureSettings, outputs: &[String]) -> Result<u8, Stopped> {
    let session = session(arguments, &MeasureSettings { outputs: Vec::new(), ..settings.clone() })?;
    session.measure.log().flush();
    for warning in &session.warnings {
        warn(warning);
    }
    session.plan().map_err(|error| Stopped::new(error.exit(), error))?;
    let text = introduction(arguments, &session, outputs);
    crate::print(&format!("{text}--check says what the script needs, and what of it is missing\n"))?;
    Ok(Exit::Done.code())
}

fn options(
    arguments: &K6Arguments,
    session: &Session,
    plan: &Plan,
    place: &ResultPlace,
) -> anyhow::Result<RunOptions> {
    let mut display = run_display(plan.name(), arguments.quiet, arguments.color());
    place_log(arguments, session, &display);
    let options = RunOptions {
        output: place.output(),
        seeks_findings: display.is_screen(),
        command_line: crate::command_line(),
        progress: Box::new(move |progress| show(&mut display, progress)),
        observe: Some(observe::open(&[plan.observe(), &arguments.observe].concat())?),
        stop: interrupt::stop_flag_or_exit(Exit::Interrupted.code().into())?,
        ..RunOptions::default()
    };
    let threads = arguments
        .threads
        .map_or(options.threads, |count| NonZeroUsize::new(count as usize).unwrap_or(NonZeroUsize::MIN));
    Ok(RunOptions { threads, ..options })
}

/// Lines of the log stand above the screen, where they go to the same terminal.
fn place_log(arguments: &K6Arguments, session: &Session, display: &ProgressDisplay) {
    let log = session.measure.log();
    match session.log.target {
        LogTarget::Errors => {
            let style = match session.log.style {
                // As k6 does without colours.
                None if !arguments.color().allows_colors() => Style::Plain,
                _ => session.log.style_of_errors(),
            };
            log.set_output(display.errors(), style, Reader::of(&std::io::stderr()));
        }
        LogTarget::Output if std::io::stdout().is_terminal() => {
            log.set_output(Box::new(OutputLines), session.log.style.unwrap_or(Style::Plain), Reader::Person);
        }
        LogTarget::Output | LogTarget::None | LogTarget::File(_) => {}
    }
}

/// What will be run, in k6's words.
fn introduction(arguments: &K6Arguments, session: &Session, outputs: &[String]) -> String {
    let needs = session.options.requirements();
    let scenarios = &session.options.scenarios;
    let outputs = if outputs.is_empty() { "-".to_owned() } else { outputs.join(", ") };
    let count =
        if scenarios.len() == 1 { "1 scenario".to_owned() } else { format!("{} scenarios", scenarios.len()) };
    let mut text = format!(
        "     execution: local\n        script: {}\n        output: {outputs}\n\n     \
         scenarios: ({:.2}%) {count}, {} max VUs, {} max duration (incl. graceful stop):\n",
        arguments.script,
        session.options.segment_length * 100.0,
        needs.users_max,
        k6_duration(needs.duration),
    );
    for scenario in scenarios {
        let _ = writeln!(text, "              * {}: {}", scenario.name, scenario.description());
    }
    text.push('\n');
    text
}

fn k6_duration(duration: prony_model::Nanos) -> String {
    prony_script_k6::Span::from(duration).to_string()
}

/// What the script makes of its figures, or k6's text.
fn summarise(
    arguments: &K6Arguments,
    session: &Session,
    lived: &Lived,
    mode: SummaryMode,
) -> anyhow::Result<()> {
    // Of the legacy summary k6 has no such form.
    let has_machine_form = arguments.is_summary_for_machines() && mode != SummaryMode::Legacy;
    let machine =
        has_machine_form.then(|| lived.summary.machine_readable(mode, &session.text, SystemTime::now()));
    if let Some(path) = arguments.export_file() {
        let text = machine.as_ref().map_or_else(|| lived.summary.export(), pretty);
        write_file(&path, text.as_bytes());
    }
    let data = machine.unwrap_or_else(|| lived.summary.data());
    let contents = handle_summary(session, &data).unwrap_or_else(|message| {
        crate::say(&anyhow::anyhow!("{message}"));
        None
    });
    let Some(contents) = contents else {
        if arguments.json {
            return Ok(());
        }
        return crate::print(&lived.summary.text(mode, arguments.color().output_looks().has_colors));
    };
    for (place, content) in contents {
        match place.as_str() {
            // Nothing but the result is to be there.
            "stdout" if arguments.json => {}
            "stdout" => crate::print(&content)?,
            "stderr" => crate::print_error(&content)?,
            path => write_file(Path::new(path), &content),
        }
    }
    Ok(())
}

/// A summary that cannot be written is said, and is no reason to lose the others.
fn write_file(path: &Path, content: &[u8]) {
    if let Err(cause) = std::fs::write(path, content) {
        crate::say(&anyhow::anyhow!("cannot write the summary to {}: {cause}", path.display()));
    }
}

fn say_end(ended: &Ended) {
    if !ended.message.is_empty() {
        crate::say(&anyhow::anyhow!("{}", ended.message));
    }
}

/// What Prony found beyond k6's figures, and what the run comes to where k6 says less.
fn tell_findings(
    arguments: &K6Arguments,
    lived: &Lived,
    code: u8,
    place: &ResultPlace,
) -> anyhow::Result<()> {
    let Some(result) = &lived.result else { return Ok(()) };
    if arguments.json {
        crate::print(&(prony_report::json(result)? + "\n"))?;
    }
    if arguments.quiet {
        return Ok(());
    }
    let looks = arguments.color().error_looks();
    let findings = prony_report::findings(result, looks);
    // What k6 has a code for is said above.
    let verdict = match prony_report::verdict(result, looks) {
        verdict if verdict.is_empty() || lived.ended.exit != Exit::Done => String::new(),
        verdict if code == Exit::Done.code() => {
            format!("\n{verdict}the exit code is k6's, {code}; --strict makes it 1\n")
        }
        verdict => format!("\n{verdict}"),
    };
    crate::print_error(&format!("{findings}{verdict}\n{}", place.line()))
}
