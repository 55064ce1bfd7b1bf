//! `k6/secrets`: values from outside of the script, which its log does not show.

pub(crate) mod sources;

use super::binding::go_error;
use super::log::Log;
use crate::host::host_of;
use crate::modules::secrets::sources::{SecretError, SecretSources};
use crate::vm::{Builtin, Native};
use rquickjs::{Ctx, Function, Object};
use std::sync::OnceLock;

pub(super) const MODULE: Builtin = Builtin { specifier: "k6/secrets", text: include_str!("secrets.js") };
pub(super) const NATIVE: Native = Native { name: "prony:secrets", install };

/// The sources of a run, one a script ([`crate::vm::Script::shared`]).
#[derive(Debug, Default)]
pub(crate) struct Secrets(pub(crate) OnceLock<SecretSources>);

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("get", Function::new(ctx.clone(), get)?)?;
    exports.set("check", Function::new(ctx.clone(), check)?)
}

/// Of the default source where none is named. From now on the log shows something else in its place.
fn get(ctx: Ctx<'_>, source: Option<String>, key: String) -> rquickjs::Result<String> {
    let script = &host_of(&ctx).script;
    let secrets = script.shared::<Secrets>();
    let sources = secrets.0.get_or_init(SecretSources::default);
    let value = sources.get(source.as_deref(), &key).map_err(|error| refused(&ctx, &error))?;
    script.shared::<Log>().redact(value);
    Ok(value.to_owned())
}

fn check(ctx: Ctx<'_>, source: String) -> rquickjs::Result<()> {
    let secrets = host_of(&ctx).script.shared::<Secrets>();
    let sources = secrets.0.get_or_init(SecretSources::default);
    sources.check(&source).map_err(|error| refused(&ctx, &error))
}

fn refused(ctx: &Ctx<'_>, error: &SecretError) -> rquickjs::Error {
    go_error(ctx, &error.to_string())
}
