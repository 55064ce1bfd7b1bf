//! `k6/net/grpc`: clients, calls and streams over channels of HTTP/2.
//!
//! [`protos`] has what `load` and reflection find, [`message`] turns JSON into messages and back, [`frames`] and [`status`]
//! are the protocol (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>), [`call`] is one call with what came of
//! it, without JavaScript; [`client`], [`begin`] and [`take`] are the natives beneath `grpc.js`.

#![allow(clippy::needless_pass_by_value, reason = "rquickjs hands arguments to native functions by value")]

mod begin;
mod call;
mod client;
mod frames;
mod message;
mod params;
mod protos;
mod reflection;
mod samples;
mod status;
mod take;

use crate::vm::{Builtin, Native};
use rquickjs::{Ctx, Function, Object};

pub(crate) const MODULES: &[Builtin] = &[Builtin { specifier: "k6/net/grpc", text: include_str!("grpc.js") }];
pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:grpc", install }];

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("client", Function::new(ctx.clone(), client::new)?)?;
    exports.set("load", Function::new(ctx.clone(), client::load)?)?;
    exports.set("loadProtoset", Function::new(ctx.clone(), client::load_protoset)?)?;
    exports.set("connect", Function::new(ctx.clone(), client::connect)?)?;
    exports.set("connected", Function::new(ctx.clone(), client::connected)?)?;
    exports.set("close", Function::new(ctx.clone(), client::close)?)?;
    exports.set("reflect", Function::new(ctx.clone(), begin::reflect)?)?;
    exports.set("health", Function::new(ctx.clone(), begin::health)?)?;
    exports.set("prepare", Function::new(ctx.clone(), begin::prepare)?)?;
    exports.set("invoke", Function::new(ctx.clone(), begin::invoke)?)?;
    exports.set("stream", Function::new(ctx.clone(), begin::stream)?)?;
    exports.set("write", Function::new(ctx.clone(), begin::write)?)?;
    exports.set("end", Function::new(ctx.clone(), begin::end)?)?;
    exports.set("listen", Function::new(ctx.clone(), take::listen)?)?;
    exports.set("wait", Function::new(ctx.clone(), take::wait)?)?;
    exports.set("take", Function::new(ctx.clone(), take::take)?)?;
    exports.set("warn", Function::new(ctx.clone(), take::warn)?)
}
