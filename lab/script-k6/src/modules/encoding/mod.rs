//! `k6/encoding`.

pub(super) mod base64_text;

use super::binding::{array_buffer, go_error, is_nullish, require_bytes, text_of};
use crate::modules::encoding::base64_text::{Alphabet, decode, encode};
use crate::vm::{Builtin, Native};
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Function, IntoJs as _, Object, Value};

pub(super) const MODULE: Builtin = Builtin {
    specifier: "k6/encoding",
    text: "import e from 'prony:encoding';\nexport const { b64encode, b64decode } = e;\nexport default { b64encode, b64decode };\n",
};
pub(super) const NATIVE: Native = Native { name: "prony:encoding", install };

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("b64encode", Function::new(ctx.clone(), b64encode)?.with_name("b64encode")?)?;
    exports.set("b64decode", Function::new(ctx.clone(), b64decode)?.with_name("b64decode")?)
}

fn b64encode<'js>(
    ctx: Ctx<'js>,
    input: Value<'js>,
    encoding: Opt<Coerced<String>>,
) -> rquickjs::Result<String> {
    let bytes = require_bytes(&ctx, &input, "")?;
    Ok(encode(&bytes, alphabet(encoding)))
}

fn b64decode<'js>(
    ctx: Ctx<'js>,
    input: Value<'js>,
    encoding: Opt<Coerced<String>>,
    format: Opt<Coerced<String>>,
) -> rquickjs::Result<Value<'js>> {
    let text = if is_nullish(&input) { String::new() } else { text_of(&ctx, input)? };
    let bytes = decode(&text, alphabet(encoding)).map_err(|fault| go_error(&ctx, &fault.to_string()))?;
    if format.0.is_some_and(|format| format.0 == "s") {
        return String::from_utf8_lossy(&bytes).into_owned().into_js(&ctx);
    }
    array_buffer(&ctx, bytes)
}

fn alphabet(name: Opt<Coerced<String>>) -> Alphabet {
    name.0.map_or(Alphabet::Standard, |name| Alphabet::named(&name.0))
}
