//! The memory of the whole process: [`bound`] has new work refused when it is used up, [`granted`] finds how much there is, [`heap`]
//! gives back what is free.

mod bound;
mod granted;
mod heap;

pub(crate) use self::{bound::MemoryBound, heap::give_back};
