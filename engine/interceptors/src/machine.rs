//! One module on one thread: QuickJS with its functions, and calls of them within their time and memory.

use std::{
    cell::Cell,
    fmt,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use prony_source::interceptors::{InterceptorError, InterceptorLimits, InterceptorPhase, InterceptorResult};
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Error, Function, Module, Object, Persistent, Promise,
    Runtime, Value, function::Func,
};

use crate::{
    numbers::{large_as_texts, may_have_large, with_numbers},
    position::Place,
    program::Program,
};

/// What stands around the functions of a module.
const AROUND: &str = include_str!("around.js");
/// What a module may take to be evaluated, where its calls have less.
pub(crate) const LEAST_EVALUATION: Duration = Duration::from_secs(1);
/// What is said of what runs out of time.
pub(crate) const TOO_LONG: &str = "it took longer than it may";

/// The order of fields is the order in which they go.
pub(crate) struct Machine {
    run: Persistent<Function<'static>>,
    before: Option<Persistent<Function<'static>>>,
    after: Option<Persistent<Function<'static>>>,
    context: Context,
    clock: Rc<Clock>,
    program: Arc<Program>,
    timeout: Duration,
    _runtime: Runtime,
}

/// Until when JavaScript may run.
#[derive(Default)]
struct Clock {
    deadline: Cell<Option<Instant>>,
    has_expired: Cell<bool>,
}

impl Clock {
    fn start(&self, timeout: Duration) {
        self.has_expired.set(false);
        self.deadline.set(Some(Instant::now() + timeout));
    }

    /// What QuickJS asks again and again.
    fn is_over(&self) -> bool {
        let is_over = self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline);
        if is_over {
            self.has_expired.set(true);
        }
        is_over
    }
}

/// What has gone wrong in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleFault {
    pub(crate) message: String,
    /// In which of its files, and where in it.
    pub(crate) place: Option<(String, Place)>,
    /// Whether what the module has in memory is of no use any more.
    pub(crate) spoils: bool,
}

impl Machine {
    /// Evaluates a module.
    ///
    /// # Errors
    /// What it throws, and an export that is no function.
    pub(crate) fn new(program: &Arc<Program>, limits: &InterceptorLimits) -> Result<Self, ModuleFault> {
        let refused = |error: Error| fault(format!("JavaScript cannot be started: {error}"));
        let runtime = Runtime::new().map_err(refused)?;
        runtime.set_memory_limit(limits.memory_bytes);
        let clock = Rc::new(Clock::default());
        let asked = Rc::clone(&clock);
        runtime.set_interrupt_handler(Some(Box::new(move || asked.is_over())));
        let context = Context::full(&runtime).map_err(refused)?;
        clock.start(limits.timeout.max(LEAST_EVALUATION));
        let made =
            context.with(|ctx| evaluate(&ctx, program).map_err(|error| explained(&error, program, &clock)));
        let Functions { run, before, after } = made?;
        let (program, timeout) = (Arc::clone(program), limits.timeout);
        Ok(Self { run, before, after, context, clock, program, timeout, _runtime: runtime })
    }

    pub(crate) fn has(&self, phase: InterceptorPhase) -> bool {
        self.function(phase).is_some()
    }

    fn function(&self, phase: InterceptorPhase) -> Option<&Persistent<Function<'static>>> {
        match phase {
            InterceptorPhase::Before => self.before.as_ref(),
            InterceptorPhase::After => self.after.as_ref(),
        }
    }

    /// Calls a function for each value of a list; whether the module is of no use any more is the second.
    pub(crate) fn call(
        &self,
        phase: InterceptorPhase,
        values: Vec<u8>,
        context: Vec<u8>,
    ) -> (InterceptorResult, bool) {
        let name = phase.name();
        let Some(function) = self.function(phase) else {
            let text = format!("{}: it exports no `{name}`", self.program.name());
            return (Err(InterceptorError::Failed(text)), false);
        };
        let given = may_have_large(&values).then(|| values.clone());
        let (values, context) = (large_as_texts(values), large_as_texts(context));
        self.clock.start(self.timeout);
        let returned = self.context.with(|ctx| {
            let returned = self.run(&ctx, function, &values, &context);
            let returned = returned.catch(&ctx);
            returned.map_err(|error| explained(&error, &self.program, &self.clock))
        });
        // Within one of QuickJS's own functions nobody has asked for the time.
        let returned = match returned {
            Ok(_) if self.clock.is_over() => Err(fault(TOO_LONG.to_owned())),
            returned => returned,
        };
        match returned {
            Ok(text) => {
                let result = read(text, self.program.name());
                let result = result.map(|returned| match &given {
                    Some(given) => with_numbers(returned, given),
                    None => returned,
                });
                (result, false)
            }
            Err(fault) => (Err(InterceptorError::Failed(self.described(&fault, name))), fault.spoils),
        }
    }

    fn run<'js>(
        &self,
        ctx: &Ctx<'js>,
        function: &Persistent<Function<'static>>,
        values: &[u8],
        context: &[u8],
    ) -> rquickjs::Result<String> {
        let (run, function) = (self.run.clone().restore(ctx)?, function.clone().restore(ctx)?);
        let (values, context) = (std::str::from_utf8(values)?, std::str::from_utf8(context)?);
        let promise: Promise<'js> = run.call((function, values, context))?;
        promise.finish()
    }

    /// For the log: the place, the function, and what is wrong.
    fn described(&self, fault: &ModuleFault, function: &str) -> String {
        let at = match &fault.place {
            Some((file, Place { line, column })) => format!("{file}:{line}:{column}"),
            None => self.program.name().to_owned(),
        };
        format!("{at}: {function}: {}", fault.message)
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Machine").field("module", &self.program.name()).finish_non_exhaustive()
    }
}

