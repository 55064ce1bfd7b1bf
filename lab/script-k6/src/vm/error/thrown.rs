//! From what JavaScript threw to a [`ScriptError`] with the places that the author knows.

use crate::host::{Cut, Host};
use crate::vm::error::{Fault, Frame, ScriptError, frames};
use rquickjs::{Coerced, Ctx, Error, Value};

/// The name of the function beneath all frames.
pub(crate) const ANCHOR: &str = "prony";

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
    let (_, reason) = rejections.into_iter().next()?;
    let value = reason.restore(ctx).ok()?;
    let mut error = of_value(host, ctx, &value);
    if error.fault == Fault::Thrown {
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
    let stack = stack_of(host, value);
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

fn memory_message(host: &Host) -> String {
    let limit = host.memory.limit() >> 20;
    format!(
        "the scripts of one thread have taken all of the {limit} MiB that there are for them; keep less, or run fewer users"
    )
}

/// As JavaScript writes it; for an error its name and message.
fn text_of(ctx: &Ctx<'_>, value: &Value<'_>) -> String {
    if let Ok(text) = value.get::<Coerced<String>>() {
        return text.0;
    }
    drop(ctx.catch());
    "something was thrown that cannot be written as text".to_owned()
}

fn stack_of(host: &Host, value: &Value<'_>) -> Vec<Frame> {
    let Some(stack) = value.as_object().and_then(|object| object.get::<_, String>("stack").ok()) else {
        return Vec::new();
    };
    let mut stack = frames(&stack);
    stack.retain(|frame| frame.place.is_some() || frame.function != ANCHOR);
    for frame in &mut stack {
        if let Some(place) = frame.place.take() {
            let is_ours = host.script.builtins.module(&place.file).is_some();
            frame.place = Some(if is_ours { place } else { host.script.modules.author_place(place) });
        }
    }
    stack
}
