//! JavaScript's memory of one thread, counted and bounded: for each user, and for all users of all threads together.
//!
//! At a limit one piece is refused, which is an exception in the script that wanted it. From then on a reserve is
//! given out in small pieces, because QuickJS needs memory to throw, to unwind and to reject promises (without it, it
//! ends the process), and the user that ran into the limit is cut.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

pub(super) mod accounts;

use super::limits::Limits;
use accounts::{AccountId, Accounts, MACHINE};
use rquickjs::allocator::Allocator;
use rquickjs::{Ctx, Value, qjs};
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// For unwinding beyond the limit.
const RESERVE_BYTES: usize = 64 << 20;
/// The largest piece of the reserve.
const RESERVE_PIECE_BYTES: usize = 64 << 10;
/// What the system's allocator keeps with each piece.
const OVERHEAD_BYTES: usize = 8;
/// What a thread takes at a time of what all threads may have.
const GRANT_BYTES: usize = 1 << 20;
/// A thread that has so much more than it uses gives it back to the others.
const GRANT_UNUSED_BYTES: usize = 16 << 20;
/// Garbage is collected where a user has taken so many eighths of what it may have.
const COLLECTED_AT_EIGHTHS: usize = 7;
/// And again for each such part of it more: a collection looks at everything that there is.
const COLLECTED_STEPS: usize = 32;
/// Where QuickJS keeps how many bytes its values take: behind its five functions and the count of pieces.
const SIZE_WORD: usize = 6;

/// What all threads of a script have of the memory that they may have together, in bytes.
pub(crate) type Taken = Arc<AtomicUsize>;

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// [`Limits::user_memory_bytes`]
    User,
    /// [`Limits::memory_bytes`]
    All,
}

/// Shared by the allocator and the machine of a thread.
#[derive(Debug)]
pub(crate) struct Memory {
    limits: Limits,
    taken: Taken,
    /// Of the pieces that the system has given.
    used: Cell<usize>,
    /// The thread's part of `taken`.
    granted: Cell<usize>,
    /// Up to here nothing is looked at.
    ceiling: Cell<usize>,
    shortage: Cell<Option<Shortage>>,
    accounts: RefCell<Accounts>,
    runtime: Cell<*mut qjs::JSRuntime>,
    collection: Cell<Option<Collection>>,
    /// Whose garbage was last collected because it had taken much, and how much it had.
    collected_at: Cell<(AccountId, usize)>,
}

/// A collection of garbage that has begun.
#[derive(Debug, Clone, Copy)]
struct Collection {
    bytes_before: usize,
    /// QuickJS's threshold for collections; it sets another one when this collection has ended.
    threshold: u64,
}

/// What QuickJS allocates with: the C library's functions.
pub(super) struct Bounded(pub(super) Rc<Memory>);

