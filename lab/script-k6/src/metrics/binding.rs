//! `prony:metrics`, beneath the module `k6/metrics`. The one file here that knows JavaScript.
#![allow(clippy::needless_pass_by_value, reason = "natives get their arguments as values")]

use crate::host::{Host, host_of};
use crate::modules::log::{Level, Log};
use crate::vm::{Builtin, Native, text_of};
use prony_metrics::{Contains, Kind, MetricId, Tags};
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Exception, FromJs as _, Function, Object, Value};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const MODULES: &[Builtin] =
    &[Builtin { specifier: "k6/metrics", text: include_str!("metrics.js") }];
pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:metrics", install }];

/// Values that are shown in a message are cut to this many characters.
const SHOWN_CHARACTERS_MAX: usize = 100;
const EXPECTED: &str = "pass a number or a boolean";

/// What the natives are told of a run, kept in [`crate::vm::Script::shared`].
#[derive(Debug, Default)]
pub struct AddRules {
    /// Option `throw`: values that are no numbers are exceptions, not warnings.
    pub throws: AtomicBool,
}

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("define", Function::new(ctx.clone(), define)?)?;
    exports.set("add", Function::new(ctx.clone(), add)?)
}

/// The id of a metric; made at its first definition, whichever user's init code that is in.
fn define(ctx: Ctx<'_>, kind: String, name: String, is_time: bool) -> rquickjs::Result<u32> {
    let host = host_of(&ctx);
    host.require_init(&ctx, "new metrics")?;
    let kinds = [Kind::Counter, Kind::Gauge, Kind::Rate, Kind::Trend];
    let kind = kinds.into_iter().find(|known| known.as_str() == kind).expect("metrics.js knows the kinds");
    let contains = if is_time { Contains::Time } else { Contains::Default };
    let defined = host.script.recorder.registry.define(&name, kind, contains);
    defined.map(|id| id.0).map_err(|error| Exception::throw_message(&ctx, &error.to_string()))
}

/// True where the value was recorded.
fn add<'js>(
    ctx: Ctx<'js>,
    metric: u32,
    given: u32,
    value: Value<'js>,
    tags: Opt<Value<'js>>,
) -> rquickjs::Result<bool> {
    let host = host_of(&ctx);
    let metric = MetricId(metric);
    host.require_running(&ctx, "add() of a metric")?;
    let name = || host.script.recorder.registry.definition(metric).name;
    if given == 0 {
        let message = format!("metric '{}' got no value; {EXPECTED}", name());
        return refuse(&ctx, &host, &message);
    }
    let Some(number) = number_of(&value)? else {
        let shown = shortened(&text_of(&ctx, value)?);
        let message = format!("metric '{}' got '{shown}', which is no number; {EXPECTED}", name());
        return refuse(&ctx, &host, &message);
    };
    let tags = tags.0.filter(|tags| !tags.is_null() && !tags.is_undefined());
    let added = tags.map_or(Ok(Vec::new()), |tags| pairs_of(&ctx, tags, &name()))?;
    let user = host.user().tags;
    let now = host.now();
    let mut recorder = host.recorder();
    let pairs: Vec<(&str, &str)> =
        added.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let set = recorder.sets().derive(user.set, &pairs);
    recorder.record_at(metric, Tags { set, ..user }, now, number);
    Ok(true)
}

/// As JavaScript's `Number(value)`; what is true without being a number counts one.
fn number_of(value: &Value<'_>) -> rquickjs::Result<Option<f64>> {
    if let Some(number) = value.as_number() {
        return Ok((!number.is_nan()).then_some(number));
    }
    if value.is_null() || value.is_undefined() {
        return Ok(None);
    }
    let number = Coerced::<f64>::from_js(value.ctx(), value.clone())?.0;
    if number == 0.0 && Coerced::<bool>::from_js(value.ctx(), value.clone())?.0 {
        return Ok(Some(1.0));
    }
    Ok((!number.is_nan()).then_some(number))
}

fn refuse(ctx: &Ctx<'_>, host: &Host, message: &str) -> rquickjs::Result<bool> {
    if host.script.shared::<AddRules>().throws.load(Ordering::Relaxed) {
        return Err(Exception::throw_message(ctx, message));
    }
    host.script.shared::<Log>().write(Level::Warning, message, &[]);
    Ok(false)
}

fn pairs_of<'js>(ctx: &Ctx<'js>, tags: Value<'js>, metric: &str) -> rquickjs::Result<Vec<(String, String)>> {
    let Some(tags) = tags.into_object() else { return Ok(Vec::new()) };
    let mut pairs = Vec::new();
    for pair in tags.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        if !(value.is_string() || value.is_bool() || value.is_number()) {
            let message = format!(
                "metric '{metric}' got a tag '{name}' that is neither a text nor a number nor a boolean"
            );
            return Err(Exception::throw_message(ctx, &message));
        }
        pairs.push((name, text_of(ctx, value)?));
    }
    Ok(pairs)
}

/// Beginning and end of a long text.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count < SHOWN_CHARACTERS_MAX {
        return text.to_owned();
    }
    let half = SHOWN_CHARACTERS_MAX / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start} ({} characters left out) {end}", count - SHOWN_CHARACTERS_MAX)
}
