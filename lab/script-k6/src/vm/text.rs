//! Texts of JavaScript as texts of Rust.

use rquickjs::function::This;
use rquickjs::{Coerced, Ctx, Error, FromJs as _, Function, Object, String as JsString, Value};

/// Halves of surrogate pairs, which no text of Rust holds, are U+FFFD, as in k6: a script that cuts a text in the
/// middle of a character sends and logs it all the same.
pub(crate) fn well_formed(text: &JsString<'_>) -> rquickjs::Result<String> {
    match text.to_string() {
        Err(Error::Utf8(_)) => {
            let constructor: Object<'_> = text.as_value().ctx().globals().get("String")?;
            let prototype: Object<'_> = constructor.get("prototype")?;
            let function: Function<'_> = prototype.get("toWellFormed")?;
            let whole: JsString<'_> = function.call((This(text.clone()),))?;
            whole.to_string()
        }
        other => other,
    }
}

/// As JavaScript's `String(value)`.
pub(crate) fn text_of<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<String> {
    well_formed(&Coerced::<JsString<'js>>::from_js(ctx, value)?.0)
}
