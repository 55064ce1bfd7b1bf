//! Random values for scripts.

use crate::modules::binding::go_error;
use crate::modules::crypto::random;
use rquickjs::{ArrayBuffer, Ctx, Function, Object, Value};

/// As browsers limit it.
const RANDOM_BYTES_MAX: usize = 65_536;

pub(super) fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set(
        "getRandomValues",
        Function::new(ctx.clone(), get_random_values)?.with_name("getRandomValues")?,
    )?;
    exports.set("randomUUID", Function::new(ctx.clone(), random_uuid)?.with_name("randomUUID")?)
}

/// Fills an array of whole numbers, which is also returned.
fn get_random_values<'js>(ctx: Ctx<'js>, array: Value<'js>) -> rquickjs::Result<Value<'js>> {
    let refused = |message: &str| go_error(&ctx, message);
    let object =
        array.as_object().ok_or_else(|| refused("typedArray parameter isn't a TypedArray instance"))?;
    let buffer: ArrayBuffer<'js> =
        object.get("buffer").map_err(|_| refused("typedArray parameter isn't a TypedArray instance"))?;
    let (from, length): (usize, usize) = (object.get("byteOffset")?, object.get("byteLength")?);
    if length > RANDOM_BYTES_MAX {
        return Err(refused(
            "QuotaExceededError: typedArray parameter is too big; maximum length is 65536 bytes",
        ));
    }
    let view: Object<'js> = ctx.globals().get::<_, Object<'js>>("Uint8Array")?;
    let view: Object<'js> =
        rquickjs::function::Constructor::from_value(view.into_value())?.construct((buffer, from, length))?;
    let bytes = rquickjs::TypedArray::<u8>::new(ctx.clone(), random(length))?;
    view.get::<_, Function<'js>>("set")?.call::<_, ()>((rquickjs::function::This(view.clone()), bytes))?;
    Ok(array)
}

/// RFC 9562, version 4.
fn random_uuid() -> String {
    let mut bytes = random(16);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = crate::modules::crypto::hash::hex(&bytes);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}
