//! Slices that one writer replaces while readers go on reading the old ones: all of the store's unsafe code.
//!
//! An old slice is freed once no reader can hold it any more (epochs: K. Fraser, "Practical lock-freedom", 2004, as in
//! crossbeam). Nothing here decides what is written.

#![expect(unsafe_code, reason = "readers follow pointers that a writer replaces, without a lock")]

use crossbeam_epoch::{Atomic, Guard, Owned, Shared};
use std::fmt;
use std::mem::{MaybeUninit, needs_drop};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Values of which every byte pattern that was written can be read, and that need nothing done when they go.
pub(crate) trait Plain: Send + Sync + Sized + 'static {}
impl Plain for u8 {}
impl Plain for AtomicU64 {}

/// A slice or none. Eight bytes, and eight more for the length where there is one.
///
/// There is one writer at a time: the store's lock sees to that. Two would lose a slice but break nothing.
pub(crate) struct SliceCell<T: Plain>(Atomic<[MaybeUninit<T>]>);

impl<T: Plain> Default for SliceCell<T> {
    fn default() -> Self {
        const { assert!(!needs_drop::<T>()) };
        Self(Atomic::null())
    }
}

impl<T: Plain> SliceCell<T> {
    pub(crate) fn load<'g>(&self, guard: &'g Guard) -> Option<&'g [T]> {
        let slice = {
            let shared = self.0.load(Acquire, guard);
            // SAFETY: it is null or was made by `replace`, which wrote every element before it published the pointer
            // with Release; it is freed no earlier than `guard` allows, because it is freed by `defer_destroy` alone, or
            // by `drop`, which has the cell for itself.
            unsafe { shared.as_ref() }?
        };
        // SAFETY: all elements were written, and `MaybeUninit<T>` lies in memory as `T` does.
        Some(unsafe { &*(std::ptr::from_ref(slice) as *const [T]) })
    }

    pub(crate) fn replace(&self, values: impl ExactSizeIterator<Item = T>, guard: &Guard) {
        let length = values.len();
        let mut slice = Owned::<[MaybeUninit<T>]>::init(length);
        let mut written = 0;
        for (place, value) in slice.iter_mut().zip(values) {
            place.write(value);
            written += 1;
        }
        assert_eq!(written, length, "an iterator gives as many values as it says");
        let old = self.0.swap(slice.into_shared(guard), std::sync::atomic::Ordering::AcqRel, guard);
        Self::retire(old, guard);
    }

    pub(crate) fn clear(&self, guard: &Guard) {
        let old = self.0.swap(Shared::null(), std::sync::atomic::Ordering::AcqRel, guard);
        Self::retire(old, guard);
    }

    fn retire(old: Shared<'_, [MaybeUninit<T>]>, guard: &Guard) {
        if !old.is_null() {
            // SAFETY: the swap has taken it out of the only place from which readers get it, and gave it to this call
            // alone.
            unsafe { guard.defer_destroy(old) };
        }
    }
}

impl SliceCell<u8> {
    /// Some bytes, one part behind the other.
    pub(crate) fn replace_with_parts<const N: usize>(&self, parts: [&[u8]; N], guard: &Guard) {
        let length = parts.iter().map(|part| part.len()).sum();
        let mut slice = Owned::<[MaybeUninit<u8>]>::init(length);
        let mut rest = &mut slice[..];
        for part in parts {
            let (place, behind) = rest.split_at_mut(part.len());
            // SAFETY: both have the length of the part, and the place was made here, so they do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), place.as_mut_ptr().cast(), part.len()) };
            rest = behind;
        }
        let old = self.0.swap(slice.into_shared(guard), std::sync::atomic::Ordering::AcqRel, guard);
        Self::retire(old, guard);
    }
}

impl<T: Plain> Drop for SliceCell<T> {
    fn drop(&mut self) {
        // SAFETY: the cell is nobody else's, so no thread reads or writes it.
        let guard = unsafe { crossbeam_epoch::unprotected() };
        let last = self.0.swap(Shared::null(), Relaxed, guard);
        if !last.is_null() {
            // SAFETY: as above; it was never retired, because it was still in its place.
            drop(unsafe { last.into_owned() });
        }
    }
}

impl<T: Plain> fmt::Debug for SliceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SliceCell")
    }
}

