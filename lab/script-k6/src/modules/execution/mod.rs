//! `k6/execution`: what a script can learn of the run, its scenario and its user, and how it ends the run.

use super::basics::tag_refusal;
use super::binding::{go_error, tag_text, text_of};
use super::log::{Level, Log};
use super::samples;
use crate::host::{Host, host_of};
use crate::vm::{Builtin, Native, Phase, load, running_place};
use prony_model::program::RunShare;
use prony_model::units::Nanos;
use rquickjs::function::Opt;
use rquickjs::object::{Accessor, Property};
use rquickjs::{Coerced, Ctx, Exception, Function, IntoJs as _, Object, Value};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const MODULES: [Builtin; 2] = [
    Builtin { specifier: "k6/execution", text: include_str!("execution.js") },
    Builtin { specifier: OWN, text: include_str!("execution_vu.js") },
];
/// No module of k6's.
const OWN: &str = "k6/execution/vu";
pub(crate) const NATIVE: Native = Native { name: "prony:execution", install };

/// What a run knows of itself, one a script, shared by its threads ([`crate::vm::Script::shared`]).
#[derive(Debug, Default)]
pub(crate) struct RunState {
    facts: OnceLock<RunFacts>,
    /// Iterations begun, by the scenarios' order.
    begun: OnceLock<Vec<AtomicU64>>,
    pub iterations_completed: AtomicU64,
    pub iterations_interrupted: AtomicU64,
    pub users_active: AtomicU64,
    pub users_initialized: AtomicU64,
    /// From the beginning of the script's life to that of the part that runs, such as the load.
    pub part_began_ns: AtomicU64,
    /// Of that time, what was none of the test's: the users' init code.
    pub not_executed_ns: AtomicU64,
    has_failed: AtomicBool,
    is_ended: AtomicBool,
    end: Mutex<Option<RunEnd>>,
}

/// Why a script has ended its run, with a message for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It called `exec.test.abort`; the message is k6's.
    Aborted(String),
    /// An iteration wanted more memory than there is.
    Memory(String),
}

/// What is known before the load begins.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    pub scenarios: Vec<ScenarioFacts>,
    /// Which users of the run this instance has.
    pub share: RunShare,
    /// The consolidated options as JSON, for `exec.test.options`.
    pub options: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ScenarioFacts {
    pub name: String,
    /// Such as `constant-vus`.
    pub executor: String,
    /// From the start of the run.
    pub start: Nanos,
    /// How long it is to run, where time ends it.
    pub duration: Option<Nanos>,
    /// How many iterations all instances are to have, where their number ends it.
    pub iterations: Option<u64>,
    /// The number of its first user in the run, and how many it has.
    pub first_user: u32,
    pub users: u32,
}

/// A user's place among the iterations, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
struct UserExecution {
    /// Of the scenario, over all users of this instance, from 0.
    iteration_in_instance: u64,
    /// The same over all instances.
    iteration_in_test: u64,
    /// Of this user, in each scenario, from 0: the next one's number.
    in_scenario: HashMap<usize, u64>,
    iteration_in_scenario: u64,
}

impl RunState {
    /// To be said before the first user runs; later it is too late, and false is returned.
    pub(crate) fn set_facts(&self, facts: RunFacts) -> bool {
        let counters = facts.scenarios.iter().map(|_| AtomicU64::new(0)).collect();
        self.begun.set(counters).is_ok() && self.facts.set(facts).is_ok()
    }

