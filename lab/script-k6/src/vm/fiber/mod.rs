//! The switching between users of one QuickJS runtime: coroutines, and the C function that parks one.
//!
//! QuickJS keeps one chain of stack frames a runtime, and a switch in the middle of a call leaves its head within the
//! stack of the user that parked. Two arrangements keep every chain whole and its end alive:
//!
//! * JavaScript runs beneath the *anchor* only: a C function called on a stack of its own, always at the same address,
//!   so that the frame that a parked user's chain ends with is there, the same, whenever that user runs.
//! * [`park`] is a C function that switches and does nothing after. QuickJS then takes its frame from the chain, and
//!   the chain is that of the user that runs again. Whatever could raise an error comes after that, in calls of its
//!   own. The anchor does the same for the thread when a user parks.
//!
//! So no backtrace, filter of `Error.captureStackTrace` or look at the caller's strictness meets a frame that is gone.

#![expect(unsafe_code, reason = "coroutines are switched beneath C code")]

pub(super) mod stack;

use crate::vm::fiber::stack::{LargeStack, PooledStack, Stacks, release_beneath};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rquickjs::qjs;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::rc::Rc;

/// What is left to native code when JavaScript has used all of the stack that QuickJS may use: parsers that go down
/// into nested values, in unoptimised builds too.
const NATIVE_BYTES: usize = 192 << 10;

/// Asked by [`park`] before it switches.
pub(super) trait Parking {
    /// Runs the reactions that are ready; false where what is waited for came meanwhile.
    fn must_wait(&self) -> bool;
    /// Told once it runs again, when nothing may be asked of QuickJS; true where it has to end.
    fn has_to_end(&self) -> bool;
}

/// Runs JavaScript of one thread, on the engine's stack or on those of users.
pub(super) struct Switch {
    runtime: NonNull<qjs::JSRuntime>,
    /// The context of the anchor and of `park`, which holds a pointer to this value.
    base: NonNull<qjs::JSContext>,
    anchor: qjs::JSValue,
    /// The C function [`give_way`].
    give_way: qjs::JSValue,
    anchor_address: Cell<usize>,
    engine: RefCell<Coroutine<GoOn, (), (), LargeStack>>,
    task: Cell<Option<Task>>,
    stacks: Rc<Stacks>,
    /// The user that runs; none where the engine's stack is used.
    running: Cell<Option<Running>>,
    /// Where on its stack the user that parked last has done so.
    parked: Cell<Option<Parked>>,
    parking: Box<dyn Parking>,
}

/// A piece of work that is over before [`Switch::enter`] returns.
type Task = *mut dyn FnMut();

/// False ends the engine's loop.
type GoOn = bool;

#[derive(Clone, Copy)]
struct Running {
    yielder: NonNull<Yielder<(), ()>>,
    /// The lowest address of its stack.
    floor: usize,
}

#[derive(Debug, Clone, Copy)]
struct Parked {
    /// An address within its last frame.
    frame: usize,
    floor: usize,
}

/// One user's iteration on its stack.
pub(super) struct Fiber(Coroutine<(), (), (), PooledStack>);

impl Switch {
    /// # Safety
    /// The context is alive until the value is dropped, is of that runtime, and its opaque pointer is no one else's.
    /// All of the runtime's JavaScript runs through the new value, on this thread.
    pub(super) unsafe fn new(
        base: NonNull<qjs::JSContext>,
        parking: Box<dyn Parking>,
    ) -> io::Result<Rc<Self>> {
        let stack = LargeStack::new()?;
        let floor = stack.floor();
        // SAFETY: as the caller promises. Nothing is on the chain of frames, and this stack is the thread's own.
        let (runtime, anchor, give_way) = unsafe {
            let runtime = NonNull::new(qjs::JS_GetRuntime(base.as_ptr())).expect("a context has a runtime");
            let name = c"prony".as_ptr();
            let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic;
            let function = |function| qjs::JS_NewCFunction2(base.as_ptr(), Some(function), name, 0, kind, 0);
            (runtime, function(anchored), function(give_way))
        };
        let engine = Coroutine::with_stack(stack, move |yielder, mut go_on: GoOn| {
            while go_on {
                // SAFETY: `enter` has set a task, which lives until it is suspended here.
                unsafe { call_anchor(runtime, base, anchor, floor) };
                go_on = yielder.suspend(());
            }
        });
        let switch = Rc::new(Self {
            runtime,
            base,
            anchor,
            give_way,
            anchor_address: Cell::new(0),
            engine: RefCell::new(engine),
            task: Cell::new(None),
            stacks: Rc::default(),
            running: Cell::new(None),
            parked: Cell::new(None),
            parking,
        });
        // SAFETY: the value does not move, and outlives the use of the context.
        unsafe { qjs::JS_SetContextOpaque(base.as_ptr(), ptr::from_ref(&*switch).cast_mut().cast()) };
        Ok(switch)
    }

