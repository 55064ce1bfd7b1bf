//! What the bindings to JavaScript share: bytes from values, errors as Go's k6 throws them, Rust values held by objects.

#![expect(unsafe_code, reason = "QuickJS's values are told how long Rust's live")]

use crate::vm::{bytes_of, need_buffers, well_formed};

pub(crate) use crate::vm::{is_array_buffer, text_of};
use rquickjs::class::{JsClass, Trace, Tracer, Writable};
use rquickjs::function::Constructor;
use rquickjs::{
    ArrayBuffer, Class, Coerced, Ctx, Error, Exception, FromJs as _, JsLifetime, Object, TypedArray, Value,
};
use std::any::Any;

/// An error that says it is Go's, as those of k6's own functions do: scripts print them.
pub(crate) fn go_error(ctx: &Ctx<'_>, message: &str) -> Error {
    let Ok(exception) = Exception::from_message(ctx.clone(), message) else { return Error::Exception };
    if exception.as_object().set("name", "GoError").is_err() {
        return Error::Exception;
    }
    exception.throw()
}

/// A value of Rust within an object of JavaScript, freed with it.
pub(crate) struct Held(Box<dyn Any>);

// SAFETY: it holds no value with the lifetime of a context.
unsafe impl JsLifetime<'_> for Held {
    type Changed<'to> = Held;
}

impl<'js> Trace<'js> for Held {
    fn trace<'a>(&self, _tracer: Tracer<'a, 'js>) {}
}

impl<'js> JsClass<'js> for Held {
    const NAME: &'static str = "Held";
    type Mutable = Writable;

    fn constructor(_ctx: &Ctx<'js>) -> rquickjs::Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Held")
    }
}

pub(crate) fn hold<'js>(ctx: &Ctx<'js>, value: impl Any) -> rquickjs::Result<Value<'js>> {
    Ok(Class::instance(ctx.clone(), Held(Box::new(value)))?.into_value())
}

/// Looks at a value that [`hold`] put into an object. No JavaScript may be called within.
pub(crate) fn with_held<T: Any, R>(
    ctx: &Ctx<'_>,
    object: &Value<'_>,
    look: impl FnOnce(&mut T) -> R,
) -> rquickjs::Result<R> {
    let held = Class::<Held>::from_value(object);
    let mut held = held.as_ref().ok().and_then(|held| held.try_borrow_mut().ok());
    match held.as_mut().and_then(|held| held.0.downcast_mut()) {
        Some(value) => Ok(look(value)),
        None => Err(Exception::throw_type(ctx, "called on something else than what it belongs to")),
    }
}

/// The bytes of an `ArrayBuffer` or a `Uint8Array`.
pub(crate) fn byte_array(value: &Value<'_>) -> Option<Vec<u8>> {
    let is_octets = value.as_object().is_some_and(Object::is_typed_array::<u8>);
    if is_octets || is_array_buffer(value) { bytes_of(value) } else { None }
}

/// The bytes of a text, an `ArrayBuffer` or a `Uint8Array`, or an error that names what was given.
pub(crate) fn require_bytes(ctx: &Ctx<'_>, value: &Value<'_>, what: &str) -> rquickjs::Result<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return well_formed(text).map(String::into_bytes);
    }
    byte_array(value).ok_or_else(|| {
        let kind = go_type(value);
        go_error(ctx, &format!("{what}invalid type {kind}, expected string, []byte or ArrayBuffer"))
    })
}

/// What Go calls the type of a value that k6 does not take.
pub(crate) fn go_type(value: &Value<'_>) -> &'static str {
    if is_nullish(value) {
        "<nil>"
    } else if value.as_number().is_some_and(|number| number.fract() == 0.0) {
        "int64"
    } else if value.is_number() {
        "float64"
    } else if value.is_bool() {
        "bool"
    } else if value.is_string() {
        "string"
    } else if value.is_array() {
        "[]interface {}"
    } else if value.is_function() {
        "func(sobek.FunctionCall) sobek.Value"
    } else {
        "map[string]interface {}"
    }
}

/// The bytes are copied, so that they are counted as memory of the user.
pub(crate) fn array_buffer<'js>(ctx: &Ctx<'js>, bytes: impl AsRef<[u8]>) -> rquickjs::Result<Value<'js>> {
    need_buffers(ctx)?;
    Ok(ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value())
}

/// The bytes beneath a view of any kind, or of an `ArrayBuffer`, for what browsers call a buffer source.
pub(crate) fn buffer_source(value: &Value<'_>) -> Option<Vec<u8>> {
    bytes_of(value).or_else(|| {
        // A `DataView` is no typed array.
        let view = value.as_object()?;
        let buffer = bytes_of(&view.get::<_, Value<'_>>("buffer").ok()?)?;
        let from: usize = view.get("byteOffset").ok()?;
        let length: usize = view.get("byteLength").ok()?;
        buffer.get(from..from + length).map(<[u8]>::to_vec)
    })
}

/// As JavaScript's `Boolean(value)`.
pub(crate) fn is_truthy(value: &Value<'_>) -> bool {
    Coerced::<bool>::from_js(value.ctx(), value.clone()).is_ok_and(|truth| truth.0)
}

pub(crate) fn is_nullish(value: &Value<'_>) -> bool {
    value.is_null() || value.is_undefined()
}

/// True for functions declared `async`.
pub(crate) fn is_async(function: &Object<'_>) -> bool {
    let constructor = function.get::<_, Object<'_>>("constructor");
    constructor
        .and_then(|constructor| constructor.get::<_, String>("name"))
        .is_ok_and(|name| name == "AsyncFunction")
}

/// What can be the value of a tag, as text; `None` for anything but texts, truth values and numbers.
pub(crate) fn tag_text<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Option<String> {
    let is_plain = value.is_string() || value.is_bool() || value.is_number();
    is_plain.then(|| text_of(ctx, value).ok()).flatten()
}

pub(crate) fn uint8_array<'js>(ctx: &Ctx<'js>, bytes: Vec<u8>) -> rquickjs::Result<Value<'js>> {
    need_buffers(ctx)?;
    Ok(TypedArray::<u8>::new(ctx.clone(), bytes)?.into_value())
}