    /// Why the script ended the run, where it did.
    pub(crate) fn ended(&self) -> Option<RunEnd> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As [`Self::ended`], without its message: for each iteration to ask.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Whether the script marked the run as failed, with `exec.test.fail`.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// The first reason counts.
    pub(crate) fn end(&self, reason: RunEnd) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.is_ended.store(true, Ordering::Relaxed);
    }

    /// When a scenario starts, from the beginning of the script's life.
    fn start_of(&self, scenario: usize) -> Nanos {
        let start = self.scenario(scenario).map_or(Nanos::ZERO, |scenario| scenario.start);
        Nanos(self.part_began_ns.load(Ordering::Relaxed)).plus(start)
    }

    fn share(&self) -> RunShare {
        self.facts.get().map_or(RunShare::WHOLE, |facts| facts.share)
    }

    /// The number that an iteration of a scenario has over all instances: each of theirs is another.
    fn in_test(&self, scenario: usize, iteration: u64) -> u64 {
        let facts = self.scenario(scenario);
        let position =
            facts.and_then(|facts| self.share().position(iteration, facts.first_user, facts.users));
        position.unwrap_or(iteration)
    }

    fn scenario(&self, index: usize) -> Option<&ScenarioFacts> {
        self.facts.get()?.scenarios.get(index)
    }
}

/// To be called when an iteration of the user that runs begins; `user.scenario` says of which scenario.
pub(crate) fn begin_iteration(host: &Host) {
    let state = host.script.shared::<RunState>();
    let index = host.user().scenario;
    let number = state.begun.get().and_then(|begun| begun.get(index));
    let iteration_in_instance = number.map_or(0, |begun| begun.fetch_add(1, Ordering::Relaxed));
    {
        let mut user = host.user();
        let own = user.data.get::<UserExecution>();
        own.iteration_in_instance = iteration_in_instance;
        own.iteration_in_test = state.in_test(index, iteration_in_instance);
        let next = own.in_scenario.entry(index).or_insert(0);
        own.iteration_in_scenario = *next;
        *next += 1;
    }
    samples::begin_iteration(host);
}

/// To be called when an iteration is over.
pub(crate) fn end_iteration(state: &RunState, is_whole: bool) {
    let counter = if is_whole { &state.iterations_completed } else { &state.iterations_interrupted };
    counter.fetch_add(1, Ordering::Relaxed);
}

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("require", Function::new(ctx.clone(), require)?)?;
    exports.set("makeVu", Function::new(ctx.clone(), make_vu)?)?;
    exports.set("instance", looked_up(ctx, "instance", &INSTANCE)?)?;
    exports.set("scenario", looked_up(ctx, "scenario", &SCENARIO)?)?;
    exports.set("vu", looked_up(ctx, "vu", &VU)?)?;
    exports.set("namedVu", named_vu(ctx)?)?;
    exports.set("test", test(ctx)?)?;
    exports.set("options", Function::new(ctx.clone(), options)?)?;
    exports.set("entry", Function::new(ctx.clone(), entry)?)?;
    exports.set("setEntry", Function::new(ctx.clone(), set_entry)?)?;
    exports.set("entries", Function::new(ctx.clone(), entries)?)
}

/// Properties of `exec.…`, with the names that [`get`] knows them by.
type Names = [(&'static str, &'static str)];
const INSTANCE: [(&str, &str); 5] = [
    ("currentTestRunDuration", "currentTestRunDuration"),
    ("iterationsCompleted", "iterationsCompleted"),
    ("iterationsInterrupted", "iterationsInterrupted"),
    ("vusActive", "vusActive"),
    ("vusInitialized", "vusInitialized"),
];
const SCENARIO: [(&str, &str); 6] = [
    ("name", "name"),
    ("executor", "executor"),
    ("startTime", "startTime"),
    ("progress", "progress"),
    ("iterationInInstance", "iterationInInstance"),
    ("iterationInTest", "iterationInTest"),
];
const VU: [(&str, &str); 4] = [
    ("idInInstance", "idInInstance"),
    ("idInTest", "idInTest"),
    ("iterationInInstance", "userIteration"),
    ("iterationInScenario", "iterationInScenario"),
];

/// An object that all users share, whose properties are looked up for the user that runs when they are read. `what` of the run it
/// tells.
fn looked_up<'js>(
    ctx: &Ctx<'js>,
    what: &'static str,
    names: &'static Names,
) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for &(name, known) in names {
        let value = move |ctx: Ctx<'js>| {
            require_known(&ctx, what)?;
            get(ctx, known)
        };
        object.prop(name, Accessor::new_get(value).enumerable())?;
    }
    Ok(object)
}

