//! The few things that are done to QuickJS's runtime and contexts directly, each as one call.

#![expect(unsafe_code, reason = "this is the boundary to QuickJS's C interface")]

pub(super) mod globals;
pub(super) mod stacks;

use super::error::thrown;
use super::fiber::Switch;
use super::raw::{owned, take_backtrace};
use crate::host::{Cut, Host, Rejection};
use rquickjs::{Ctx, Object, Persistent, Value, qjs};
use std::ptr::{self, NonNull};
use std::rc::Rc;

/// A user's context, or the base. It belongs to whoever made it, and is freed by [`RawContext::free`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawContext(NonNull<qjs::JSContext>);

impl RawContext {
    /// A context with what the language has but what [`crate::vm::context::globals`] adds, and no more. None where there is no
    /// memory for it.
    ///
    /// # Safety
    /// The runtime is alive and this thread's.
    pub(super) unsafe fn new(runtime: NonNull<qjs::JSRuntime>) -> Option<Self> {
        // SAFETY: as promised; the functions take a context that is alive and answer 0 where all went well.
        unsafe {
            let ctx = NonNull::new(qjs::JS_NewContextRaw(runtime.as_ptr()))?;
            let raw = ctx.as_ptr();
            let failed = qjs::JS_AddIntrinsicBaseObjects(raw) != 0
                || qjs::JS_AddIntrinsicEval(raw) != 0
                || qjs::JS_AddIntrinsicRegExp(raw) != 0
                || qjs::JS_AddIntrinsicJSON(raw) != 0
                || qjs::JS_AddIntrinsicProxy(raw) != 0
                || qjs::JS_AddIntrinsicPromise(raw) != 0;
            if failed {
                qjs::JS_FreeContext(raw);
                return None;
            }
            Some(Self(ctx))
        }
    }

    /// # Safety
    /// The context is alive; no value with the lifetime outlives the call that made it.
    pub(super) unsafe fn ctx<'js>(self) -> Ctx<'js> {
        // SAFETY: as promised. No lock is held: all of a runtime's work is on one thread, beneath one `Switch`.
        unsafe { Ctx::from_raw(self.0) }
    }

    /// # Safety
    /// The context is alive and nothing refers to it any more.
    pub(super) unsafe fn free(self) {
        // SAFETY: as promised.
        unsafe { qjs::JS_FreeContext(self.0.as_ptr()) };
    }
}

/// Parts of the language that a context can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intrinsic {
    Date,
    MapSet,
    /// `ArrayBuffer` and all that are views of one.
    TypedArrays,
    WeakRef,
}

/// Adds a part of the language to a context that has nothing of it.
pub(super) fn add_intrinsic(ctx: &Ctx<'_>, intrinsic: Intrinsic) -> rquickjs::Result<()> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the context is alive.
    let failed = unsafe {
        match intrinsic {
            Intrinsic::Date => qjs::JS_AddIntrinsicDate(raw),
            Intrinsic::MapSet => qjs::JS_AddIntrinsicMapSet(raw),
            Intrinsic::TypedArrays => qjs::JS_AddIntrinsicTypedArrays(raw),
            Intrinsic::WeakRef => qjs::JS_AddIntrinsicWeakRef(raw),
        }
    };
    if failed == 0 { Ok(()) } else { Err(rquickjs::Error::Exception) }
}

/// Defines a property that can be configured, as what the language has can be, by functions of any context.
pub(super) fn define_accessor(
    object: &Object<'_>,
    name: &str,
    getter: &Value<'_>,
    setter: &Value<'_>,
) -> rquickjs::Result<()> {
    let ctx = object.ctx().as_raw().as_ptr();
    // SAFETY: all are alive; QuickJS takes the references that are made here.
    unsafe {
        let atom = qjs::JS_NewAtomLen(ctx, name.as_ptr().cast(), name.len() as _);
        let getter = qjs::JS_DupValue(ctx, getter.as_raw());
        let setter = qjs::JS_DupValue(ctx, setter.as_raw());
        let flags = qjs::JS_PROP_CONFIGURABLE.cast_signed();
        let defined = qjs::JS_DefinePropertyGetSet(ctx, object.as_raw(), atom, getter, setter, flags);
        qjs::JS_FreeAtom(ctx, atom);
        if defined < 0 { Err(rquickjs::Error::Exception) } else { Ok(()) }
    }
}

/// True where the object itself has a property of this name that is no plain value.
pub(super) fn has_accessor(object: &Object<'_>, name: &str) -> bool {
    accessor_of(object, name).is_some()
}

