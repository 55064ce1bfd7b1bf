//! One iteration on its stack: the call of the exported function, and the loop of events that it leaves behind.

#![expect(unsafe_code, reason = "contexts are entered on stacks of their own")]

use super::context::{RawContext, drain_jobs};
use super::error::{Phase, ScriptError};
use super::fiber::Switch;
use super::raw::{bytes_of, take_backtrace, throw_uncatchable};
use super::text::text_of;
use super::waits::{Awaited, Heard};
use crate::host::{Cut, Host};
use crate::modules::execution;
use crate::vm::error::thrown;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::function::This;
use rquickjs::{Ctx, Function, IntoJs as _, Object, Persistent, Value, qjs};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// What came of an iteration: what the function returned, as JSON where that was asked for.
pub type Ended = Result<Option<String>, ScriptError>;

/// What is called.
#[derive(Debug, Clone)]
pub struct Call {
    pub phase: Phase,
    /// The name of the export.
    pub function: Arc<str>,
    /// The argument as JSON; parsed once for each user, whatever later calls bring.
    pub argument: Option<Arc<str>>,
    /// Whether the result is wanted.
    pub returns: bool,
}

pub(super) struct Iteration {
    pub(super) host: Rc<Host>,
    pub(super) switch: Rc<Switch>,
    pub(super) runtime: NonNull<qjs::JSRuntime>,
    pub(super) context: RawContext,
    pub(super) cache: Rc<RefCell<Cache>>,
}

/// What a user's iterations have in common.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Exported functions that were called.
    functions: Vec<(Arc<str>, Persistent<Function<'static>>)>,
    /// The argument, parsed: as in k6 one object, which iterations may change for the next.
    argument: Option<Persistent<Value<'static>>>,
}

impl Iteration {
    /// Runs on the user's stack. Nothing of the iteration is left when it returns.
    pub(super) fn run(&self, exports: Persistent<Object<'static>>, call: &Call) -> Ended {
        // SAFETY: the context outlives its iterations; its values stay in this call.
        let ctx = unsafe { self.context.ctx() };
        self.host.is_interruptible.set(true);
        let work = AssertUnwindSafe(|| self.work(&ctx, exports, call));
        let ended = catch_unwind(work).unwrap_or_else(|_| {
            Err(ScriptError::system(call.phase, "a native function of Prony panicked; please report it"))
        });
        self.finish();
        ended
    }

    fn work(&self, ctx: &Ctx<'_>, exports: Persistent<Object<'static>>, call: &Call) -> Ended {
        if call.phase == Phase::Iteration {
            execution::begin_iteration(&self.host);
        }
        let failed = |error: &rquickjs::Error| thrown::caught(&self.host, ctx, error);
        let function = self.function(ctx, exports, &call.function).map_err(|error| failed(&error))?;
        let Some(function) = function else {
            let message = format!("the script exports no function `{}`", call.function);
            return Err(ScriptError::thrown(call.phase, message));
        };
        let iteration = self.host.user().iteration;
        ctx.globals().set("__ITER", iteration as f64).map_err(|error| failed(&error))?;
        let returned = self.call(ctx, &function, call).map_err(|error| failed(&error))?;
        self.handle_events(ctx)?;
        if !call.returns {
            return Ok(None);
        }
        let result = match call.phase {
            Phase::Summary => summary(returned),
            _ => json(ctx, returned),
        };
        result.map_err(|error| failed(&error))
    }