/// Zeros, for which the system gives memory only where it is touched: a new table must not cost the time to write it.
pub(crate) fn zeroed(count: usize) -> Box<[AtomicU64]> {
    let words = vec![0_u64; count].into_boxed_slice();
    // SAFETY: `AtomicU64` has the size, the alignment and the bit validity of `u64`, and the box is nobody else's.
    unsafe { Box::from_raw(Box::into_raw(words) as *mut [AtomicU64]) }
}

/// A table of words that is replaced by a larger one.
#[derive(Default)]
pub(crate) struct TableCell(Atomic<Box<[AtomicU64]>>);

impl TableCell {
    pub(crate) fn load<'g>(&self, guard: &'g Guard) -> Option<&'g [AtomicU64]> {
        let shared = self.0.load(Acquire, guard);
        // SAFETY: as in `SliceCell::load`.
        unsafe { shared.as_ref() }.map(|table| &**table)
    }

    pub(crate) fn replace(&self, table: Option<Box<[AtomicU64]>>, guard: &Guard) {
        let new = table.map_or_else(Shared::null, |table| Owned::new(table).into_shared(guard));
        let old = self.0.swap(new, std::sync::atomic::Ordering::AcqRel, guard);
        if !old.is_null() {
            // SAFETY: as in `SliceCell::retire`.
            unsafe { guard.defer_destroy(old) };
        }
    }
}

/// The present table becomes the previous one, which must be empty, and a new one takes its place. A reader that loads
/// the present one first finds the old one in one of both at any moment.
pub(crate) fn push_down(present: &TableCell, previous: &TableCell, new: Box<[AtomicU64]>, guard: &Guard) {
    let old = present.0.load(Acquire, guard);
    let before = previous.0.swap(old, std::sync::atomic::Ordering::AcqRel, guard);
    assert!(before.is_null(), "a table would be lost");
    // The old one has a new owner, so it is not retired here.
    present.0.swap(Owned::new(new).into_shared(guard), std::sync::atomic::Ordering::AcqRel, guard);
}

impl Drop for TableCell {
    fn drop(&mut self) {
        // SAFETY: the cell is nobody else's.
        let guard = unsafe { crossbeam_epoch::unprotected() };
        let last = self.0.swap(Shared::null(), Release, guard);
        if !last.is_null() {
            // SAFETY: it was still in its place, so it was never retired.
            drop(unsafe { last.into_owned() });
        }
    }
}

impl fmt::Debug for TableCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TableCell")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn readers_see_whole_slices_while_they_are_replaced() {
        let cell = SliceCell::<u8>::default();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let guard = crossbeam_epoch::pin();
                        if let Some(slice) = cell.load(&guard) {
                            assert!(slice.iter().all(|byte| *byte as usize == slice.len()), "{slice:?}");
                        }
                    }
                });
            }
            for round in 0..20_000_usize {
                let guard = crossbeam_epoch::pin();
                let length = round % 200;
                match length {
                    0 => cell.clear(&guard),
                    _ => cell.replace((0..length).map(|_| length as u8), &guard),
                }
            }
            is_over.store(true, Relaxed);
        });
    }
    /// A table of one word.
    fn table(word: u64) -> Box<[AtomicU64]> {
        Box::new([AtomicU64::new(word)])
    }

    #[test]
    fn a_table_that_is_pushed_down_is_found_in_one_of_both_places() {
        let (present, previous) = (TableCell::default(), TableCell::default());
        present.replace(Some(table(0)), &crossbeam_epoch::pin());
        // Up to this one, tables are needed no more.
        let given_up = AtomicU64::new(0);
        let is_over = AtomicBool::new(false);
        let word = |table: &[AtomicU64]| table[0].load(Relaxed);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let guard = crossbeam_epoch::pin();
                        let new = present.load(&guard).map(word).expect("there is always one");
                        let old = previous.load(&guard).map(word);
                        let given_up = given_up.load(Acquire);
                        // The one before the new one is there, or a later one, or it was given up.
                        let is_found = old.is_some_and(|old| old + 1 >= new) || given_up + 1 >= new;
                        assert!(is_found, "{new}, {old:?}, {given_up}");
                    }
                });
            }
            for round in 1..20_000 {
                let guard = crossbeam_epoch::pin();
                push_down(&present, &previous, table(round), &guard);
                given_up.store(round - 1, Release);
                previous.replace(None, &guard);
            }
            is_over.store(true, Relaxed);
        });
    }
}
