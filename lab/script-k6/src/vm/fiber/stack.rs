//! Stacks of coroutines: cut from large mappings, with a guard beneath each, used again and again.
//!
//! A stack is mostly address space: of its 512 KiB a user touches about four pages. A guard made by `mprotect` splits
//! its mapping, so that each stack costs two memory maps: 20,000 stacks 40,000, which fits in the usual limit of
//! 65,530 (`vm.max_map_count`) beside what else a process maps. Linux 6.13 and later mark guards in the page tables
//! (`MADV_GUARD_INSTALL`), and then a slab is one map.

#![expect(unsafe_code, reason = "stacks are cut from mappings")]

use corosensei::stack::valgrind::ValgrindStackRegistration;
use corosensei::stack::{Stack, StackPointer};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::rc::Rc;

/// Address space of one stack, its guard included.
const STACK_BYTES: usize = 512 << 10;
/// Larger than any frame of C code that does not probe its stack; a multiple of all page sizes of Linux but the
/// rarest.
const GUARD_BYTES: usize = 64 << 10;
/// Stacks mapped at a time.
const SLAB_STACKS: usize = 32;
/// Stacks begin at this many different distances from their ends, or the live part of all would fall on the same
/// lines of the cache.
const COLOURS: usize = 8;
const COLOUR_BYTES: usize = 4 << 10;
/// The stack on which a thread runs what is no iteration, such as init code.
const LARGE_BYTES: usize = 4 << 20;
/// Kept beneath the deepest frame that is known of a stack at rest: for the registers that a switch saves there.
const MARGIN_BYTES: usize = 2 << 10;
/// Since Linux 6.13; older kernels answer that they do not know it.
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// The stacks of one thread.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    free: RefCell<Vec<StackPlace>>,
    slabs: RefCell<Vec<Slab>>,
    taken: Cell<usize>,
}

#[derive(Debug, Clone, Copy)]
struct StackPlace {
    low: NonNull<u8>,
    colour: usize,
}

#[derive(Debug)]
struct Slab {
    _known: Vec<KnownToValgrind>,
    _mapping: Mapping,
}

/// Memory for one coroutine at a time; given back when dropped.
#[derive(Debug)]
pub(crate) struct PooledStack {
    place: StackPlace,
    pool: Rc<Stacks>,
}

/// A stack of its own, for what runs deep.
#[derive(Debug)]
pub(crate) struct LargeStack {
    mapping: Mapping,
    _known: KnownToValgrind,
}

/// Tells Valgrind that a range is a stack; elsewhere it does nothing.
struct KnownToValgrind {
    _registration: ValgrindStackRegistration,
}

#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Stacks {
    pub(crate) fn take(self: &Rc<Self>) -> io::Result<PooledStack> {
        if self.free.borrow().is_empty() {
            self.grow()?;
        }
        let place = self.free.borrow_mut().pop().expect("the pool has grown");
        self.taken.set(self.taken.get() + 1);
        Ok(PooledStack { place, pool: Rc::clone(self) })
    }

    /// How many are in use.
    pub(crate) fn taken(&self) -> usize {
        self.taken.get()
    }

    fn grow(&self) -> io::Result<()> {
        let slab = Mapping::new(SLAB_STACKS * STACK_BYTES)?;
        let mut places = Vec::with_capacity(SLAB_STACKS);
        let mut known = Vec::with_capacity(SLAB_STACKS);
        for index in 0..SLAB_STACKS {
            let offset = index * STACK_BYTES;
            slab.guard(offset)?;
            // SAFETY: the offset is within the mapping.
            let low = unsafe { slab.start.add(offset) };
            known.push(KnownToValgrind::new(low, STACK_BYTES));
            places.push(StackPlace { low, colour: index % COLOURS });
        }
        self.free.borrow_mut().extend(places.into_iter().rev());
        self.slabs.borrow_mut().push(Slab { _known: known, _mapping: slab });
        Ok(())
    }
}

impl PooledStack {
    /// The lowest address that may be written to.
    pub(crate) fn floor(&self) -> usize {
        self.place.low.as_ptr() as usize + GUARD_BYTES
    }
}

/// Gives the system back the whole pages of a stack at rest that lie beneath all its frames.
///
/// # Safety
/// Nothing runs on the stack, which reaches down to `floor` and in which nothing beneath `frame` is used any more.
pub(crate) unsafe fn release_beneath(frame: usize, floor: usize) {
    let page = rustix::param::page_size();
    let low = floor.next_multiple_of(page);
    let high = frame.saturating_sub(MARGIN_BYTES) / page * page;
    if high > low {
        // SAFETY: the pages are the stack's, and nobody reads them before writing. A system that refuses keeps them.
        unsafe { libc::madvise(low as *mut libc::c_void, high - low, libc::MADV_DONTNEED) };
    }
}

impl Drop for PooledStack {
    fn drop(&mut self) {
        self.pool.taken.set(self.pool.taken.get() - 1);
        self.pool.free.borrow_mut().push(self.place);
    }
}

// SAFETY: between `limit` and `base` lies memory that nothing else uses while this value lives, with a guard at its
// lower end; both are multiples of the page size. The mapping lives as long as the pool, which the value holds.
unsafe impl Stack for PooledStack {
    fn base(&self) -> StackPointer {
        let end = self.place.low.as_ptr() as usize + STACK_BYTES - self.place.colour * COLOUR_BYTES;
        StackPointer::new(end).expect("a mapping does not begin at address 0")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.place.low.as_ptr() as usize).expect("a mapping does not begin at address 0")
    }
}

