//! JavaScript of a plan: JSR223 elements and `__javaScript`, on one QuickJS runtime a thread.
//!
//! Each script is evaluated in a function of its own, so that its variables are gone with it, as JMeter's bindings are. It
//! sees `vars`, `props`, `log`, `prev`, `ctx` and, where its element has one, `SampleResult`, `AssertionResult`, `sampler`.

use crate::run::result::SampleResult;
use crate::run::shared::{Shared, Variables};
use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt as _, CaughtError, Context, Ctx, Function, Runtime};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory of the scripts of one thread.
const MEMORY_BYTES_MAX: usize = 256 << 20;
/// One script runs while nothing else on its thread does.
const SCRIPT_TIME_MAX: Duration = Duration::from_secs(10);

const PRELUDE: &str = include_str!("js/prelude.js");

/// One thread's runtime, made when a script first runs.
#[derive(Default)]
pub(crate) struct Engine {
    made: std::cell::OnceCell<ThreadRuntime>,
}

struct ThreadRuntime {
    context: Context,
    bridge: Rc<RefCell<Bridge>>,
    deadline: Rc<Cell<Instant>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// What a script is evaluated with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) thread_number: u32,
    pub(crate) thread_name: Arc<str>,
    pub(crate) group: Arc<str>,
    /// The name of the element.
    pub(crate) label: String,
    pub(crate) parameters: String,
    pub(crate) sampler: String,
    pub(crate) previous: Option<Arc<SampleResult>>,
}

/// What a script has changed of the sample or of the assertion's result, in its order.
pub(crate) type Changes = Vec<(String, String)>;

/// What the functions of [`PRELUDE`] reach while a script is evaluated.
#[derive(Debug)]
struct Bridge {
    vars: Variables,
    shared: Option<Arc<Shared>>,
    facts: Facts,
    changes: Changes,
}

impl Engine {
    /// The value of the last expression as a text, or what went wrong.
    pub(crate) fn evaluate(
        &self,
        source: &str,
        facts: Facts,
        vars: &mut Variables,
        shared: &Arc<Shared>,
    ) -> (Result<String, String>, Changes) {
        let made = match self.made() {
            Ok(made) => made,
            Err(error) => return (Err(error.to_string()), Changes::new()),
        };
        *made.bridge.borrow_mut() = Bridge {
            vars: std::mem::take(vars),
            shared: Some(Arc::clone(shared)),
            facts,
            changes: Changes::new(),
        };
        made.deadline.set(Instant::now() + SCRIPT_TIME_MAX);
        let value = made.context.with(|ctx| run(&ctx, source));
        let mut bridge = made.bridge.borrow_mut();
        *vars = std::mem::take(&mut bridge.vars);
        (value, std::mem::take(&mut bridge.changes))
    }

    fn made(&self) -> rquickjs::Result<&ThreadRuntime> {
        if self.made.get().is_none() {
            let _ = self.made.set(ThreadRuntime::new()?);
        }
        Ok(self.made.get().expect("it was set where it was not there"))
    }
}

/// Whether a script can be read at all; the message says where not.
pub(crate) fn check(source: &str) -> Result<(), String> {
    let made = ThreadRuntime::new().map_err(|error| error.to_string())?;
    made.context.with(|ctx| {
        let check: Function<'_> = ctx.globals().get("__check").map_err(|error| error.to_string())?;
        check.call::<_, ()>((source,)).catch(&ctx).map_err(|error| message(&error))
    })
}

fn run(ctx: &Ctx<'_>, source: &str) -> Result<String, String> {
    let run: Function<'_> = ctx.globals().get("__run").map_err(|error| error.to_string())?;
    run.call::<_, String>((source,)).catch(ctx).map_err(|error| message(&error))
}

fn message(error: &CaughtError<'_>) -> String {
    match error {
        CaughtError::Exception(exception) => {
            let stack = exception.stack().unwrap_or_default();
            let place = stack.lines().find_map(|line| line.split_once("<input>:").map(|(_, at)| at));
            let place =
                place.map(|at| format!(" at line {}", at.split([':', ')']).next().unwrap_or_default()));
            format!("{}{}", exception.message().unwrap_or_default(), place.unwrap_or_default())
        }
        CaughtError::Value(value) => format!("{value:?}"),
        CaughtError::Error(error) => error.to_string(),
    }
}

