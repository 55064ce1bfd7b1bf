//! `prony:vm`: parking, `sleep` and `open`.

#![expect(unsafe_code, reason = "a C function becomes a function of scripts")]
#![expect(clippy::needless_pass_by_value, reason = "native functions are given their arguments")]

use crate::host::host_of;
use crate::vm::builtin::Native;
use crate::vm::context::globals::need_buffers;
use crate::vm::evaluation::evaluated_module;
use crate::vm::fiber::park_function;
use crate::vm::raw::{owned, throw_uncatchable};
use prony_model::units::Nanos;
use rquickjs::function::Opt;
use rquickjs::{
    ArrayBuffer, Coerced, Ctx, Exception, Function, IntoJs as _, Object, String as JsString, Value,
};

pub(crate) const VM: &str = "prony:vm";
/// Longer sleeps are as long as this: a year.
const SLEEP_MAX_SECONDS: f64 = 365.0 * 86_400.0;

pub(crate) const NATIVES: &[Native] = &[Native { name: VM, install }];

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    // SAFETY: natives are made in the base context, whose opaque pointer is the switch; the value is a new one.
    let park = unsafe { owned(ctx, park_function(ctx.as_raw())) };
    exports.set("park", park)?;
    exports.set("unwind", Function::new(ctx.clone(), unwind)?)?;
    exports.set("sleep", Function::new(ctx.clone(), sleep)?)?;
    exports.set("open", Function::new(ctx.clone(), open)?.with_name("open")?)
}

/// Ends an iteration that is cut.
fn unwind(ctx: Ctx<'_>) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    host.require_running(&ctx, "a call that waits")?;
    Err(throw_uncatchable(&ctx, "interrupted"))
}

fn sleep(ctx: Ctx<'_>, seconds: Opt<Coerced<f64>>) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    host.require_running(&ctx, "sleep")?;
    let seconds = seconds.0.map_or(0.0, |seconds| seconds.0);
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, SLEEP_MAX_SECONDS) };
    let due = host.now().plus(Nanos::from_secs_f64(seconds));
    let mut user = host.user();
    let timer = user.waits.start_timer(due);
    user.waits.await_one(timer);
    Ok(())
}

fn open(ctx: Ctx<'_>, path: Coerced<String>, mode: Opt<String>) -> rquickjs::Result<Value<'_>> {
    let host = host_of(&ctx);
    host.require_init(&ctx, "open()")?;
    let script = &host.script;
    let bytes = script.modules.file(&evaluated_module(&ctx), &path.0);
    let bytes = bytes.map_err(|message| Exception::throw_message(&ctx, &message))?;
    if mode.0.as_deref() == Some("b") {
        need_buffers(&ctx)?;
        return ArrayBuffer::new_copy(ctx.clone(), &bytes[..])?.into_js(&ctx);
    }
    JsString::from_str(ctx.clone(), &String::from_utf8_lossy(&bytes))?.into_js(&ctx)
}
