//! JavaScript's memory of one thread, counted and bounded.
//!
//! At the limit one piece is refused, which is an exception in the script that wanted it. From then on a reserve is
//! given out in small pieces, because QuickJS needs memory to throw, to unwind and to reject promises (without it, it
//! ends the process), and the user that ran into the limit is cut.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use rquickjs::allocator::Allocator;
use std::cell::Cell;
use std::rc::Rc;

/// For unwinding beyond the limit.
const RESERVE_BYTES: usize = 64 << 20;
/// The largest piece of the reserve.
const RESERVE_PIECE_BYTES: usize = 64 << 10;
/// What the system's allocator keeps with each piece.
const OVERHEAD_BYTES: usize = 8;

/// Shared by the allocator and the machine of a thread.
#[derive(Debug)]
pub(crate) struct Memory {
    used: Cell<usize>,
    limit: usize,
    is_short: Cell<bool>,
}

/// What QuickJS allocates with: the C library's functions.
pub(super) struct Bounded(pub(super) Rc<Memory>);

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { used: Cell::new(0), limit, is_short: Cell::new(false) }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// True since a piece was refused, until [`Self::forgive`].
    pub(super) fn is_short(&self) -> bool {
        self.is_short.get()
    }

    pub(super) fn forgive(&self) {
        self.is_short.set(false);
    }

    fn allows(&self, size: usize) -> bool {
        let wanted = self.used.get().saturating_add(size);
        if wanted <= self.limit {
            return true;
        }
        if self.is_short.get() {
            return size <= RESERVE_PIECE_BYTES && wanted <= self.limit.saturating_add(RESERVE_BYTES);
        }
        self.is_short.set(true);
        false
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
}

// SAFETY: the C library's functions do what is asked of them; where the limit is reached the answer is null.
unsafe impl Allocator for Bounded {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.0.allows(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        self.0.took(unsafe { libc::malloc(size) }.cast())
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !self.0.allows(count.saturating_mul(size)) {
            return std::ptr::null_mut();
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
                return std::ptr::null_mut();
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

    #[test]
    fn beyond_the_limit_one_piece_is_refused_and_small_ones_are_not() {
        let memory = Rc::new(Memory::new(1 << 20));
        let mut allocator = Bounded(Rc::clone(&memory));
        let first = allocator.alloc(1 << 19);
        assert!(!first.is_null() && !memory.is_short());
        assert!(allocator.calloc(2, 1 << 19).is_null() && memory.is_short());
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
}