impl ThreadRuntime {
    fn new() -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(MEMORY_BYTES_MAX);
        let deadline = Rc::new(Cell::new(Instant::now() + SCRIPT_TIME_MAX));
        let limit = Rc::clone(&deadline);
        runtime.set_interrupt_handler(Some(Box::new(move || Instant::now() > limit.get())));
        let context = Context::full(&runtime)?;
        let bridge = Rc::new(RefCell::new(Bridge {
            vars: Variables::default(),
            shared: None,
            facts: Facts::default(),
            changes: Changes::new(),
        }));
        context.with(|ctx| {
            define(&ctx, &bridge)?;
            let mut options = EvalOptions::default();
            options.strict = false;
            ctx.eval_with_options::<(), _>(PRELUDE, options)
        })?;
        Ok(Self { context, bridge, deadline })
    }
}

/// The functions that the prelude's objects are made of.
fn define(ctx: &Ctx<'_>, bridge: &Rc<RefCell<Bridge>>) -> rquickjs::Result<()> {
    let globals = ctx.globals();
    let b = Rc::clone(bridge);
    let get = move |name: String| b.borrow().vars.get(&name).map(str::to_owned);
    globals.set("__get", Function::new(ctx.clone(), get)?)?;
    let b = Rc::clone(bridge);
    let put = move |name: String, value: Option<String>| match value {
        Some(value) => b.borrow_mut().vars.set(&name, &value),
        None => b.borrow_mut().vars.remove(&name),
    };
    globals.set("__put", Function::new(ctx.clone(), put)?)?;
    let b = Rc::clone(bridge);
    let property =
        move |name: String| b.borrow().shared.as_ref().and_then(|shared| shared.properties.get(&name));
    globals.set("__property", Function::new(ctx.clone(), property)?)?;
    let b = Rc::clone(bridge);
    let set_property = move |name: String, value: String| {
        b.borrow().shared.as_ref().and_then(|shared| shared.properties.set(&name, &value))
    };
    globals.set("__setProperty", Function::new(ctx.clone(), set_property)?)?;
    let b = Rc::clone(bridge);
    let log = move |line: String| {
        if let Some(shared) = &b.borrow().shared {
            shared.log(&line);
        }
    };
    globals.set("__log", Function::new(ctx.clone(), log)?)?;
    let b = Rc::clone(bridge);
    let fact = move |name: String| fact(&b.borrow(), &name);
    globals.set("__fact", Function::new(ctx.clone(), fact)?)?;
    let b = Rc::clone(bridge);
    let change = move |name: String, value: String| b.borrow_mut().changes.push((name, value));
    globals.set("__change", Function::new(ctx.clone(), change)?)?;
    Ok(())
}

/// Something that a script asks for by name.
fn fact(bridge: &Bridge, name: &str) -> Option<String> {
    let facts = &bridge.facts;
    match name {
        "threadNumber" => return Some(facts.thread_number.to_string()),
        "threadName" => return Some(facts.thread_name.to_string()),
        "group" => return Some(facts.group.to_string()),
        "label" => return Some(facts.label.clone()),
        "parameters" => return Some(facts.parameters.clone()),
        "sampler" => return Some(facts.sampler.clone()),
        _ => {}
    }
    let previous = facts.previous.as_ref()?;
    Some(match name {
        "prev" => "true".to_owned(),
        "data" => previous.body_text().into_owned(),
        "code" => previous.code.to_string(),
        "message" => previous.message.to_string(),
        "success" => previous.is_success.to_string(),
        "time" => previous.elapsed_ms().to_string(),
        "latency" => previous.latency_ms().to_string(),
        "connect" => previous.connect_ms().to_string(),
        "bytes" => previous.bytes.to_string(),
        "name" => previous.label.to_string(),
        "url" => previous.url.as_deref().unwrap_or_default().to_owned(),
        "responseHeaders" => previous.response_headers(),
        "requestHeaders" => previous.request_headers().into_owned(),
        "samplerData" => String::from_utf8_lossy(&previous.request_data()).into_owned(),
        "contentType" => previous.content_type(),
        _ => return None,
    })
}