    fn function<'js>(
        &self,
        ctx: &Ctx<'js>,
        exports: Persistent<Object<'static>>,
        name: &Arc<str>,
    ) -> rquickjs::Result<Option<Function<'js>>> {
        let known = {
            let cache = self.cache.borrow();
            cache.functions.iter().find(|(known, _)| known == name).map(|(_, function)| function.clone())
        };
        if let Some(function) = known {
            return function.restore(ctx).map(Some);
        }
        let value: Value<'js> = exports.restore(ctx)?.get(&**name)?;
        let Some(function) = value.into_function() else { return Ok(None) };
        let saved = Persistent::save(ctx, function.clone());
        self.cache.borrow_mut().functions.push((Arc::clone(name), saved));
        Ok(Some(function))
    }

    fn call<'js>(
        &self,
        ctx: &Ctx<'js>,
        function: &Function<'js>,
        call: &Call,
    ) -> rquickjs::Result<Value<'js>> {
        let Some(json) = &call.argument else { return function.call((Value::new_undefined(ctx.clone()),)) };
        let known = self.cache.borrow().argument.clone();
        let argument = if let Some(argument) = known {
            argument.restore(ctx)?
        } else {
            let argument = ctx.json_parse(json.as_bytes())?;
            self.cache.borrow_mut().argument = Some(Persistent::save(ctx, argument.clone()));
            argument
        };
        function.call((argument,))
    }

    /// Until nothing is open any more.
    fn handle_events(&self, ctx: &Ctx<'_>) -> Result<(), ScriptError> {
        loop {
            // SAFETY: JavaScript may run: this is beneath the anchor, on the user's stack.
            unsafe { drain_jobs(self.runtime, &self.host) };
            if let Some(error) = thrown::unhandled(&self.host, ctx) {
                return Err(error);
            }
            // Of what a promise's reaction has taken.
            drop(take_backtrace(ctx));
            if self.host.cut.get().is_some() {
                let error = throw_uncatchable(ctx, "interrupted");
                return Err(thrown::caught(&self.host, ctx, &error));
            }
            if self.host.user().waits.front().is_some() {
                self.deliver(ctx).map_err(|error| thrown::caught(&self.host, ctx, &error))?;
            } else if self.host.user().callbacks.is_empty() {
                return Ok(());
            } else {
                // A request that the script did not wait for has left word of itself.
                self.host.user().waits.awaited = Awaited::Anything;
                self.switch.suspend();
            }
        }
    }

    /// Calls what was registered for the first arrival; one that nobody wants is dropped.
    fn deliver(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let (id, callback) = {
            let mut user = self.host.user();
            let Some((id, heard)) = user.waits.front() else { return Ok(()) };
            let (is_last, is_due) = (heard.is_last(), matches!(heard, Heard::Due));
            let callback =
                if is_last { user.callbacks.remove(&id) } else { user.callbacks.get(&id).cloned() };
            if callback.is_none() || is_due {
                user.waits.drop_front();
            } else {
                user.waits.hand_front();
            }
            (id, callback)
        };
        let Some(callback) = callback else { return Ok(()) };
        let result = callback.restore(ctx)?.call::<_, ()>((id,));
        self.host.user().waits.drop_handed();
        result
    }

    /// Lets go of what the iteration left, and of its jobs, which are not to run in another's time.
    fn finish(&self) {
        let callbacks = {
            let mut user = self.host.user();
            user.waits.clear();
            std::mem::take(&mut user.callbacks)
        };
        drop(callbacks);
        if self.host.cut.get().is_none() {
            self.host.cut.set(Some(Cut::Asked));
        }
        // SAFETY: as in `handle_events`. Calls that park find the iteration cut.
        unsafe { drain_jobs(self.runtime, &self.host) };
        thrown::forget(&self.host);
        let mut user = self.host.user();
        user.waits.clear();
        let callbacks = std::mem::take(&mut user.callbacks);
        drop(user);
        drop(callbacks);
    }
}

/// What a function returned, or its promise came to, as JSON; none where that is undefined or has no JSON.
fn json<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Option<String>> {
    let Some(value) = settled(value)?.filter(|value| !value.is_undefined()) else { return Ok(None) };
    let replacer = Function::new(ctx.clone(), as_go_writes)?;
    ctx.json_stringify_replacer(value, replacer)?.map(|text| text.to_string()).transpose()
}

/// What stands for a member in the JSON of `setup()`'s data, which Go writes in k6: a date without needless digits, null
/// for what is undefined.
#[expect(clippy::needless_pass_by_value, reason = "functions of JavaScript own their arguments")]
fn as_go_writes<'js>(
    holder: This<Object<'js>>,
    key: Value<'js>,
    value: Value<'js>,
) -> rquickjs::Result<Value<'js>> {
    let ctx = value.ctx();
    if value.is_undefined() {
        return Ok(Value::new_null(ctx.clone()));
    }
    let Some(text) = value.as_string() else { return Ok(value) };
    let member: Value<'js> = holder.0.get(key)?;
    let date: Object<'js> = ctx.globals().get("Date")?;
    if !member.as_object().is_some_and(|member| member.is_instance_of(&date)) {
        return Ok(value);
    }
    let text = text.to_string()?;
    let seconds = text.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
    let whole = text.split('.').next().unwrap_or_default();
    let shown = if seconds.len() > whole.len() { seconds } else { whole };
    format!("{shown}Z").into_js(ctx)
}

/// What `handleSummary` returned: an object whose texts stay texts and whose bytes are `{"base64": "…"}`. Null stands for
/// what cannot be, as a whole or at its place: no object, and neither text nor bytes.
fn summary(value: Value<'_>) -> rquickjs::Result<Option<String>> {
    let value = settled(value)?.filter(|value| !value.is_null() && !value.is_undefined());
    let Some(value) = value else { return Ok(None) };
    let is_table = value.is_object() && !value.is_array() && !value.is_function();
    let Some(object) = value.into_object().filter(|_| is_table) else { return Ok(Some("null".to_owned())) };
    let mut files = serde_json::Map::new();
    for property in object.props::<String, Value<'_>>() {
        let (name, content) = property?;
        let content = match bytes_of(&content) {
            Some(bytes) => serde_json::json!({ "base64": STANDARD.encode(bytes) }),
            None if content.is_null() || content.is_undefined() => continue,
            None if content.is_string() => text_of(&content.ctx().clone(), content)?.into(),
            None => serde_json::Value::Null,
        };
        files.insert(name, content);
    }
    Ok(Some(serde_json::Value::Object(files).to_string()))
}

/// The value itself, or what its promise came to; none where that did not settle.
fn settled(value: Value<'_>) -> rquickjs::Result<Option<Value<'_>>> {
    match value.as_promise() {
        Some(promise) => promise.result().transpose(),
        None => Ok(Some(value)),
    }
}
