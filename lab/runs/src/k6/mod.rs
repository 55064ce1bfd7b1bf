//! The life of a k6 script: setup, the load, teardown, and what is said at the end, each a run of its own under one
//! clock of the summary. Knows threads and sockets through `load` alone; files and the terminal are the caller's.

mod control;
mod given;
mod rest_api;
mod share;
mod subject;

use crate::subject::SubjectError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::{Output, RunError, RunOptions, StopFlag, replace_file, run_workload};
use prony_model::result::Progress;
use prony_model::verdict::conclusion::RunVerdict;
use prony_model::{Conclusion, Nanos, Plan, ResultFile};
use prony_script_k6::{Began, Beside, Exit, Fault, Part, PartTimes, RunEnd, ScriptError, Session, Summary};
use prony_workers::{FailureCause, WorkersError};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

pub use control::LifeControl;
use control::LifeStatus;
pub(crate) use given::STANDARD_INPUT;
pub use given::{Given, GivenError, LogFlags, is_named, is_true_variable, variable};
pub use rest_api::RestApi;
pub(crate) use share::SCRIPTS;
pub use share::ScriptWorkers;
pub(crate) use subject::KIND;

/// How a script's life ended.
#[derive(Debug)]
pub struct Lived {
    /// None where the load never began.
    pub result: Option<ResultFile>,
    pub summary: Summary,
    pub ended: Ended,
    /// Why the load could not be made, where that ended it.
    pub failure: Option<SubjectError>,
}

impl Lived {
    /// By the one rule; none where the load never began.
    pub fn conclusion(&self) -> Option<Conclusion> {
        Some(RunVerdict::of_kept(self.result.as_ref()?).conclusion)
    }
}

/// Why it ended, as k6 tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit: Exit,
    /// For people; empty where all went well.
    pub message: String,
}

impl Ended {
    const DONE: Self = Self { exit: Exit::Done, message: String::new() };

    fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

/// What a part returned, as JSON.
type Returned = Option<Arc<str>>;

/// Runs setup, the plan (which is made of the session's) and teardown. A stop ends what goes on; teardown follows
/// where setup had not failed. Once in a session's life. Blocks the calling thread.
pub fn live(session: &Session, plan: &Plan, options: RunOptions) -> Lived {
    live_with(session, plan, options, &Arc::new(LifeControl::new(false)), None)
}

/// As [`live`], for others to look at and to resume; the load is made by workers where there are any.
pub fn live_with(
    session: &Session,
    plan: &Plan,
    options: RunOptions,
    control: &Arc<LifeControl>,
    workers: Option<ScriptWorkers<'_>>,
) -> Lived {
    let (life, output) = (Life::new(session, options.stop.clone(), control), options.output.clone());
    let (mut result, ended) = life.all(plan, options, workers);
    let duration = life.executed.get();
    control.set_executed(duration, false);
    let was_stopped = matches!(ended.exit, Exit::Interrupted | Exit::Aborted);
    control.set_status(if was_stopped { LifeStatus::Interrupted } else { LifeStatus::Ended });
    let verdict = session.measure.finish(duration);
    let ended = match ended {
        // As in k6, whose code of thresholds gives way to this one.
        Ended { exit: Exit::Done, .. } if session.measure.is_marked_failed() => {
            let marked = "the script marked the run as failed";
            let also = if verdict.crossed.is_empty() { String::new() } else { format!("; {verdict}") };
            Ended::new(Exit::MarkedFailed, format!("{marked}{also}"))
        }
        Ended { exit: Exit::Done, .. } if !verdict.crossed.is_empty() => {
            Ended::new(Exit::Thresholds, verdict.to_string())
        }
        ended => ended,
    };
    let message = session.measure.log().without_secrets(&ended.message).into_owned();
    let ended = Ended { message, ..ended };
    if let Some(result) = &mut result {
        keep_failure(result, &ended, &output);
    }
    let setup_data = control.now().setup_data.and_then(|json| serde_json::from_str(&json).ok());
    let summary = session.measure.summary(&session.options, duration, setup_data);
    Lived { result, summary, ended, failure: life.failure.take() }
}

/// What k6 has a code for has failed, whatever the requests alone say. The file was written before that was known.
fn keep_failure(result: &mut ResultFile, ended: &Ended, output: &Output) {
    if matches!(ended.exit, Exit::Done | Exit::Interrupted) {
        return;
    }
    let reasons = vec![ended.message.clone()];
    result.verdict = Some(RunVerdict { conclusion: Conclusion::Failed, reasons });
    if let Output::File(path) = output {
        // Best effort: what stands there lacks this verdict alone.
        let _ = replace_file(path, result);
    }
}

/// Each place that `handleSummary` names, with its content.
pub type SummaryContents = Vec<(String, Vec<u8>)>;

/// Calls the script's `handleSummary` with the summary's data: what it gives for which place (`stdout`, `stderr`, or a file), or nothing where
/// the script has none or leaves the summary to us.
pub fn handle_summary(session: &Session, data: &Value) -> Result<Option<SummaryContents>, String> {
    if !session.has(Part::Summary) {
        return Ok(None);
    }
    let data: Arc<str> = data.to_string().into();
    let control = Arc::new(LifeControl::new(false));
    let life = Life::new(session, StopFlag::default(), &control);
    let returned = life.part(Part::Summary, Some(data));
    let returned =
        returned.map_err(|ended| session.measure.log().without_secrets(&ended.message).into_owned())?;
    let Some(json) = returned else { return Ok(None) };
    let Ok(Value::Object(places)) = serde_json::from_str(&json) else {
        let message = "handleSummary() must return an object of places and texts; nothing of it is written";
        return Err(message.to_owned());
    };
    let contents = places.into_iter().map(|(place, content)| match content_of(&content) {
        Some(bytes) => Ok((place, bytes)),
        None => Err(format!(
            "handleSummary() returned neither text nor bytes for `{place}`, so nothing of it is written; \
             JSON.stringify() makes a text of an object"
        )),
    });
    contents.collect::<Result<_, _>>().map(Some)
}

/// Text, or bytes as the virtual machine gives them.
fn content_of(content: &Value) -> Option<Vec<u8>> {
    match content {
        Value::String(text) => Some(text.clone().into_bytes()),
        _ => STANDARD.decode(content.get("base64")?.as_str()?).ok(),
    }
}

/// Calls `setup` or `teardown` once more, whatever the test is doing, as the REST API can ask for it: what `setup` returns is the
/// setup data from then on. Nothing where the script has no such function.
///
/// # Errors
/// How it has ended, for people.
fn call_again(
    session: &Session,
    part: Part,
    stop: &StopFlag,
    control: &Arc<LifeControl>,
) -> Result<(), String> {
    if !session.exports(part) {
        return Ok(());
    }
    let data = control.now().setup_data.filter(|_| part == Part::Teardown);
    let life = Life::new(session, stop.child(), control);
    let returned = life.call(part, data, Beside::Others).map_err(|ended| ended.message)?;
    if part == Part::Setup {
        control.set_setup_data(returned);
    }
    Ok(())
}

struct Life<'a> {
    session: &'a Session,
    stop: StopFlag,
    began: Began,
    /// How long setup, load and teardown have taken so far, without the init code of the load's users: what k6 divides by.
    executed: Rc<Cell<Nanos>>,
    control: &'a Arc<LifeControl>,
    failure: RefCell<Option<SubjectError>>,
}

impl<'a> Life<'a> {
    fn new(session: &'a Session, stop: StopFlag, control: &'a Arc<LifeControl>) -> Self {
        Self {
            session,
            stop,
            began: control.began(),
            executed: Rc::default(),
            control,
            failure: RefCell::default(),
        }
    }