impl Memory {
    pub(super) fn new(limits: Limits, taken: Taken) -> Self {
        Self {
            limits,
            taken,
            used: Cell::new(0),
            granted: Cell::new(0),
            ceiling: Cell::new(0),
            shortage: Cell::new(None),
            accounts: RefCell::new(Accounts::new()),
            runtime: Cell::new(ptr::null_mut()),
            collection: Cell::new(None),
            collected_at: Cell::new((MACHINE, 0)),
        }
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Set since a piece was refused, until [`Self::forgive`].
    pub(super) fn shortage(&self) -> Option<Shortage> {
        self.shortage.get()
    }

    pub(super) fn is_short(&self) -> bool {
        self.shortage.get().is_some()
    }

    pub(super) fn forgive(&self) {
        self.shortage.set(None);
    }

    pub(super) fn open_account(&self) -> AccountId {
        self.accounts.borrow_mut().open()
    }

    pub(super) fn close_account(&self, id: AccountId) {
        self.accounts.borrow_mut().close(id);
    }

    /// A user runs; returns whose memory was counted before.
    pub(super) fn switch_to(&self, id: AccountId) -> AccountId {
        self.settle_collection();
        let before = self.accounts.borrow_mut().switch_to(id, self.size());
        self.set_ceiling();
        before
    }

    /// Nobody runs any more.
    pub(super) fn switch_to_machine(&self) {
        self.switch_to(MACHINE);
        let unused = self.granted.get().saturating_sub(self.used.get());
        if unused > GRANT_UNUSED_BYTES {
            self.give_back(unused - GRANT_BYTES);
        }
    }

    /// What QuickJS's values take, without what is free in the blocks that it has cut into pieces.
    fn size(&self) -> usize {
        let runtime = self.runtime.get();
        if runtime.is_null() {
            return self.used.get();
        }
        // SAFETY: the runtime is alive, and the word is there, which `watch_collections` has made sure of.
        unsafe { runtime.cast::<usize>().add(SIZE_WORD).read() }
    }

    fn set_ceiling(&self) {
        let (used, granted) = (self.used.get(), self.granted.get());
        let accounts = self.accounts.borrow();
        let left = if accounts.has_user() {
            let bytes = accounts.running_bytes(self.size());
            let soft = self.limits.user_memory_bytes / 8 * COLLECTED_AT_EIGHTHS;
            if bytes < soft { soft - bytes } else { self.limits.user_memory_bytes.saturating_sub(bytes) }
        } else {
            usize::MAX
        };
        self.ceiling.set(used.saturating_add(left).min(granted));
    }

    #[inline]
    fn allows(&self, size: usize) -> bool {
        self.used.get().saturating_add(size) <= self.ceiling.get() || self.allows_beyond_ceiling(size)
    }

    #[cold]
    fn allows_beyond_ceiling(&self, size: usize) -> bool {
        let wanted = self.used.get().saturating_add(size);
        if self.is_short() {
            return size <= RESERVE_PIECE_BYTES && wanted <= self.granted.get().saturating_add(RESERVE_BYTES);
        }
        self.settle_collection();
        let shortage = if !self.user_may_have(size) {
            Some(Shortage::User)
        } else if wanted > self.granted.get() && !self.take(wanted - self.granted.get()) {
            Some(Shortage::All)
        } else {
            None
        };
        self.shortage.set(shortage);
        self.set_ceiling();
        shortage.is_none()
    }

    fn user_may_have(&self, size: usize) -> bool {
        let accounts = self.accounts.borrow();
        if !accounts.has_user() {
            return true;
        }
        let bytes = accounts.running_bytes(self.size()).saturating_add(size);
        let limit = self.limits.user_memory_bytes;
        let (id, collected_at) = self.collected_at.get();
        let is_known =
            id == accounts.running() && bytes < collected_at.saturating_add(limit / COLLECTED_STEPS);
        if is_known {
            self.collected_at.set((id, collected_at.min(bytes)));
        } else if bytes > limit / 8 * COLLECTED_AT_EIGHTHS && !self.runtime.get().is_null() {
            self.collected_at.set((accounts.running(), bytes));
            // SAFETY: the runtime is alive; nothing happens before the next object is made.
            unsafe { qjs::JS_SetGCThreshold(self.runtime.get(), 0) };
        }
        bytes <= limit
    }

    /// At least so many bytes more of what all threads may have.
    fn take(&self, bytes: usize) -> bool {
        let limit = self.limits.memory_bytes;
        let add = |bytes: usize| {
            let new = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= limit);
            self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, new).is_ok()
        };
        let rounded = bytes.next_multiple_of(GRANT_BYTES);
        let granted = [rounded, bytes].into_iter().find(|bytes| add(*bytes));
        self.granted.set(self.granted.get() + granted.unwrap_or(0));
        granted.is_some()
    }

    fn give_back(&self, bytes: usize) {
        self.granted.set(self.granted.get() - bytes);
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        self.set_ceiling();
    }

    fn took(&self, piece: *mut u8) -> *mut u8 {
        if !piece.is_null() {
            // SAFETY: the piece was just allocated.
            self.used.set(self.used.get() + unsafe { Bounded::usable_size(piece) } + OVERHEAD_BYTES);
        }
        piece
    }

    /// # Safety
    /// The piece is allocated.
    unsafe fn gives(&self, piece: *mut u8) {
        // SAFETY: as promised.
        let size = unsafe { Bounded::usable_size(piece) } + OVERHEAD_BYTES;
        self.used.set(self.used.get().saturating_sub(size));
    }

    /// Has QuickJS tell of its collections of garbage; the value must be gone before the runtime is.
    ///
    /// # Safety
    /// The context is of the runtime that allocates with this, which outlives the runtime.
    pub(super) unsafe fn watch_collections<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let raw = ctx.as_raw().as_ptr();
        // SAFETY: the context is alive. The class is new, and its only object has the pointer, to what outlives it.
        unsafe {
            let runtime = qjs::JS_GetRuntime(raw);
            let mut usage = std::mem::zeroed::<qjs::JSMemoryUsage>();
            qjs::JS_ComputeMemoryUsage(runtime, &raw mut usage);
            let size = runtime.cast::<usize>().add(SIZE_WORD).read();
            assert_eq!(i64::try_from(size), Ok(usage.malloc_size), "QuickJS keeps its size elsewhere");
            let (mut class, definition) = (
                0,
                qjs::JSClassDef {
                    class_name: c"Collections".as_ptr(),
                    finalizer: None,
                    gc_mark: Some(on_collection),
                    call: None,
                    exotic: ptr::null_mut(),
                },
            );
            qjs::JS_NewClassID(runtime, &raw mut class);
            if qjs::JS_NewClass(runtime, class, &raw const definition) < 0 {
                return Err(rquickjs::Error::Exception);
            }
            let object = qjs::JS_NewObjectClass(raw, class);
            if qjs::JS_IsException(object) {
                return Err(rquickjs::Error::Exception);
            }
            qjs::JS_SetOpaque(object, ptr::from_ref(self).cast_mut().cast());
            self.runtime.set(runtime);
            self.accounts.borrow_mut().switch_to(MACHINE, self.size());
            Ok(Value::from_raw(ctx.clone(), object))
        }
    }

    /// The runtime is about to go.
    pub(super) fn unwatch(&self) {
        self.collection.set(None);
        self.runtime.set(ptr::null_mut());
    }

    /// Frees what only refers to itself.
    ///
    /// # Safety
    /// The runtime is alive and this thread's; nobody runs.
    pub(super) unsafe fn collect_garbage(&self, runtime: NonNull<qjs::JSRuntime>) {
        self.settle_collection();
        let before = self.size();
        // SAFETY: as promised.
        unsafe { qjs::JS_RunGC(runtime.as_ptr()) };
        self.collection.set(None);
        self.accounts.borrow_mut().collected(before, self.size());
    }

    /// A collection that has ended is taken from those whose garbage it was.
    fn settle_collection(&self) {
        let Some(Collection { bytes_before, threshold }) = self.collection.get() else { return };
        // SAFETY: there are no collections without a runtime.
        let new_threshold = unsafe { qjs::JS_GetGCThreshold(self.runtime.get()) };
        if new_threshold == threshold {
            return;
        }
        self.collection.set(None);
        // QuickJS waits until there is half as much again.
        let bytes_after = (new_threshold - new_threshold / 3) as usize;
        self.accounts.borrow_mut().collected(bytes_before, bytes_after.min(bytes_before));
    }
}