/// The getter and the setter of a property of the object itself, where it is no plain value.
pub(super) fn accessor_of<'js>(object: &Object<'js>, name: &str) -> Option<[Value<'js>; 2]> {
    let (ctx, raw) = (object.ctx(), object.ctx().as_raw().as_ptr());
    let mut found = std::mem::MaybeUninit::<qjs::JSPropertyDescriptor>::uninit();
    // SAFETY: all are alive; the descriptor is written where the answer is 1, and its references become values or are given back.
    unsafe {
        let atom = qjs::JS_NewAtomLen(raw, name.as_ptr().cast(), name.len() as _);
        let has = qjs::JS_GetOwnProperty(raw, found.as_mut_ptr(), object.as_raw(), atom);
        qjs::JS_FreeAtom(raw, atom);
        if has != 1 {
            return None;
        }
        let found = found.assume_init();
        qjs::JS_FreeValue(raw, found.value);
        let accessor = [owned(ctx, found.getter), owned(ctx, found.setter)];
        (found.flags & qjs::JS_PROP_GETSET.cast_signed() != 0).then_some(accessor)
    }
}

/// Runs all jobs of the queue. What one throws is kept as the running user's error.
///
/// # Safety
/// The runtime is alive and JavaScript may run.
pub(super) unsafe fn drain_jobs(runtime: NonNull<qjs::JSRuntime>, host: &Host) {
    let mut raw = ptr::null_mut();
    loop {
        // SAFETY: as promised.
        match unsafe { qjs::JS_ExecutePendingJob(runtime.as_ptr(), &raw mut raw) } {
            0 => return,
            1.. => {}
            // SAFETY: the context of the job is alive, because the user that runs is the only one with jobs.
            _ => unsafe { keep_job_error(raw, host) },
        }
    }
}

unsafe fn keep_job_error(raw: *mut qjs::JSContext, host: &Host) {
    let raw = NonNull::new(raw).expect("a job has a context");
    // SAFETY: the context is alive.
    let ctx = unsafe { Ctx::from_raw(raw) };
    let error = Persistent::save(&ctx, ctx.catch());
    let mut user = host.user();
    if user.job_error.is_none() {
        user.job_error = Some(error);
    }
}

/// What QuickJS's questions are answered with.
pub(super) struct Handlers {
    pub(super) host: Rc<Host>,
    pub(super) switch: Rc<Switch>,
    pub(super) base: NonNull<qjs::JSContext>,
}

/// Has QuickJS ask and tell the host.
///
/// # Safety
/// The handlers do not move, and outlive all JavaScript of the runtime.
pub(super) unsafe fn install_handlers(runtime: NonNull<qjs::JSRuntime>, handlers: &Handlers) {
    let opaque: *mut qjs::c_void = ptr::from_ref(handlers).cast_mut().cast();
    // SAFETY: as promised.
    unsafe {
        qjs::JS_SetInterruptHandler(runtime.as_ptr(), Some(must_stop), opaque);
        qjs::JS_SetHostPromiseRejectionTracker(runtime.as_ptr(), Some(on_rejection), opaque);
    }
}

/// Asked from time to time while JavaScript runs.
unsafe extern "C" fn must_stop(runtime: *mut qjs::JSRuntime, opaque: *mut qjs::c_void) -> qjs::c_int {
    // SAFETY: `install_handlers` set the pointer.
    let Handlers { host, switch, base } = unsafe { &*opaque.cast::<Handlers>() };
    if host.cut.get().is_some() {
        return 1;
    }
    if host.memory.is_short() {
        host.cut.set(Some(Cut::Memory));
        return 1;
    }
    if host.is_out_of_time() {
        host.cut.set(Some(Cut::Interrupted));
        // SAFETY: the context is alive, and its values stay in this call.
        let backtrace = thrown::running_backtrace(&unsafe { Ctx::from_raw(*base) });
        *host.cut_backtrace.borrow_mut() = backtrace;
        return 1;
    }
    // What another user runs of the queue of jobs would be this one's.
    // SAFETY: the runtime is alive.
    if host.has_to_give_way() && switch.has_user() && !unsafe { qjs::JS_IsJobPending(runtime) } {
        host.note_computing(|| {
            // SAFETY: the context is alive, and its values stay in this call.
            thrown::running_place(host, &unsafe { Ctx::from_raw(*base) })
        });
        switch.give_way();
        return qjs::c_int::from(host.cut.get().is_some());
    }
    0
}

/// Told when a promise is rejected without a handler, and when one is added later.
unsafe extern "C" fn on_rejection(
    ctx: *mut qjs::JSContext,
    promise: qjs::JSValue,
    reason: qjs::JSValue,
    is_handled: bool,
    opaque: *mut qjs::c_void,
) {
    // SAFETY: `install_handlers` set the pointer; QuickJS passes a context and values that are alive.
    let (host, address, ctx) = unsafe {
        let ctx = Ctx::from_raw(NonNull::new(ctx).expect("QuickJS passes a context"));
        (&*(*opaque.cast::<Handlers>()).host, qjs::JS_VALUE_GET_PTR(promise) as usize, ctx)
    };
    if is_handled {
        let handled =
            host.user().rejections.extract_if(.., |known| known.address == address).collect::<Vec<_>>();
        drop(handled);
    } else {
        // SAFETY: the reference made is the new value's.
        let reason = unsafe { owned(&ctx, qjs::JS_DupValue(ctx.as_raw().as_ptr(), reason)) };
        let (reason, backtrace) = (Persistent::save(&ctx, reason), take_backtrace(&ctx));
        host.user().rejections.push(Rejection { address, reason, backtrace });
    }
}
