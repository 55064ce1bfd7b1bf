//! Counts that several servers share in a store. Each server takes units of a limit and key ahead, and admits operations by these
//! without asking the store; what it takes ahead is bounded, lives a short time, and is given back where nobody uses it. Here is what
//! a server has and asks for: the store's end of it, and how it is reached, are not known here.

mod allowance;
mod call;
mod counts;
#[cfg(test)]
mod tests;

pub(crate) use self::{allowance::Attempt, counts::SharedLimit};
pub use self::{
    call::{SharedBound, StoreCall, StoreReply, Verdict},
    counts::{SharedCounts, SharedSettings, WhenUnreachable},
};