    fn elapsed(&self) -> Nanos {
        Nanos(u64::try_from(self.began.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn all(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<ScriptWorkers<'_>>,
    ) -> (Option<ResultFile>, Ended) {
        self.control.set_users(0, plan.users());
        self.control.wait_while_paused(&self.stop);
        if self.stop.is_stopped() {
            return (None, interrupted());
        }
        self.control.set_status(LifeStatus::Setup);
        if self.session.has(Part::Setup) {
            match self.part(Part::Setup, None) {
                Ok(data) => self.control.set_setup_data(data),
                Err(ended) => return (None, ended),
            }
        }
        if self.stop.is_stopped() {
            return (None, interrupted());
        }
        self.control.set_status(LifeStatus::Running);
        let (result, ended) = self.load(plan, options, workers);
        self.control.set_users(0, plan.users());
        self.control.set_status(LifeStatus::Teardown);
        // What the stop has ended was the load; teardown tidies up behind it.
        let tidy = Life {
            session: self.session,
            stop: StopFlag::default(),
            began: self.began,
            executed: Rc::clone(&self.executed),
            control: self.control,
            failure: RefCell::default(),
        };
        let has_teardown = self.session.has(Part::Teardown);
        let torn = has_teardown.then(|| tidy.part(Part::Teardown, self.control.now().setup_data));
        let torn = torn.and_then(Result::err);
        let ended = match (ended, torn) {
            (Ended { exit: Exit::Done, .. }, Some(torn)) => torn,
            (Ended { exit: Exit::Done, .. }, None) if self.stop.is_stopped() => interrupted(),
            (ended, _) => ended,
        };
        (result, ended)
    }

    /// One call of an exported function, as one user.
    fn part(&self, part: Part, data: Returned) -> Result<Returned, Ended> {
        let (since_begin, executed) = (self.elapsed(), self.executed.get());
        self.session.measure.begin(PartTimes { since_begin, executed });
        self.control.set_executed(executed, true);
        let returned = self.call(part, data, Beside::Nothing);
        self.executed.set(executed.plus(self.elapsed().since(since_begin)));
        self.control.set_executed(self.executed.get(), false);
        returned
    }

    fn call(&self, part: Part, data: Returned, beside: Beside) -> Result<Returned, Ended> {
        let plan = self.session.part_plan(part);
        // A thread that fails stops the others, which is no signal.
        let stop = self.stop.child();
        let workload = self.session.part(part, data, self.began, &stop, beside);
        let options = RunOptions { threads: NonZeroUsize::MIN, stop, ..RunOptions::default() };
        if let Err(error) = run_workload(&plan, &workload, options) {
            return Err(self.failed(&error));
        }
        // What ended the load does not end what follows it.
        if let Some(ended) = self.asked_end().filter(|_| part == Part::Setup) {
            return Err(ended);
        }
        match workload.take_returned() {
            Some(Ok(json)) => Ok(json.map(Into::into)),
            Some(Err(error)) if matches!(error.fault, Fault::Thrown | Fault::Memory | Fault::System) => {
                Err(Ended::new(Exit::Exception, error.to_string()))
            }
            Some(Err(error)) if error.fault == Fault::Rejected => {
                // As k6, which has no code for it.
                Err(Ended::new(Exit::Other, error.to_string()))
            }
            Some(Err(error)) if error.fault == Fault::Aborted => {
                Err(self.asked_end().unwrap_or_else(|| Ended::new(Exit::Aborted, error.to_string())))
            }
            _ if self.stop.is_stopped() => Err(interrupted()),
            returned => Err(self.timed_out(part, returned.and_then(Result::err).as_ref())),
        }
    }

    /// The error is that of what computed, and says where.
    fn timed_out(&self, part: Part, error: Option<&ScriptError>) -> Ended {
        let (function, seconds) = (part.function(), self.session.timeout(part).as_secs_f64());
        let hint = match part {
            Part::Setup => "; the option `setupTimeout` gives it more",
            Part::Teardown => "; the option `teardownTimeout` gives it more",
            Part::Summary => "",
        };
        let place = error.and_then(ScriptError::place);
        let place = place.map(|place| format!("; it was at {place}")).unwrap_or_default();
        Ended::new(part.timeout_exit(), format!("{function}() did not end within {seconds} s{place}{hint}"))
    }

    fn load(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<ScriptWorkers<'_>>,
    ) -> (Option<ResultFile>, Ended) {
        let setup_data = self.control.now().setup_data;
        let made = match workers {
            None => self.load_here(plan, setup_data, options).map_err(SubjectError::from),
            Some(workers) => {
                let made = workers.run(self.session, plan, setup_data, self.told(plan, options));
                made.map_err(SubjectError::from)
            }
        };
        match made {
            Err(error) => (None, self.not_made(error)),
            Ok(result) => (Some(result), self.asked_end().unwrap_or(Ended::DONE)),
        }
    }

    /// The users of the options' share.
    fn load_here(
        &self,
        plan: &Plan,
        setup_data: Returned,
        options: RunOptions,
    ) -> Result<ResultFile, RunError> {
        let options = self.told(plan, options);
        let workload = self.session.iterations(plan, setup_data, self.began, &options.stop);
        run_workload(plan, &workload, options)
    }

    /// The options of a load that tells of itself.
    fn told(&self, plan: &Plan, options: RunOptions) -> RunOptions {
        let users = options.share.users(0, plan.users());
        self.session.measure.prepare_load(users);
        // A threshold ends this load; whoever gave the flag may go on with another.
        let stop = options.stop.child();
        let (measure, mut tell) = (Arc::clone(&self.session.measure), options.progress);
        let (executed_before, executed) = (self.executed.get(), Rc::clone(&self.executed));
        let control = Arc::clone(self.control);
        let progress = Box::new(move |progress: &Progress| {
            executed.set(executed_before.plus(progress.elapsed));
            control.set_executed(executed.get(), !progress.is_last);
            control.set_users(progress.last.users, users);
            // Once it is over there are no users, which says nothing of the load.
            if !progress.is_last {
                measure.second(progress.elapsed, progress.last.users, users);
            }
            measure.dropped(progress.elapsed, &progress.dropped_of);
            tell(progress);
        });
        let (measure, life_began) = (Arc::clone(&self.session.measure), self.began.0);
        let (control, begins) = (Arc::clone(self.control), options.begins);
        let begins = Box::new(move |epoch: Instant| {
            control.set_executed(executed_before, true);
            let since_begin = epoch.saturating_duration_since(life_began).as_nanos();
            let since_begin = Nanos(u64::try_from(since_begin).unwrap_or(u64::MAX));
            measure.begin(PartTimes { since_begin, executed: executed_before });
            begins(epoch);
        });
        RunOptions { begins, progress, stop, ..options }
    }

    /// Init code that a signal has ended, or that asked for the end itself, has not thrown.
    fn failed(&self, error: &RunError) -> Ended {
        match error {
            RunError::Program(_) if self.stop.is_stopped() => interrupted(),
            RunError::Program(_) => self.asked_end().unwrap_or_else(|| failed(error)),
            error => failed(error),
        }
    }

    /// The load cannot be made here, or by workers.
    fn not_made(&self, error: SubjectError) -> Ended {
        let ended = match &error {
            SubjectError::Run(error) => self.failed(error),
            SubjectError::Workers(_) if self.stop.is_stopped() => interrupted(),
            SubjectError::Workers(error) => Ended::new(exit_of_workers(error), error.to_string()),
        };
        if !matches!(ended.exit, Exit::Interrupted | Exit::Aborted) {
            self.failure.replace(Some(error));
        }
        ended
    }

    /// Where the script or a threshold asked for the end.
    fn asked_end(&self) -> Option<Ended> {
        match self.session.measure.script_end() {
            Some(RunEnd::Aborted(message)) => return Some(Ended::new(Exit::Aborted, message)),
            Some(RunEnd::Memory(message)) => return Some(Ended::new(Exit::Exception, message)),
            None => {}
        }
        let verdict = self.session.measure.abort_verdict()?;
        Some(Ended::new(Exit::Thresholds, verdict.to_string()))
    }
}

fn interrupted() -> Ended {
    Ended::new(Exit::Interrupted, "the run was interrupted by a signal")
}

/// As [`failed`] has it on one machine.
const fn exit_of_workers(error: &WorkersError) -> Exit {
    let WorkersError::Worker { cause, .. } = error else { return Exit::Other };
    match cause {
        FailureCause::Program => Exit::Exception,
        FailureCause::Settings => Exit::Configuration,
        FailureCause::Limit | FailureCause::Load => Exit::Timeout,
        FailureCause::Other => Exit::Other,
    }
}

/// A program that cannot go on has thrown in its init code.
fn failed(error: &RunError) -> Ended {
    let exit = if matches!(error, RunError::Program(_) | RunError::Request(_)) {
        Exit::Exception
    } else if error.is_of_settings() {
        Exit::Configuration
    } else {
        Exit::Timeout
    };
    Ended::new(exit, error.to_string())
}
