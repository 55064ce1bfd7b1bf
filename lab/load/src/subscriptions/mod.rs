//! Clients that subscribe while users publish, on threads of their own.
//!
//! An event passes: read ([`thread`], stamped before anything looks at it) → frames ([`frames`]) or server-sent events
//! ([`sse`]) → messages ([`messages`], [`link`]) → its token, and the mutation that it belongs to ([`delivery`]). Users put
//! their mutations into the queue of [`publications`]. [`requests`] writes what opens connections, [`response`] reads what
//! targets say to it; where a client has one stream for everything, its operations are started and stopped beside it
//! ([`orders`]).

mod delivery;
mod frames;
mod link;
mod messages;
mod orders;
pub(crate) mod publications;
mod requests;
mod response;
mod sse;
pub(crate) mod thread;
pub(crate) mod values;

use prony_model::Plan;
use prony_model::program::RunShare;

/// One thread reads for so many connections; it is mostly the events that make work.
const CONNECTIONS_OF_THREAD: u64 = 10_000;

/// How many threads the subscribers of a part of a plan's run get, of at most `most`.
pub(crate) fn threads_for(plan: &Plan, share: RunShare, most: u32) -> u32 {
    let needed = plan.subscriber_connections_of(share).div_ceil(CONNECTIONS_OF_THREAD);
    u32::try_from(needed).unwrap_or(u32::MAX).min(most)
}