struct Functions {
    run: Persistent<Function<'static>>,
    before: Option<Persistent<Function<'static>>>,
    after: Option<Persistent<Function<'static>>>,
}

fn evaluate<'js>(ctx: &Ctx<'js>, program: &Arc<Program>) -> Result<Functions, CaughtError<'js>> {
    let found = || {
        let name = program.name().to_owned();
        let around: Function<'js> = ctx.eval(AROUND)?;
        let log = Func::from(move |level: String, text: String| log(&name, &level, &text));
        let run: Function<'js> = around.call((log,))?;
        let (module, imported) = program.files.split_last().expect("a program has its module");
        for file in imported {
            Module::declare(ctx.clone(), file.name.as_str(), file.code.as_str())?;
        }
        let module = Module::declare(ctx.clone(), module.name.as_str(), module.code.as_str())?;
        let (module, evaluated) = module.eval()?;
        evaluated.finish::<()>()?;
        let exports: Object<'js> = module.namespace()?;
        let function = |name: &str| {
            let export: Value<'js> = exports.get(name)?;
            if export.is_undefined() {
                return Ok(None);
            }
            let Some(function) = export.into_function() else {
                let message = format!("`{name}` is exported and is no function");
                return Err(rquickjs::Exception::throw_type(ctx, &message));
            };
            Ok(Some(Persistent::save(ctx, function)))
        };
        let (before, after) = (function("before")?, function("after")?);
        if before.is_none() && after.is_none() {
            let message = "it exports neither a function `before` nor one `after`";
            return Err(rquickjs::Exception::throw_type(ctx, message));
        }
        Ok(Functions { run: Persistent::save(ctx, run), before, after })
    };
    found().catch(ctx)
}

/// What a function writes to `console`.
fn log(module: &str, level: &str, text: &str) {
    match level {
        "debug" => tracing::debug!(module, "{text}"),
        "warn" => tracing::warn!(module, "{text}"),
        "error" => tracing::error!(module, "{text}"),
        _ => tracing::info!(module, "{text}"),
    }
}

/// The results, behind `+`, or a refusal, behind `-`.
fn read(mut text: String, module: &str) -> InterceptorResult {
    let rest = text.split_off(1);
    if text == "+" {
        return Ok(rest.into_bytes());
    }
    let refusal: serde_json::Value = serde_json::from_str(&rest)
        .map_err(|error| InterceptorError::Failed(format!("{module}: {error}")))?;
    let member = |name: &str| refusal.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    Err(InterceptorError::Refused { message: member("message").unwrap_or_default(), code: member("code") })
}

fn fault(message: String) -> ModuleFault {
    ModuleFault { message, place: None, spoils: true }
}

fn explained(error: &CaughtError<'_>, program: &Program, clock: &Clock) -> ModuleFault {
    let stack = match error {
        CaughtError::Exception(exception) => exception.stack().unwrap_or_default(),
        _ => String::new(),
    };
    let place = stack.lines().find_map(|line| {
        let (file, place) = framed(line)?;
        let place = program.written(&file, place)?;
        Some((file, place))
    });
    if clock.has_expired.get() {
        return ModuleFault { message: TOO_LONG.to_owned(), place, spoils: true };
    }
    let message = match error {
        CaughtError::Exception(exception) => {
            let name: String = exception.as_object().get("name").unwrap_or_else(|_| "Error".to_owned());
            format!("{name}: {}", exception.message().unwrap_or_default())
        }
        CaughtError::Value(value) => {
            let text = value.get::<rquickjs::Coerced<String>>();
            format!("{} was thrown", text.map_or_else(|_| "what is no text".to_owned(), |text| text.0))
        }
        CaughtError::Error(Error::WouldBlock) => {
            return fault("it waits for a promise that nothing settles".to_owned());
        }
        CaughtError::Error(error) => error.to_string(),
    };
    let spoils = message.ends_with("out of memory");
    ModuleFault { message, place, spoils }
}

/// The file and the place of a line of a stack: `    at name (file:line:column)`.
fn framed(line: &str) -> Option<(String, Place)> {
    let call = line.trim_start().strip_prefix("at ")?;
    let place = call.rsplit_once(" (").map_or(call, |(_, place)| place).trim_end_matches(')');
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file.to_owned(), Place { line: line.parse().ok()?, column: column.parse().ok()? }))
}
