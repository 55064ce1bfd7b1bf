//! Numbers of traces and spans, drawn at random.

use std::cell::RefCell;

use prony_source::trace::{SpanId, TraceId};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

thread_local! {
    /// Numbers need not be secret, and are drawn for each request.
    static NUMBERS: RefCell<Option<SmallRng>> = const { RefCell::new(None) };
}

pub(super) fn new_trace_id() -> TraceId {
    let (high, low) = (number(), number());
    TraceId((u128::from(high) << 64 | u128::from(low)).max(1))
}

pub(super) fn new_span_id() -> SpanId {
    SpanId(number().max(1))
}

/// One of all.
pub(super) fn number() -> u64 {
    NUMBERS.with_borrow_mut(|numbers| numbers.get_or_insert_with(seeded).next_u64())
}

/// By the system; where that has no numbers, as hash maps are.
fn seeded() -> SmallRng {
    use std::hash::{BuildHasher as _, RandomState};
    let mut seed = [0; 32];
    if getrandom::fill(&mut seed).is_err() {
        for (index, part) in seed.chunks_mut(8).enumerate() {
            part.copy_from_slice(&RandomState::new().hash_one(index).to_ne_bytes());
        }
    }
    SmallRng::from_seed(seed)
}