/// What `import { vu }` gets: a binding of a module is the same object for all users.
fn named_vu<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let vu = looked_up(ctx, "vu", &VU)?;
    for name in ["tags", "metrics"] {
        let value = move |ctx: Ctx<'js>| {
            require_known(&ctx, "vu")?;
            let vu: Object<'js> = load(&ctx, OWN)?.get::<_, Function<'js>>("namedVu")?.call(())?;
            vu.get::<_, Value<'js>>(name)
        };
        vu.prop(name, Accessor::new_get(value).enumerable())?;
    }
    Ok(vu)
}

fn test<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let test = Object::new(ctx.clone())?;
    test.prop("abort", Property::from(Function::new(ctx.clone(), abort)?).enumerable())?;
    test.prop("fail", Property::from(Function::new(ctx.clone(), fail)?).enumerable())?;
    let options = |ctx: Ctx<'js>| {
        require_known(&ctx, "test")?;
        load(&ctx, OWN)?.get::<_, Function<'js>>("testOptions")?.call::<_, Value<'js>>(())
    };
    test.prop("options", Accessor::new_get(options).enumerable())?;
    Ok(test)
}

fn make_vu(ctx: Ctx<'_>) -> rquickjs::Result<Value<'_>> {
    load(&ctx, OWN)?.get::<_, Function<'_>>("makeVu")?.call(())
}

fn require(ctx: Ctx<'_>, what: String) -> rquickjs::Result<()> {
    require_known(&ctx, &what)
}

/// Throws where `what` of the run cannot be known yet.
fn require_known(ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<()> {
    let phase = host_of(ctx).phase();
    let message = match (what, phase) {
        ("scenario", phase) if phase != Phase::Iteration => {
            "getting scenario information outside of the VU context is not supported".to_owned()
        }
        ("vu", Phase::Init) => "getting VU information in the init context is not supported".to_owned(),
        ("instance", Phase::Init) => {
            "getting instance information in the init context is not supported".to_owned()
        }
        ("test", Phase::Init) => "getting test options in the init context is not supported".to_owned(),
        _ => return Ok(()),
    };
    Err(go_error(ctx, &message))
}

/// One figure or name, by its property's name.
fn get<'js>(ctx: Ctx<'js>, name: &str) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    let state = host.script.shared::<RunState>();
    let index = host.user().scenario;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let number = match name {
        "name" | "executor" => {
            let text = state.scenario(index).map(|scenario| match name {
                "name" => scenario.name.clone(),
                _ => scenario.executor.clone(),
            });
            return text.into_js(&ctx);
        }
        "startTime" => {
            (epoch_ms() - (host.now().as_millis_f64() - state.start_of(index).as_millis_f64())).floor()
        }
        "progress" => progress(&host, &state, index),
        "iterationInInstance" => host.user().data.get::<UserExecution>().iteration_in_instance as f64,
        "iterationInTest" => host.user().data.get::<UserExecution>().iteration_in_test as f64,
        "currentTestRunDuration" => {
            host.now().since(Nanos(state.not_executed_ns.load(Ordering::Relaxed))).as_millis_f64()
        }
        "iterationsCompleted" => count(&state.iterations_completed),
        "iterationsInterrupted" => count(&state.iterations_interrupted),
        "vusActive" => count(&state.users_active),
        "vusInitialized" => count(&state.users_initialized),
        "idInTest" => f64::from(host.user().vu),
        "idInInstance" => f64::from(id_in_instance(host.user().vu, state.share())),
        "userIteration" => host.user().iteration as f64,
        "iterationInScenario" => host.user().data.get::<UserExecution>().iteration_in_scenario as f64,
        _ => return Ok(Value::new_undefined(ctx)),
    };
    Ok(Value::new_number(ctx, number))
}

/// Users are numbered from 1; the number 0 is nobody's.
const fn id_in_instance(vu: u32, share: RunShare) -> u32 {
    match vu.checked_sub(1) {
        Some(number) => number / share.parts() + 1,
        None => 0,
    }
}

