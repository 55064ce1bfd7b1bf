//! `setTimeout` and its like, global and in `k6/timers`. Callbacks run in the loop of events at an iteration's end, those
//! of init code at the end of the user's first.

use super::binding::go_error;
use crate::host::{Host, host_of};
use crate::vm::{Builtin, Native};
use prony_model::units::Nanos;
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Exception, Function, Object, Value};

pub(super) const MODULE: Builtin = Builtin {
    specifier: "k6/timers",
    text: "export const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;\n\
           export default { setTimeout, clearTimeout, setInterval, clearInterval };\n",
};
pub(super) const GLOBAL_MODULE: Builtin =
    Builtin { specifier: "prony/timers", text: include_str!("timers.js") };
pub(super) const NATIVE: Native = Native { name: "prony:timers", install };

/// Longer ones are as long as this: a year.
const DELAY_MAX_MS: f64 = 365.0 * 86_400_000.0;

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("start", Function::new(ctx.clone(), start)?)?;
    exports.set("again", Function::new(ctx.clone(), again)?)?;
    exports.set("stop", Function::new(ctx.clone(), stop)?)?;
    exports.set("check", Function::new(ctx.clone(), check)?)
}

/// Throws where a timer's callback is no function.
fn check<'js>(ctx: Ctx<'js>, name: String, callback: Value<'js>) -> rquickjs::Result<()> {
    if callback.is_undefined() || callback.is_null() {
        return Err(go_error(&ctx, &format!("{name}'s callback isn't a callable function")));
    }
    if !callback.is_function() {
        return Err(Exception::throw_type(&ctx, &format!("{name}'s callback isn't a callable function")));
    }
    Ok(())
}

fn start<'js>(ctx: Ctx<'js>, callback: Function<'js>, delay_ms: Opt<Coerced<f64>>) -> f64 {
    let host = host_of(&ctx);
    let due = due(&host, delay_ms);
    let id = host.user().waits.start_timer(due);
    host.on_news(&ctx, id, callback);
    id as f64
}

/// Starts a timer that is over once more, under the same number.
fn again<'js>(ctx: Ctx<'js>, id: f64, callback: Function<'js>, delay_ms: Opt<Coerced<f64>>) {
    let host = host_of(&ctx);
    let due = due(&host, delay_ms);
    host.user().waits.restart_timer(id as u64, due);
    host.on_news(&ctx, id as u64, callback);
}

fn stop(ctx: Ctx<'_>, id: Opt<Coerced<f64>>) {
    let Some(id) = id.0.map(|id| id.0).filter(|id| *id >= 1.0) else { return };
    let host = host_of(&ctx);
    host.user().waits.stop_timer(id as u64);
    host.off_news(id as u64);
}

fn due(host: &Host, delay_ms: Opt<Coerced<f64>>) -> Nanos {
    // Go's k6 counts a delay below a millisecond as one.
    let delay_ms = delay_ms.0.map_or(0.0, |delay| delay.0);
    let delay_ms = if delay_ms.is_nan() { 1.0 } else { delay_ms.clamp(1.0, DELAY_MAX_MS) };
    host.now().plus(Nanos::from_secs_f64(delay_ms / 1e3))
}