    /// Does what may run JavaScript, on the engine's stack.
    pub(super) fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut work = Some(work);
        let mut result = None;
        let mut task = || {
            let work = work.take().expect("a task is run once");
            result = Some(catch_unwind(AssertUnwindSafe(work)));
        };
        let task: *mut (dyn FnMut() + '_) = &raw mut task;
        #[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot forget a lifetime")]
        // SAFETY: only the lifetime is forgotten: the task is run and forgotten before `resume` returns.
        let task: Task = unsafe { std::mem::transmute::<*mut (dyn FnMut() + '_), Task>(task) };
        let mut engine = self.engine.borrow_mut();
        self.task.set(Some(task));
        let resumed = engine.resume(true);
        assert!(matches!(resumed, CoroutineResult::Yield(())), "the engine's stack has ended");
        drop(engine);
        match result.expect("the anchor ran the task") {
            Ok(value) => value,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// A coroutine that has not begun. `body` must not panic.
    pub(super) fn fiber(self: &Rc<Self>, body: impl FnOnce() + 'static) -> io::Result<Fiber> {
        let stack = self.stacks.take()?;
        let floor = stack.floor();
        let switch = Rc::clone(self);
        Ok(Fiber(Coroutine::with_stack(stack, move |yielder, ()| {
            switch.arrive(Running { yielder: NonNull::from(yielder), floor });
            body();
            switch.running.set(None);
        })))
    }

    /// Gives the thread up in the name of the user that runs; called where no JavaScript of it is under way.
    pub(super) fn suspend(&self) {
        let here = 0_u8;
        let running = self.running.get().expect("only users give the thread up");
        self.running.set(None);
        self.parked.set(Some(Parked { frame: &raw const here as usize, floor: running.floor }));
        // SAFETY: the yielder is that of the coroutine that runs, and lives as long as it.
        unsafe { running.yielder.as_ref() }.suspend(());
        self.arrive(running);
    }

    /// Gives the system back what the user that parked last has of stack beneath its frames; called before another one runs.
    pub(super) fn release_stack(&self) {
        let Some(Parked { frame, floor }) = self.parked.take() else { return };
        // SAFETY: the user waits where `suspend` has noted it, and goes on from there.
        unsafe { release_beneath(frame, floor) };
    }

    /// As [`Self::suspend`] for a user whose JavaScript is under way, such as where QuickJS asks whether to interrupt it. Does
    /// nothing where the user has too little stack left.
    pub(super) fn give_way(&self) {
        let base = self.base.as_ptr();
        // SAFETY: the context and the function are alive. QuickJS puts the function's frame on the user's chain and takes it off
        // again, as with `park`.
        unsafe {
            let returned = qjs::JS_Call(base, self.give_way, qjs::JS_UNDEFINED, 0, ptr::null_mut());
            if qjs::JS_IsException(returned) {
                qjs::JS_FreeValue(base, qjs::JS_GetException(base));
            }
        }
    }

    /// True while a user runs, and not the engine.
    pub(super) fn has_user(&self) -> bool {
        self.running.get().is_some()
    }

    /// How many users have a stack.
    pub(super) fn fibers(&self) -> usize {
        self.stacks.taken()
    }

    fn arrive(&self, running: Running) {
        self.running.set(Some(running));
        // SAFETY: the runtime is alive and used by this thread only.
        unsafe { limit_stack(self.runtime, running.floor) };
    }
}

impl Fiber {
    /// Goes on until the user parks, or ends: then true. Called within [`Switch::enter`].
    pub(super) fn go_on(&mut self) -> bool {
        matches!(self.0.resume(()), CoroutineResult::Return(()))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.engine.get_mut().resume(false);
        // SAFETY: both are alive until the value is gone, and the function is not called any more.
        unsafe {
            qjs::JS_SetContextOpaque(self.base.as_ptr(), ptr::null_mut());
            qjs::JS_FreeValue(self.base.as_ptr(), self.anchor);
            qjs::JS_FreeValue(self.base.as_ptr(), self.give_way);
        }
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch").field("fibers", &self.fibers()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber").finish_non_exhaustive()
    }
}

/// The function through which users park; one for all contexts of the runtime. It returns whether the user has to end.
///
/// # Safety
/// The context is the one that a [`Switch`] was made with.
pub(super) unsafe fn park_function(base: NonNull<qjs::JSContext>) -> qjs::JSValue {
    let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic;
    // SAFETY: the context is alive.
    unsafe { qjs::JS_NewCFunction2(base.as_ptr(), Some(park), c"park".as_ptr(), 0, kind, 0) }
}

/// Tells QuickJS how much of the present stack it may use. Its limit is counted from where it is told so.
///
/// # Safety
/// The runtime is alive and this thread's; the present stack reaches down to the floor.
unsafe fn limit_stack(runtime: NonNull<qjs::JSRuntime>, floor: usize) {
    let here = 0_u8;
    let left = (&raw const here as usize).saturating_sub(floor + NATIVE_BYTES);
    // SAFETY: the runtime is alive. At least one byte, because none means no limit.
    unsafe {
        qjs::JS_UpdateStackTop(runtime.as_ptr());
        qjs::JS_SetMaxStackSize(runtime.as_ptr(), left.max(1) as _);
    }
}

/// # Safety
/// As [`Switch::new`] says; the task can be run; the present stack is the engine's.
unsafe fn call_anchor(
    runtime: NonNull<qjs::JSRuntime>,
    base: NonNull<qjs::JSContext>,
    anchor: qjs::JSValue,
    floor: usize,
) {
    // SAFETY: the context and the function are alive; the chain of frames is empty.
    let returned = unsafe {
        limit_stack(runtime, floor);
        qjs::JS_Call(base.as_ptr(), anchor, qjs::JS_UNDEFINED, 0, ptr::null_mut())
    };
    // SAFETY: a value is only looked at.
    assert!(!unsafe { qjs::JS_IsException(returned) }, "the anchor could not be called");
}

/// The switch of the base context, in which both C functions run.
///
/// # Safety
/// The context is that of a switch.
unsafe fn switch_of<'a>(base: *mut qjs::JSContext) -> &'a Switch {
    // SAFETY: `Switch::new` set the pointer, and dropping the switch unsets it.
    unsafe { &*qjs::JS_GetContextOpaque(base).cast::<Switch>() }
}

/// The frame beneath all others.
unsafe extern "C" fn anchored(
    base: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: qjs::c_int,
    _arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    let here = 0_u8;
    // SAFETY: C functions run in the context that they were made in.
    let switch = unsafe { switch_of(base) };
    let address = &raw const here as usize;
    let first = switch.anchor_address.replace(address);
    // Were it elsewhere, chains of parked users would end in a frame that is gone.
    assert!(first == 0 || first == address, "the anchor has moved");
    let task = switch.task.take().expect("the anchor is called with a task");
    // SAFETY: `enter` waits until the task is done, and catches what it panics with.
    unsafe { (*task)() };
    qjs::JS_UNDEFINED
}

/// Gives the thread up in the name of the user that runs, wherever its JavaScript is.
unsafe extern "C" fn give_way(
    base: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: qjs::c_int,
    _arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: C functions run in the context that they were made in.
    unsafe { switch_of(base) }.suspend();
    // From here to the return the chain of frames is another user's.
    qjs::JS_UNDEFINED
}

/// Parks the user that runs.
unsafe extern "C" fn park(
    base: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: qjs::c_int,
    _arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: C functions run in the context that they were made in.
    let switch = unsafe { switch_of(base) };
    if switch.has_user() && switch.parking.must_wait() {
        switch.suspend();
    }
    // From here to the return the chain of frames is another user's.
    if !switch.has_user() || switch.parking.has_to_end() { qjs::JS_TRUE } else { qjs::JS_FALSE }
}
