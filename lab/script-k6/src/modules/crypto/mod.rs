//! `k6/crypto`.

pub(super) mod hash;

use super::binding::{array_buffer, go_error, hold, require_bytes, with_held};
use crate::modules::crypto::hash::{EncodedDigest, Hasher, hex, write};
use crate::vm::{Builtin, Native};
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, IntoJs as _, Object, Value};

pub(super) const MODULE: Builtin = Builtin { specifier: "k6/crypto", text: include_str!("crypto.js") };
pub(super) const NATIVE: Native = Native { name: "prony:crypto", install };

/// More at once would be a mistake in the script.
const RANDOM_BYTES_MAX: f64 = 256.0 * 1024.0 * 1024.0;
const HASHES: &[&str] =
    &["md4", "md5", "sha1", "sha256", "sha384", "sha512", "sha512_224", "sha512_256", "ripemd160"];

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    for name in HASHES {
        let hash = move |ctx: Ctx<'js>, input: Value<'js>, encoding: Opt<Coerced<String>>| {
            digest_of(&ctx, name, &input, encoding)
        };
        exports.set(*name, Function::new(ctx.clone(), hash)?.with_name(name)?)?;
    }
    exports.set("hexEncode", Function::new(ctx.clone(), hex_encode)?)?;
    exports.set("randomBytes", Function::new(ctx.clone(), random_bytes)?)?;
    exports.set("hmac", Function::new(ctx.clone(), hmac)?)?;
    exports.set("begin", Function::new(ctx.clone(), begin)?)?;
    exports.set("update", Function::new(ctx.clone(), update)?)?;
    exports.set("digest", Function::new(ctx.clone(), digest)?)
}

fn digest_of<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    input: &Value<'js>,
    encoding: Opt<Coerced<String>>,
) -> rquickjs::Result<Value<'js>> {
    let bytes = require_bytes(ctx, input, &format!("{name} failed: "))?;
    let mut hasher = Hasher::plain(name).expect("names come from the table");
    hasher.update(&bytes);
    written(ctx, hasher.digest(), encoding)
}

fn hmac<'js>(
    ctx: Ctx<'js>,
    algorithm: Coerced<String>,
    key: Value<'js>,
    input: Value<'js>,
    encoding: Opt<Coerced<String>>,
) -> rquickjs::Result<Value<'js>> {
    let mut hasher = hasher(&ctx, &algorithm.0, Some(&key))?;
    hasher.update(&require_bytes(&ctx, &input, "")?);
    written(&ctx, hasher.digest(), encoding)
}

/// Of `createHash`, and with a key of `createHMAC`.
fn begin<'js>(
    ctx: Ctx<'js>,
    algorithm: Coerced<String>,
    key: Opt<Value<'js>>,
) -> rquickjs::Result<Value<'js>> {
    let hasher = hasher(&ctx, &algorithm.0, key.0.as_ref())?;
    hold(&ctx, hasher)
}

fn update<'js>(ctx: Ctx<'js>, held: Value<'js>, input: Value<'js>) -> rquickjs::Result<()> {
    let bytes = require_bytes(&ctx, &input, "")?;
    with_held(&ctx, &held, |hasher: &mut Hasher| hasher.update(&bytes))
}

fn digest<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    encoding: Opt<Coerced<String>>,
) -> rquickjs::Result<Value<'js>> {
    let bytes = with_held(&ctx, &held, |hasher: &mut Hasher| hasher.digest())?;
    written(&ctx, bytes, encoding)
}

fn hasher(ctx: &Ctx<'_>, algorithm: &str, key: Option<&Value<'_>>) -> rquickjs::Result<Hasher> {
    let hasher = match key {
        None => Hasher::plain(algorithm),
        Some(key) => Hasher::keyed(algorithm, &require_bytes(ctx, key, "")?),
    };
    hasher.ok_or_else(|| go_error(ctx, &format!("invalid algorithm: {algorithm}")))
}

fn written<'js>(
    ctx: &Ctx<'js>,
    digest: Vec<u8>,
    encoding: Opt<Coerced<String>>,
) -> rquickjs::Result<Value<'js>> {
    let encoding = encoding.0.map(|encoding| encoding.0).unwrap_or_default();
    match write(digest, &encoding) {
        Some(EncodedDigest::Text(text)) => text.into_js(ctx),
        Some(EncodedDigest::Binary(bytes)) => array_buffer(ctx, bytes),
        None => Err(go_error(ctx, &format!("invalid output encoding: {encoding}"))),
    }
}

fn hex_encode<'js>(ctx: Ctx<'js>, input: Value<'js>) -> rquickjs::Result<String> {
    Ok(hex(&require_bytes(&ctx, &input, "")?))
}

fn random_bytes(ctx: Ctx<'_>, size: Coerced<f64>) -> rquickjs::Result<Value<'_>> {
    if !(1.0..=RANDOM_BYTES_MAX).contains(&size.0) {
        return Err(go_error(&ctx, "invalid size"));
    }
    array_buffer(&ctx, random(size.0 as usize))
}

/// From the system's generator, as scripts make keys and ids of them.
pub(super) fn random(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    bytes
}
