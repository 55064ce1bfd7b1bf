//! What the bindings to JavaScript share: bytes from values, errors as Go's k6 throws them, Rust values held by objects.

use crate::k6::vm::need_buffers;
use rquickjs::class::{JsClass, Trace, Tracer, Writable};
use rquickjs::function::Constructor;
use rquickjs::{
    ArrayBuffer, Class, Coerced, Ctx, Error, Exception, FromJs as _, JsLifetime, Object, TypedArray, Value,
};
use std::any::Any;

/// An error that says it is Go's, as those of k6's own functions do: scripts print them.
pub fn go_error(ctx: &Ctx<'_>, message: &str) -> Error {
    let Ok(exception) = Exception::from_message(ctx.clone(), message) else { return Error::Exception };
    if exception.as_object().set("name", "GoError").is_err() {
        return Error::Exception;
    }
    exception.throw()
}

/// A value of Rust within an object of JavaScript, freed with it.
pub struct Held(Box<dyn Any>);

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

pub fn hold<'js>(ctx: &Ctx<'js>, value: impl Any) -> rquickjs::Result<Value<'js>> {
    Ok(Class::instance(ctx.clone(), Held(Box::new(value)))?.into_value())
}

/// Looks at a value that [`hold`] put into an object. No JavaScript may be called within.
pub fn with_held<T: Any, R>(
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

/// The bytes of a text, an `ArrayBuffer` or a `Uint8Array`; else the name of what it is, as Go says it.
pub fn bytes_of(value: &Value<'_>) -> Result<Vec<u8>, &'static str> {
    if let Some(text) = value.as_string() {
        return Ok(text.to_string().map(String::into_bytes).unwrap_or_default());
    }
    let bytes = value.as_object().and_then(|object| {
        let buffer = object.as_array_buffer().map(copy_of);
        let view = || {
            let view = object.as_typed_array::<u8>()?;
            slice_of(object, &view.arraybuffer().ok()?)
        };
        buffer.or_else(view)
    });
    bytes.ok_or_else(|| go_type(value))
}

/// [`bytes_of`], with an error that names what was given.
pub fn require_bytes(ctx: &Ctx<'_>, value: &Value<'_>, what: &str) -> rquickjs::Result<Vec<u8>> {
    bytes_of(value).map_err(|kind| {
        go_error(ctx, &format!("{what}invalid type {kind}, expected string, []byte or ArrayBuffer"))
    })
}

fn go_type(value: &Value<'_>) -> &'static str {
    if value.is_null() || value.is_undefined() {
        "<nil>"
    } else if value.is_bool() {
        "bool"
    } else if value.is_int() {
        "int64"
    } else if value.is_float() {
        "float64"
    } else if value.is_array() {
        "[]interface {}"
    } else if value.is_function() {
        "func(sobek.FunctionCall) sobek.Value"
    } else {
        "map[string]interface {}"
    }
}

pub fn array_buffer<'js>(ctx: &Ctx<'js>, bytes: Vec<u8>) -> rquickjs::Result<Value<'js>> {
    need_buffers(ctx)?;
    Ok(ArrayBuffer::new(ctx.clone(), bytes)?.into_value())
}

/// The bytes beneath a view of any kind, or of an `ArrayBuffer`, for what browsers call a buffer source.
pub fn buffer_source(value: &Value<'_>) -> Option<Vec<u8>> {
    let object = value.as_object()?;
    if let Some(buffer) = object.as_array_buffer() {
        return Some(copy_of(buffer));
    }
    slice_of(object, &object.get("buffer").ok()?)
}

/// The part of a buffer that a view shows.
fn slice_of(view: &Object<'_>, buffer: &ArrayBuffer<'_>) -> Option<Vec<u8>> {
    let from: usize = view.get("byteOffset").ok()?;
    let length: usize = view.get("byteLength").ok()?;
    copy_of(buffer).get(from..from + length).map(<[u8]>::to_vec)
}

/// The bytes of a buffer; none where it was given away.
pub fn copy_of(buffer: &ArrayBuffer<'_>) -> Vec<u8> {
    // SAFETY: no JavaScript runs while they are copied, so that nothing writes to them or frees them.
    unsafe { buffer.as_bytes() }.map(<[u8]>::to_vec).unwrap_or_default()
}

/// As JavaScript's `String(value)`.
pub fn text_of<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<String> {
    Ok(Coerced::<String>::from_js(ctx, value)?.0)
}

/// As JavaScript's `Boolean(value)`.
pub fn is_truthy(value: &Value<'_>) -> bool {
    Coerced::<bool>::from_js(value.ctx(), value.clone()).is_ok_and(|truth| truth.0)
}

pub fn is_nullish(value: &Value<'_>) -> bool {
    value.is_null() || value.is_undefined()
}

/// True for functions declared `async`.
pub fn is_async(function: &Object<'_>) -> bool {
    let constructor = function.get::<_, Object<'_>>("constructor");
    constructor
        .and_then(|constructor| constructor.get::<_, String>("name"))
        .is_ok_and(|name| name == "AsyncFunction")
}

/// What can be the value of a tag, as text; `None` for anything but texts, truth values and numbers.
pub fn tag_text<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Option<String> {
    let is_plain = value.is_string() || value.is_bool() || value.is_number();
    is_plain.then(|| text_of(ctx, value).ok()).flatten()
}

pub fn uint8_array<'js>(ctx: &Ctx<'js>, bytes: Vec<u8>) -> rquickjs::Result<Value<'js>> {
    need_buffers(ctx)?;
    Ok(TypedArray::<u8>::new(ctx.clone(), bytes)?.into_value())
}