fn epoch_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3
}

/// From 0 to 1, of the time or the iterations that the scenario is to have.
fn progress(host: &Host, state: &RunState, index: usize) -> f64 {
    let Some(scenario) = state.scenario(index) else { return 0.0 };
    let by_count = scenario.iterations.map(|all| {
        let iterations = state.share().positions(all, scenario.first_user, scenario.users).max(1);
        let begun = state.begun.get().and_then(|begun| begun.get(index));
        begun.map_or(0, |begun| begun.load(Ordering::Relaxed)).saturating_sub(1) as f64 / iterations as f64
    });
    let by_time = scenario.duration.map(|duration| {
        host.now().since(state.start_of(index)).as_secs_f64() / duration.as_secs_f64().max(1e-9)
    });
    by_count.or(by_time).unwrap_or(0.0).clamp(0.0, 1.0)
}

fn options(ctx: Ctx<'_>) -> rquickjs::Result<Value<'_>> {
    let state = host_of(&ctx).script.shared::<RunState>();
    let options = state.facts.get().map_or("{}", |facts| &facts.options);
    ctx.json_parse(if options.is_empty() { "{}" } else { options })
}

/// Ends the run, and the iteration at once.
fn abort<'js>(ctx: Ctx<'js>, message: Opt<Value<'js>>) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    let reason = with_message(&ctx, "test aborted", message)?;
    let reason = match running_place(&host, &ctx) {
        Some(place) => format!("{reason} at {place}"),
        None => reason,
    };
    host.script.shared::<RunState>().end(RunEnd::Aborted(reason.clone()));
    if host.phase() == Phase::Init {
        return Err(Exception::throw_message(&ctx, &reason));
    }
    Err(host.end_iteration(&ctx))
}

fn fail<'js>(ctx: Ctx<'js>, message: Opt<Value<'js>>) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    if host.phase() == Phase::Init {
        return Err(go_error(&ctx, "execution.test.fail() called outside of VU context"));
    }
    let reason = with_message(&ctx, "test marked as failed", message)?;
    host.script.shared::<Log>().write(Level::Error, &reason, &[]);
    host.script.shared::<RunState>().fail();
    Ok(())
}

fn with_message<'js>(ctx: &Ctx<'js>, reason: &str, message: Opt<Value<'js>>) -> rquickjs::Result<String> {
    match message.0 {
        Some(message) if !message.is_undefined() && !message.is_null() => {
            Ok(format!("{reason}: {}", text_of(ctx, message)?))
        }
        _ => Ok(reason.to_owned()),
    }
}

/// One tag of the user, or one entry of its metadata.
fn entry(ctx: Ctx<'_>, kind: String, name: String) -> Option<String> {
    let host = host_of(&ctx);
    if kind == "tag" {
        return samples::record(&host, |recorder, tags| {
            recorder.sets().get(tags.set).get(&name).map(str::to_owned)
        });
    }
    host.user().metadata.get(&name).cloned()
}

/// Sets a tag or an entry of the metadata; undefined as value removes it.
fn set_entry<'js>(
    ctx: Ctx<'js>,
    kind: String,
    name: Coerced<String>,
    value: Opt<Value<'js>>,
) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    let value = match value.0 {
        None => None,
        Some(value) => Some(
            tag_text(&ctx, value).ok_or_else(|| Exception::throw_type(&ctx, &tag_refusal(&kind, &name.0)))?,
        ),
    };
    if kind == "tag" {
        samples::set_tag(&host, &name.0, value.as_deref());
    } else {
        samples::set_metadata(&host, &name.0, value);
    }
    Ok(())
}

fn entries(ctx: Ctx<'_>, kind: String) -> Vec<String> {
    let host = host_of(&ctx);
    if kind == "tag" {
        return samples::record(&host, |recorder, tags| {
            recorder.sets().get(tags.set).iter().map(|(name, _)| name.to_owned()).collect()
        });
    }
    host.user().metadata.keys().cloned().collect()
}