/// Called while QuickJS looks for garbage, more than once for each collection, and before anything is freed.
unsafe extern "C" fn on_collection(
    runtime: *mut qjs::JSRuntime,
    value: qjs::JSValue,
    _mark: qjs::JS_MarkFunc,
) {
    let mut class = 0;
    // SAFETY: the value is the object that `watch_collections` has made, whose pointer is alive.
    let memory = unsafe { &*qjs::JS_GetAnyOpaque(value, &raw mut class).cast::<Memory>() };
    memory.settle_collection();
    if memory.collection.get().is_none() {
        // SAFETY: the runtime is alive.
        let threshold = unsafe { qjs::JS_GetGCThreshold(runtime) };
        memory.collection.set(Some(Collection { bytes_before: memory.size(), threshold }));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.granted.get(), Ordering::Relaxed);
    }
}

// SAFETY: the C library's functions do what is asked of them; where the limit is reached the answer is null.
unsafe impl Allocator for Bounded {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.0.allows(size) {
            return ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        self.0.took(unsafe { libc::malloc(size) }.cast())
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !self.0.allows(count.saturating_mul(size)) {
            return ptr::null_mut();
        }
        // SAFETY: any size may be asked for; an overflow is answered with null.
        self.0.took(unsafe { libc::calloc(count, size) }.cast())
    }

    unsafe fn dealloc(&mut self, piece: *mut u8) {
        // SAFETY: the piece is one of this allocator's.
        unsafe {
            self.0.gives(piece);
            libc::free(piece.cast());
        }
    }

