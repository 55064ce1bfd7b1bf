//! `k6/data`.

pub(super) mod shared;

use super::binding::{go_error, hold, is_async, with_held};
use crate::host::host_of;
use crate::modules::data::shared::{Claim, Elements, SharedArrays};
use crate::vm::{Builtin, Native, Phase};
use rquickjs::{Coerced, Ctx, Function, IntoJs as _, Object, Value};
use std::sync::Arc;

pub(super) const MODULE: Builtin = Builtin { specifier: "k6/data", text: include_str!("data.js") };
pub(super) const NATIVE: Native = Native { name: "prony:data", install };

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("claim", Function::new(ctx.clone(), claim)?)?;
    exports.set("keep", Function::new(ctx.clone(), keep)?)?;
    exports.set("giveUp", Function::new(ctx.clone(), give_up)?)?;
    exports.set("length", Function::new(ctx.clone(), length)?)?;
    exports.set("refuse", Function::new(ctx.clone(), refuse)?)?;
    exports.set("at", Function::new(ctx.clone(), at)?)
}

/// The array of this name, or undefined where the caller is to make it.
fn claim<'js>(ctx: Ctx<'js>, name: Coerced<String>, make: Value<'js>) -> rquickjs::Result<Value<'js>> {
    let host = host_of(&ctx);
    if host.phase() != Phase::Init {
        return Err(go_error(&ctx, "new SharedArray must be called in the init context"));
    }
    let refusal = if name.0.is_empty() {
        Some("empty name provided to SharedArray's constructor")
    } else if !make.is_function() {
        Some("a function is expected as the second argument of SharedArray's constructor")
    } else if make.as_object().is_some_and(is_async) {
        Some("SharedArray constructor does not support async functions as second argument")
    } else {
        None
    };
    if let Some(refusal) = refusal {
        return Err(go_error(&ctx, refusal));
    }
    match host.script.shared::<SharedArrays>().claim(&name.0) {
        Claim::Made(elements) => hold(&ctx, elements),
        Claim::Yours => Ok(Value::new_undefined(ctx)),
        Claim::WithinItself => {
            let message = format!("SharedArray \"{}\" is made by a function that asks for it itself", name.0);
            Err(go_error(&ctx, &message))
        }
    }
}

fn keep(ctx: Ctx<'_>, name: Coerced<String>, texts: Vec<String>) -> rquickjs::Result<Value<'_>> {
    let arrays = host_of(&ctx).script.shared::<SharedArrays>();
    hold(&ctx, arrays.keep(&name.0, texts.into_iter().map(String::into_boxed_str).collect()))
}

fn give_up(ctx: Ctx<'_>, name: Coerced<String>) {
    host_of(&ctx).script.shared::<SharedArrays>().give_up(&name.0);
}

fn refuse(ctx: Ctx<'_>, message: String) -> rquickjs::Result<()> {
    Err(go_error(&ctx, &message))
}

fn length<'js>(ctx: Ctx<'js>, elements: Value<'js>) -> rquickjs::Result<usize> {
    with_held(&ctx, &elements, |elements: &mut Elements| elements.len())
}

/// An element by its property's name; undefined, which no element is, where there is none.
fn at<'js>(ctx: Ctx<'js>, elements: Value<'js>, key: String) -> rquickjs::Result<Value<'js>> {
    let elements = with_held(&ctx, &elements, |elements: &mut Elements| Arc::clone(elements))?;
    let index = key.parse::<usize>().ok();
    match index.and_then(|index| elements.get(index)) {
        Some(text) => ctx.json_parse(text.as_bytes()),
        None => rquickjs::Undefined.into_js(&ctx),
    }
}
