//! An allocator that counts the calls of each thread, once somebody has asked for the count: until then a call costs a look
//! at a flag. A program that wants the counts makes it its global allocator.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

thread_local! {
    // Without a destructor, so that it can be counted to the end of a thread, and without allocating.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Debug)]
pub struct CountingAllocator;

// SAFETY: every call goes to the system's allocator unchanged; a `realloc` counts as one.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        counted(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        counted(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        counted(|| unsafe { System.realloc(pointer, layout, size) })
    }
}

#[inline]
fn counted(allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    if IS_COUNTING.load(Relaxed) { count(allocate) } else { allocate() }
}

/// Out of line, so that a call that is not counted saves no registers for it.
#[cold]
#[inline(never)]
fn count(allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    CALLS.with(|calls| calls.set(calls.get() + 1));
    allocate()
}

/// Of the calling thread since somebody has asked first. 0 where [`CountingAllocator`] is not the program's allocator.
pub fn allocations() -> u64 {
    IS_COUNTING.store(true, Relaxed);
    CALLS.with(Cell::get)
}