    unsafe fn realloc(&mut self, piece: *mut u8, new_size: usize) -> *mut u8 {
        if piece.is_null() {
            return self.alloc(new_size);
        }
        // SAFETY: the piece is one of this allocator's, and is gone only where a new one is there.
        unsafe {
            let old_size = Self::usable_size(piece);
            if !self.0.allows(new_size.saturating_sub(old_size)) {
                return ptr::null_mut();
            }
            let moved: *mut u8 = libc::realloc(piece.cast(), new_size).cast();
            if !moved.is_null() {
                self.0.used.set(self.0.used.get().saturating_sub(old_size + OVERHEAD_BYTES));
            }
            self.0.took(moved)
        }
    }

    unsafe fn usable_size(piece: *mut u8) -> usize {
        #[cfg(target_os = "linux")]
        // SAFETY: the piece is allocated.
        unsafe {
            libc::malloc_usable_size(piece.cast())
        }
        #[cfg(target_vendor = "apple")]
        // SAFETY: as above.
        unsafe {
            libc::malloc_size(piece.cast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(memory_bytes: usize) -> (Rc<Memory>, Bounded, Taken) {
        let taken = Taken::default();
        let limits = Limits { memory_bytes, user_memory_bytes: 1 << 20 };
        let memory = Rc::new(Memory::new(limits, Arc::clone(&taken)));
        (Rc::clone(&memory), Bounded(memory), taken)
    }

    #[test]
    fn beyond_the_limit_one_piece_is_refused_and_small_ones_are_not() {
        let (memory, mut allocator, _) = bounded(1 << 20);
        let first = allocator.alloc(1 << 19);
        assert!(!first.is_null() && !memory.is_short());
        assert!(allocator.calloc(2, 1 << 19).is_null());
        assert_eq!(memory.shortage(), Some(Shortage::All));
        let small = allocator.alloc(1 << 16);
        assert!(!small.is_null());
        assert!(allocator.alloc((1 << 20) + 1).is_null());
        // SAFETY: both were given out above.
        unsafe {
            let moved = allocator.realloc(first, 1 << 10);
            allocator.dealloc(moved);
            allocator.dealloc(small);
        }
        assert_eq!(memory.used.get(), 0);
        memory.forgive();
        let again = allocator.alloc(1 << 19);
        assert!(!again.is_null() && !memory.is_short());
        // SAFETY: as above.
        unsafe { allocator.dealloc(again) };
    }

    #[test]
    fn a_user_has_a_limit_of_its_own() {
        let (memory, mut allocator, _) = bounded(1 << 30);
        let (one, two) = (memory.open_account(), memory.open_account());
        memory.switch_to(one);
        let first = allocator.alloc(1 << 19);
        memory.switch_to(two);
        let second = allocator.alloc(1 << 19);
        memory.switch_to(one);
        assert!(allocator.alloc(1 << 19).is_null());
        assert_eq!(memory.shortage(), Some(Shortage::User));
        memory.forgive();
        memory.switch_to_machine();
        let third = allocator.alloc(1 << 22);
        assert!(!third.is_null());
        // SAFETY: all were given out above.
        unsafe {
            allocator.dealloc(first);
            allocator.dealloc(second);
            allocator.dealloc(third);
        }
    }

    #[test]
    fn threads_share_what_there_is_for_all() {
        let limits = Limits { memory_bytes: 64 << 20, user_memory_bytes: usize::MAX };
        let taken = Taken::default();
        let memory = || Rc::new(Memory::new(limits, Arc::clone(&taken)));
        let (one, two) = (memory(), memory());
        let (mut of_one, mut of_two) = (Bounded(Rc::clone(&one)), Bounded(Rc::clone(&two)));
        let first = of_one.alloc(40 << 20);
        assert!(!first.is_null() && of_two.alloc(40 << 20).is_null());
        assert_eq!(two.shortage(), Some(Shortage::All));
        two.forgive();
        // SAFETY: it was given out above.
        unsafe { of_one.dealloc(first) };
        one.switch_to_machine();
        let second = of_two.alloc(40 << 20);
        assert!(!second.is_null());
        // SAFETY: as above.
        unsafe { of_two.dealloc(second) };
        drop((one, two, of_one, of_two));
        assert_eq!(taken.load(Ordering::Relaxed), 0);
    }
}
