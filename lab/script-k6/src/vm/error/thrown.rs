//! From what JavaScript threw to a [`ScriptError`] with the places that the author knows.

use crate::host::{Cut, Host, Rejection};
use crate::vm::error::{Fault, Frame, Phase, Place, ScriptError, frames};
use crate::vm::memory::Shortage;
use crate::vm::raw::take_backtrace;
use crate::vm::text;
use rquickjs::function::Constructor;
use rquickjs::{Ctx, Error, IntoJs as _, Object, Value};
use std::fmt::Write as _;

/// The name of the function beneath all frames.
pub(crate) const ANCHOR: &str = "prony";

/// The name beneath which errors have what QuickJS keeps of where they were made. It is no name that a script would use.
pub(crate) const KEPT_STACK: &str = "prony:stack";

/// The error of a call that failed. Whatever is pending in the context is taken.
pub(crate) fn caught(host: &Host, ctx: &Ctx<'_>, error: &Error) -> ScriptError {
    if matches!(error, Error::Exception) {
        let value = ctx.catch();
        return of_value(host, ctx, &value);
    }
    ScriptError::thrown(host.phase(), error.to_string())
}

/// The first of the promises that were rejected and that nobody handles, or what a job threw.
pub(crate) fn unhandled(host: &Host, ctx: &Ctx<'_>) -> Option<ScriptError> {
    let (job_error, rejections) = {
        let mut user = host.user();
        if user.job_error.is_none() && user.rejections.is_empty() {
            return None;
        }
        (user.job_error.take(), std::mem::take(&mut user.rejections))
    };
    if let Some(value) = job_error.and_then(|value| value.restore(ctx).ok()) {
        return Some(of_value(host, ctx, &value));
    }
    let Rejection { reason, backtrace, .. } = rejections.into_iter().next()?;
    let value = reason.restore(ctx).ok()?;
    let mut error = of_value(host, ctx, &value);
    if error.stack.is_empty() {
        error.stack = backtrace.map(|text| stack_of(host, &text)).unwrap_or_default();
    }
    if error.fault == Fault::Thrown {
        error.fault = Fault::Rejected;
        error.message = format!("Uncaught (in promise) {}", error.message);
    }
    Some(error)
}

/// Lets go of rejected promises without a word.
pub(crate) fn forget(host: &Host) {
    let left = {
        let mut user = host.user();
        (user.job_error.take(), std::mem::take(&mut user.rejections))
    };
    drop(left);
}

fn of_value(host: &Host, ctx: &Ctx<'_>, value: &Value<'_>) -> ScriptError {
    let backtrace = take_backtrace(ctx);
    let cut = host.cut_backtrace.take().map(|text| stack_of(host, &text)).unwrap_or_default();
    let own = value.as_object().and_then(kept_stack);
    let stack = own.or(backtrace).map(|text| stack_of(host, &text)).unwrap_or_default();
    // QuickJS asks where a loop begins anew, and names the place before it; the last call was within.
    let line = |stack: &[Frame]| stack.first().and_then(|frame| Some(frame.place.as_ref()?.line));
    let stack = if line(&cut) > line(&stack) { cut } else { stack };
    let (fault, message) = match host.cut.get() {
        // The piece that was refused may have been an exception's; what follows from it would only confuse.
        _ if host.memory.is_short() => (Fault::Memory, memory_message(host)),
        None => (Fault::Thrown, text_of(ctx, value)),
        Some(Cut::Memory) => (Fault::Memory, memory_message(host)),
        Some(Cut::Interrupted) => (Fault::Interrupted, "the iteration was interrupted".to_owned()),
        Some(Cut::Asked) => (Fault::Aborted, "the iteration was ended by the script".to_owned()),
    };
    ScriptError { phase: host.phase(), fault, message, stack }
}

/// There is no memory for something that no script asked for.
pub(crate) fn no_memory(host: &Host, phase: Phase) -> ScriptError {
    ScriptError { phase, fault: Fault::Memory, message: memory_message(host), stack: Vec::new() }
}

