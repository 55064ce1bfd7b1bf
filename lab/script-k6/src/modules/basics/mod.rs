//! The module `k6`: check, group, fail, randomSeed, and sleep, which parks.

use super::binding::{go_error, is_async, is_nullish, is_truthy, tag_text, text_of};
use super::samples;
use crate::host::{Host, host_of};
use crate::vm::{Builtin, Native, Phase, well_formed};
use prony_metrics::{Recorder, Tags};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use rquickjs::function::{MutFn, Opt};
use rquickjs::{Coerced, Ctx, Error, Exception, Function, Object, Value};

pub(super) const MODULE: Builtin = Builtin { specifier: "k6", text: include_str!("basics.js") };
pub(super) const NATIVE: Native = Native { name: "prony:k6", install };

/// Stands between the groups of a path.
const GROUP_SEPARATOR: &str = "::";
const IN_NAME: &str = "group and check names may not contain '::'";
const ASYNC_CHECK: &str = "the built-in check() does not support async functions as arguments. Use the JavaScript \
    utils library as a replacement. Refer to https://grafana.com/docs/k6/latest/javascript-api/jslib/utils/check/ for \
    more info";
const ASYNC_GROUP: &str = "group() does not support async functions as arguments, please see \
    https://grafana.com/docs/k6/latest/javascript-api/k6/group/ for more info";

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("check", Function::new(ctx.clone(), check)?.with_name("check")?)?;
    exports.set("fail", Function::new(ctx.clone(), fail)?.with_name("fail")?)?;
    exports.set("randomSeed", Function::new(ctx.clone(), random_seed)?.with_name("randomSeed")?)?;
    exports.set("enterGroup", Function::new(ctx.clone(), enter_group)?)?;
    exports.set("leaveGroup", Function::new(ctx.clone(), leave_group)?)
}

/// Each condition is one sample of `checks`; true where all hold.
fn check<'js>(
    ctx: Ctx<'js>,
    value: Opt<Value<'js>>,
    conditions: Opt<Value<'js>>,
    tags: Opt<Value<'js>>,
) -> rquickjs::Result<bool> {
    let host = host_of(&ctx);
    require_user(&host, &ctx, "check")?;
    let conditions = conditions.0.ok_or_else(|| go_error(&ctx, "no checks provided to `check`"))?;
    if is_nullish(&conditions) {
        return Err(Exception::throw_type(&ctx, "Cannot convert undefined or null to object"));
    }
    let Some(conditions) = conditions.into_object() else { return Ok(true) };
    let value = value.0.unwrap_or_else(|| Value::new_undefined(ctx.clone()));
    let added = match tags.0.and_then(Value::into_object) {
        Some(tags) => call_tags(&ctx, &tags)?,
        None => Vec::new(),
    };
    let mut all_hold = true;
    for key in conditions.keys::<rquickjs::String<'js>>() {
        let key = key?;
        let name = well_formed(&key)?;
        if name.contains(GROUP_SEPARATOR) {
            return Err(go_error(&ctx, IN_NAME));
        }
        let outcome = holds(&ctx, conditions.get(key)?, &value);
        if matches!(&outcome, Ok(None)) {
            return Err(go_error(&ctx, ASYNC_CHECK));
        }
        let is_met = matches!(outcome, Ok(Some(true)));
        all_hold &= is_met;
        samples::record(&host, |recorder, tags| {
            let tags = with_added(recorder, tags, &added);
            recorder.record_check(tags, &name, is_met);
        });
        outcome?;
    }
    Ok(all_hold)
}

/// Whether a condition holds; `None` for an async function, known by the promise that it gives.
fn holds<'js>(ctx: &Ctx<'js>, condition: Value<'js>, value: &Value<'js>) -> rquickjs::Result<Option<bool>> {
    let Some(function) = condition.as_function() else { return Ok(Some(is_truthy(&condition))) };
    let result: Value<'js> = function.call((value.clone(),))?;
    if result.is_promise() && is_async(function) {
        return Ok(None);
    }
    let _ = ctx;
    Ok(Some(is_truthy(&result)))
}

fn with_added(recorder: &mut Recorder, tags: Tags, added: &[(String, String)]) -> Tags {
    if added.is_empty() {
        return tags;
    }
    let added: Vec<_> = added.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Tags { set: recorder.sets().derive(tags.set, &added), ..tags }
}

/// Tags that a single call has beside the user's.
pub(crate) fn call_tags<'js>(ctx: &Ctx<'js>, tags: &Object<'js>) -> rquickjs::Result<Vec<(String, String)>> {
    let pairs = tags.props::<String, Value<'js>>().map(|pair| {
        let (name, value) = pair?;
        let value = tag_text(ctx, value).ok_or_else(|| go_error(ctx, &tag_refusal("tag", &name)))?;
        Ok((name, value))
    });
    pairs.collect()
}

/// `kind` is `tag` or `metadata`.
pub(super) fn tag_refusal(kind: &str, name: &str) -> String {
    let what = if kind == "tag" { "tag values" } else { "metadata value" };
    format!(
        "invalid value for metric {kind} '{name}': only String, Boolean and Number types are accepted as a metric {what}"
    )
}

pub(super) fn require_user(host: &Host, ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<()> {
    if host.phase() == Phase::Init {
        return Err(go_error(ctx, &format!("Using {what}() in the init context is not supported")));
    }
    Ok(())
}

fn enter_group<'js>(ctx: Ctx<'js>, name: Opt<Value<'js>>, callback: Opt<Value<'js>>) -> rquickjs::Result<()> {
    let host = host_of(&ctx);
    require_user(&host, &ctx, "group")?;
    let Some(callback) = callback.0.as_ref().and_then(Value::as_function) else {
        return Err(go_error(&ctx, "group() requires a callback as a second argument"));
    };
    if is_async(callback) {
        return Err(go_error(&ctx, ASYNC_GROUP));
    }
    let name = name.0.map_or_else(|| Ok(String::new()), |name| text_of(&ctx, name))?;
    if name.contains(GROUP_SEPARATOR) {
        return Err(go_error(&ctx, IN_NAME));
    }
    samples::enter_group(&host, &name);
    Ok(())
}

fn leave_group(ctx: Ctx<'_>) {
    samples::leave_group(&host_of(&ctx));
}

fn fail<'js>(ctx: Ctx<'js>, message: Opt<Value<'js>>) -> rquickjs::Result<()> {
    let message = match message.0 {
        Some(message) if !is_nullish(&message) => text_of(&ctx, message)?,
        _ => String::new(),
    };
    let error: Error = go_error(&ctx, &message);
    Err(error)
}

/// From now on the user's `Math.random` gives the same numbers for the same seed; others than k6's.
fn random_seed(ctx: Ctx<'_>, seed: Opt<Coerced<f64>>) -> rquickjs::Result<()> {
    let seed = seed.0.map_or(0.0, |seed| seed.0);
    let mut generator = ChaCha8Rng::seed_from_u64(seed as i64 as u64);
    // 53 bits, as many as a number has.
    let next = move || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let random = Function::new(ctx.clone(), MutFn::new(next))?.with_name("random")?;
    ctx.globals().get::<_, Object<'_>>("Math")?.set("random", random)
}
