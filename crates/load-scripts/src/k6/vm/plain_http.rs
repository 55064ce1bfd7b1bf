//! Requests in their barest form: `get` with a URL. A worked example of a call that parks, in Rust and JavaScript.

#![expect(clippy::needless_pass_by_value, reason = "native functions are given their arguments")]

use super::builtin::{Builtin, Native};
use super::waits::Heard;
use crate::k6::host::host_of;
use prony_load_model::call::{Ask, AskId, Call};
use prony_load_model::program::Keep;
use prony_load_model::target::{Endpoint, Target};
use prony_load_model::units::Nanos;
use rquickjs::{Ctx, Exception, Function, Object};
use std::io::Write as _;

pub const MODULES: &[Builtin] = &[Builtin { specifier: "k6/http", text: include_str!("plain_http.js") }];
pub const NATIVES: &[Native] = &[Native { name: "prony:plain-http", install }];

const TIMEOUT: Nanos = Nanos::from_secs(60);

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("submit", Function::new(ctx.clone(), submit)?)?;
    exports.set("result", Function::new(ctx.clone(), result)?)
}

fn submit(ctx: Ctx<'_>, method: String, url: String) -> rquickjs::Result<f64> {
    let host = host_of(&ctx);
    host.require_running(&ctx, "http.get")?;
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let target = Target::parse(&format!("{scheme}://{authority}"))
        .map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?;
    let name = match &target.endpoint {
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix { .. } => "localhost".to_owned(),
    };
    let target = host.tables().targets.index_of(target);
    let target = target.ok_or_else(|| Exception::throw_range(&ctx, "a run has at most 1,000 targets"))?;
    let request = host.tables().name(&url);
    let id = {
        let mut user = host.user();
        let id = user.waits.new_id();
        user.waits.await_one(id);
        id
    };
    let mut out = host.outgoing();
    let start = out.text.len();
    write!(out.text, "{method} /{path} HTTP/1.1\r\nHost: {name}\r\nUser-Agent: prony\r\n\r\n")
        .expect("a vector takes all that is written");
    let text = start..out.text.len();
    out.asks.push(Ask::Call(Call {
        id,
        target,
        request,
        text,
        is_head: method == "HEAD",
        keep: Keep::Whole,
        timeout: TIMEOUT,
        is_fresh: false,
        expects: None,
    }));
    Ok(id as f64)
}

fn result(ctx: Ctx<'_>, id: f64) -> rquickjs::Result<Object<'_>> {
    let heard = host_of(&ctx).user().waits.take(id as AskId);
    let response = Object::new(ctx.clone())?;
    match heard {
        Some(Heard::Answered(answered)) => {
            response.set("status", answered.status)?;
            response.set("body", String::from_utf8_lossy(&answered.body).as_ref())?;
        }
        Some(Heard::Failed(failed)) => {
            response.set("status", 0)?;
            response.set("error", failed.fault.message)?;
        }
        _ => return Err(Exception::throw_internal(&ctx, "a call ended without an answer")),
    }
    Ok(response)
}