fn memory_message(host: &Host) -> String {
    let limits = host.memory.limits();
    if host.memory.shortage() == Some(Shortage::User) {
        let who = match host.phase() {
            Phase::Init => "the init code".to_owned(),
            Phase::Setup => "setup()".to_owned(),
            Phase::Teardown => "teardown()".to_owned(),
            Phase::Summary => "handleSummary()".to_owned(),
            Phase::Iteration => format!("user {}", host.user().vu),
        };
        let limit = limits.user_memory_bytes >> 20;
        return format!(
            "{who} has taken all of the {limit} MiB of memory that one user may have; keep less, or give more with --user-memory-limit"
        );
    }
    let limit = limits.memory_bytes >> 20;
    format!(
        "the users have taken all of the {limit} MiB of memory that there is for all of them together; keep less, run fewer users, or give more with --memory-limit"
    )
}

/// As JavaScript writes it; for an error its name and message.
fn text_of(ctx: &Ctx<'_>, value: &Value<'_>) -> String {
    if let Ok(text) = text::text_of(value.ctx(), value.clone()) {
        return text;
    }
    drop(ctx.catch());
    "something was thrown that cannot be written as text".to_owned()
}

/// Where the JavaScript is that runs: the innermost place in a file of the script.
pub(crate) fn running_place(host: &Host, ctx: &Ctx<'_>) -> Option<String> {
    let stack = running_backtrace(ctx)?;
    let is_file = |frame: &Frame| frame.place.as_ref().is_some_and(|place| !is_built_in(host, place));
    stack_of(host, &stack).into_iter().find(is_file).map(|frame| frame.to_string())
}

/// Where the JavaScript is that runs, as QuickJS writes it.
pub(crate) fn running_backtrace(ctx: &Ctx<'_>) -> Option<String> {
    let error = ctx.globals().get::<_, Constructor<'_>>("Error");
    let error = error.and_then(|error| error.construct::<_, Object<'_>>(()));
    let error = error.inspect_err(|_| drop(ctx.catch())).ok()?;
    kept_stack(&error)
}

/// What QuickJS keeps of where an error was made; of what is no error, what a script has given it.
fn kept_stack(error: &Object<'_>) -> Option<String> {
    error.get::<_, String>(KEPT_STACK).or_else(|_| error.get("stack")).ok()
}

/// The `stack` of an error as k6 has it: what it says, and a line for each place. What a script's `Error.prepareStackTrace` has made stays as
/// it is; undefined of what is no error.
pub(crate) fn written_stack<'js>(host: &Host, error: &Object<'js>) -> rquickjs::Result<Value<'js>> {
    let kept: Value<'js> = error.get(KEPT_STACK)?;
    if !kept.is_string() {
        return Ok(kept);
    }
    let kept = text::text_of(error.ctx(), kept)?;
    let part = |name: &str| text::text_of(error.ctx(), error.get(name)?);
    let mut written = match (part("name")?, part("message")?) {
        (name, message) if message.is_empty() => name,
        (name, message) if name.is_empty() => message,
        (name, message) => format!("{name}: {message}"),
    };
    written.push('\n');
    for frame in stack_of(host, &kept) {
        writeln!(written, "\tat {frame}").expect("texts take everything that is written");
    }
    written.into_js(error.ctx())
}

fn is_built_in(host: &Host, place: &Place) -> bool {
    host.script.builtins.module(&place.file).is_some()
}

/// The places of the author's that a text of QuickJS's names.
fn stack_of(host: &Host, text: &str) -> Vec<Frame> {
    let mut stack = frames(text);
    stack.retain(|frame| frame.place.is_some() || frame.function != ANCHOR);
    for frame in &mut stack {
        if let Some(place) = frame.place.take() {
            frame.place =
                Some(if is_built_in(host, &place) { place } else { host.script.modules.author_place(place) });
        }
    }
    stack
}
