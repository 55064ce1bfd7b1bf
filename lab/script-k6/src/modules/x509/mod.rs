//! `k6/crypto/x509`: what a certificate in PEM says.

mod certificate;
mod error;
mod keys;
mod names;
mod signature;

use super::binding::{go_error, require_bytes};
use crate::vm::{Builtin, Native};
use certificate::Pem;
use error::CertificateError;
use rquickjs::{Ctx, Function, Object, Value};
use serde::Serialize;

pub(super) const MODULE: Builtin = Builtin { specifier: "k6/crypto/x509", text: include_str!("x509.js") };
pub(super) const NATIVE: Native = Native { name: "prony:x509", install };

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("parse", Function::new(ctx.clone(), parse)?)?;
    exports.set("getAltNames", Function::new(ctx.clone(), alternative_names)?.with_name("getAltNames")?)?;
    exports.set("getIssuer", Function::new(ctx.clone(), issuer)?.with_name("getIssuer")?)?;
    exports.set("getSubject", Function::new(ctx.clone(), subject)?.with_name("getSubject")?)
}

/// The numbers of the key are hexadecimal texts.
fn parse<'js>(ctx: Ctx<'js>, encoded: Value<'js>) -> rquickjs::Result<Value<'js>> {
    read(&ctx, &encoded, Pem::certificate)
}

fn alternative_names<'js>(ctx: Ctx<'js>, encoded: Value<'js>) -> rquickjs::Result<Value<'js>> {
    read(&ctx, &encoded, Pem::alternative_names)
}

fn issuer<'js>(ctx: Ctx<'js>, encoded: Value<'js>) -> rquickjs::Result<Value<'js>> {
    read(&ctx, &encoded, Pem::issuer)
}

fn subject<'js>(ctx: Ctx<'js>, encoded: Value<'js>) -> rquickjs::Result<Value<'js>> {
    read(&ctx, &encoded, Pem::subject)
}

fn read<'js, T: Serialize>(
    ctx: &Ctx<'js>,
    encoded: &Value<'js>,
    part: impl FnOnce(&Pem) -> Result<T, CertificateError>,
) -> rquickjs::Result<Value<'js>> {
    let bytes = require_bytes(ctx, encoded, "")?;
    let part =
        Pem::read(&bytes).and_then(|pem| part(&pem)).map_err(|error| go_error(ctx, &error.to_string()))?;
    ctx.json_parse(serde_json::to_string(&part).expect("texts and numbers are JSON"))
}

#[cfg(test)]
mod tests;
