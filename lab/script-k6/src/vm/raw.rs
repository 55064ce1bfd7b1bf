//! What is done to single values and pending exceptions of QuickJS directly.

#![expect(unsafe_code, reason = "this is the boundary to QuickJS's C interface")]

use rquickjs::{Ctx, Exception, Value, qjs};
use std::ptr;

/// # Safety
/// The caller owns a reference to the value, which is of the context's runtime.
pub(super) unsafe fn owned<'js>(ctx: &Ctx<'js>, value: qjs::JSValue) -> Value<'js> {
    // SAFETY: as promised.
    unsafe { Value::from_raw(ctx.clone(), value) }
}

/// Leaves no exception behind, as asking for the bytes of something else would.
pub(crate) fn is_array_buffer(value: &Value<'_>) -> bool {
    // SAFETY: the value is alive.
    unsafe { qjs::JS_IsArrayBuffer(value.as_raw()) }
}

/// The bytes of an `ArrayBuffer` or of a typed array; none where it is neither.
pub(crate) fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    let ctx = value.ctx().as_raw().as_ptr();
    let raw = value.as_raw();
    let (mut offset, mut length, mut size) = (0, 0, 0);
    // SAFETY: the value is alive; the bytes are copied before anything else can happen to the buffer. An exception, as
    // of a detached buffer, is taken.
    unsafe {
        let bytes = if qjs::JS_IsArrayBuffer(raw) {
            let bytes = qjs::JS_GetArrayBuffer(ctx, &raw mut size, raw);
            length = size;
            bytes
        } else if qjs::JS_GetTypedArrayType(raw) >= 0 {
            let buffer =
                qjs::JS_GetTypedArrayBuffer(ctx, raw, &raw mut offset, &raw mut length, ptr::null_mut());
            let bytes = qjs::JS_GetArrayBuffer(ctx, &raw mut size, buffer);
            qjs::JS_FreeValue(ctx, buffer);
            bytes
        } else {
            return None;
        };
        if bytes.is_null() {
            qjs::JS_FreeValue(ctx, qjs::JS_GetException(ctx));
            return (length == 0).then(Vec::new);
        }
        (offset + length <= size)
            .then(|| std::slice::from_raw_parts(bytes.add(offset as usize), length as usize).to_vec())
    }
}

unsafe extern "C" {
    /// What QuickJS offers to its own standard library; see `js_std_cmd` in `quickjs.c`.
    fn js_std_cmd(command: qjs::c_int, ...) -> usize;
}

/// Takes a context's backtrace.
const ERROR_BACKTRACE: qjs::c_int = 2;

/// Where the last exception was thrown that no `catch` has taken, as QuickJS writes it; also of what is no error.
pub(super) fn take_backtrace(ctx: &Ctx<'_>) -> Option<String> {
    let mut value = qjs::JS_UNDEFINED;
    // SAFETY: the context is alive; the command writes a value, whose reference is ours.
    let value = unsafe {
        js_std_cmd(ERROR_BACKTRACE, ctx.as_raw().as_ptr(), &raw mut value);
        owned(ctx, value)
    };
    value.as_string()?.to_string().ok()
}

/// Throws what no `catch` and no `finally` sees.
pub(crate) fn throw_uncatchable(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    let error = Exception::throw_internal(ctx, message);
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the context is alive, and an exception is pending.
    unsafe {
        let pending = qjs::JS_GetException(raw);
        qjs::JS_SetUncatchableError(raw, pending);
        qjs::JS_Throw(raw, pending);
    }
    error
}