impl LargeStack {
    pub(crate) fn new() -> io::Result<Self> {
        let mapping = Mapping::new(LARGE_BYTES)?;
        mapping.guard(0)?;
        let known = KnownToValgrind::new(mapping.start, mapping.bytes);
        Ok(Self { mapping, _known: known })
    }

    pub(crate) fn floor(&self) -> usize {
        self.mapping.start.as_ptr() as usize + GUARD_BYTES
    }
}

// SAFETY: as with `PooledStack`; the mapping is the value's own.
unsafe impl Stack for LargeStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.mapping.start.as_ptr() as usize + self.mapping.bytes)
            .expect("a mapping does not begin at address 0")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.mapping.start.as_ptr() as usize)
            .expect("a mapping does not begin at address 0")
    }
}

impl KnownToValgrind {
    fn new(low: NonNull<u8>, bytes: usize) -> Self {
        Self { _registration: ValgrindStackRegistration::new(low.as_ptr(), bytes) }
    }
}

impl fmt::Debug for KnownToValgrind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownToValgrind").finish_non_exhaustive()
    }
}

impl Mapping {
    fn new(bytes: usize) -> io::Result<Self> {
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: a new mapping at an address of the system's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("a mapping does not begin at address 0");
        let mapping = Self { start, bytes };
        #[cfg(target_os = "linux")]
        // SAFETY: advice on the mapping just made. Huge pages would make all of a slab resident at its first touch; a
        // system that knows none refuses, which is as good.
        unsafe {
            libc::madvise(mapping.start.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE);
        }
        Ok(mapping)
    }

    /// Makes what begins at the offset untouchable.
    fn guard(&self, offset: usize) -> io::Result<()> {
        // SAFETY: the offset is within the mapping.
        let start = unsafe { self.start.add(offset) }.as_ptr().cast();
        // SAFETY: nothing has been put there yet.
        if unsafe { libc::madvise(start, GUARD_BYTES, MADV_GUARD_INSTALL) } == 0 {
            return Ok(());
        }
        // SAFETY: as above.
        if unsafe { libc::mprotect(start, GUARD_BYTES, libc::PROT_NONE) } == 0 {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and stacks in it hold the pool that holds it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn stacks_are_used_again_and_do_not_overlap() {
        let pool = Rc::new(Stacks::default());
        let mut stacks: Vec<_> = (0..SLAB_STACKS + 5).map(|_| pool.take().unwrap()).collect();
        assert_eq!(pool.taken(), SLAB_STACKS + 5);
        let mut ranges: Vec<_> = stacks.iter().map(|stack| (stack.limit(), stack.base())).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        let last = stacks.pop().unwrap().base();
        assert_eq!(pool.take().unwrap().base(), last);
        drop(stacks);
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn all_of_a_stack_above_its_guard_can_be_written() {
        let pool = Rc::new(Stacks::default());
        let stack = pool.take().unwrap();
        for address in (stack.floor()..stack.base().get()).step_by(512) {
            // SAFETY: within the stack, which nothing uses.
            unsafe { (address as *mut u8).write_volatile(1) };
        }
    }

    #[test]
    fn what_lies_beneath_the_frames_of_a_stack_at_rest_is_given_back() {
        let pool = Rc::new(Stacks::default());
        let stack = pool.take().unwrap();
        let (floor, base) = (stack.floor(), stack.base().get());
        let frame = base - 5_000;
        for address in floor..base {
            // SAFETY: within the stack, which nothing uses.
            unsafe { (address as *mut u8).write_volatile(1) };
        }
        // SAFETY: as above.
        unsafe { release_beneath(frame, floor) };
        // SAFETY: as above.
        let byte = |address: usize| unsafe { (address as *const u8).read_volatile() };
        assert!((frame - MARGIN_BYTES..base).all(|address| byte(address) == 1));
        // The pages of anonymous memory come back empty (madvise(2)); elsewhere than on Linux they may be kept.
        let lowest = frame - MARGIN_BYTES - rustix::param::page_size();
        assert!(!cfg!(target_os = "linux") || (floor..lowest).all(|address| byte(address) == 0));
        // A frame at the floor leaves nothing to give back.
        // SAFETY: as above.
        unsafe { release_beneath(floor + 10, floor) };
    }

    #[test]
    fn what_is_beneath_a_stack_cannot_be_touched() {
        let (_reader, writer) = io::pipe().unwrap();
        let pool = Rc::new(Stacks::default());
        let stacks = [pool.take().unwrap(), pool.take().unwrap()];
        // The system reads a byte in our place, and says where it may not.
        let can_be_read = |address: usize| {
            // SAFETY: the system checks the address.
            unsafe { libc::write(writer.as_raw_fd(), address as *const _, 1) == 1 }
        };
        for stack in &stacks {
            assert!(can_be_read(stack.floor()) && can_be_read(stack.base().get() - 1));
            assert!(!can_be_read(stack.floor() - 1) && !can_be_read(stack.limit().get()));
        }
    }

    #[test]
    fn many_stacks_take_few_memory_maps() {
        let pool = Rc::new(Stacks::default());
        let stacks: Vec<_> = (0..1_000).map(|_| pool.take().unwrap()).collect();
        let lowest = stacks.iter().map(PooledStack::floor).min().unwrap();
        let highest = stacks.iter().map(|stack| stack.base().get()).max().unwrap();
        // Other tests of this process map memory at the same time, most of it elsewhere.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let begin = |line: &str| usize::from_str_radix(line.split('-').next()?, 16).ok();
        let between =
            maps.lines().filter_map(begin).filter(|begin| (lowest..highest).contains(begin)).count();
        assert!(between <= 2 * stacks.len() + 10, "{between}");
    }
}
