//! Makes an index of what is there beside those who write: some slots at a time, with the store's lock for each turn alone.
//!
//! It is kept up with what is written from its beginning on, and nobody asks it before it has all.

use crate::error::{Refusal, WriteError};
use crate::index::property_index::PropertyIndex;
use crate::memory::Memory;
use crate::snapshot::throttle::{Share, Throttle};
use crate::state::Shared;
use crate::store::Store;
use crate::types::change::Side;
use crate::types::schema::Schema;
use std::sync::{Arc, PoisonError};

/// As `detach.rs` has it.
const SHARE: Share = Share { of_free: 0.75, least: 0.25 };

/// An index that is being made.
struct BegunIndex {
    memory: Arc<Memory>,
    side: Side,
    /// Type and property.
    of: (u16, u16),
    index: Arc<PropertyIndex>,
}

impl Store {
    /// As [`Write::index`](crate::Write::index), durable on return, for a type that may have many nodes or relationships: readers and writers
    /// go on meanwhile. One is made at a time. Blocks.
    ///
    /// # Errors
    /// There is no index then.
    pub fn make_index(&self, side: Side, of: &str, name: &str) -> Result<(), WriteError> {
        let _one = self.making_index.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(begun) = begin(&self.shared, side, of, name)? else {
                // It is there, or is to be refused.
                return self.write_and_wait(|write| write.index(side, of, name));
            };
            if !fill(&self.shared, &begun) {
                // Its property or its graph has gone, or there is an index now.
                continue;
            }
            let made = self.write_and_wait(|write| {
                let (number, property) = write.property(side, of, name)?;
                let is_it = !property.is_indexed && (number, property.number) == begun.of;
                if is_it && is_kept_up(&write.schema, &begun) {
                    write.index_with(side, begun.of, Arc::clone(&begun.index));
                    return Ok(true);
                }
                Ok(false)
            });
            match made {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    give_up(&self.shared, &begun);
                    return Err(error);
                }
            }
        }
    }
}

/// None where there is nothing to make.
fn begin(shared: &Shared, side: Side, of: &str, name: &str) -> Result<Option<BegunIndex>, Refusal> {
    let _queue = shared.lock();
    let memory = shared.state.memory.load_full();
    let mut schema = Schema::clone(&memory.schema.load());
    let (number, found) = schema.side(side).find(of).ok_or(Refusal::NoType)?;
    let property = *found.properties.get(name).ok_or(Refusal::NoProperty)?;
    if property.is_indexed || !PropertyIndex::can_have(property.kind) {
        return Ok(None);
    }
    let index = Arc::<PropertyIndex>::default();
    schema.begin_index(side, number, property.number, Arc::clone(&index));
    memory.schema.store(Arc::new(schema));
    Ok(Some(BegunIndex { memory, side, of: (number, property.number), index }))
}

fn is_kept_up(schema: &Schema, begun: &BegunIndex) -> bool {
    schema.side(begun.side).get(begun.of.0).is_some_and(|of| of.has_begun(&begun.index))
}

/// Adds all that is there; false where it is not kept up any more.
fn fill(shared: &Shared, begun: &BegunIndex) -> bool {
    let BegunIndex { memory, side, of: (of, number), index } = begun;
    let urgency = || 0.0;
    let mut throttle = Throttle::new(SHARE, &urgency);
    let mut slots = memory.slots_of(*side, *of).peekable();
    while slots.peek().is_some() {
        let queue = shared.lock();
        let is_current = Arc::ptr_eq(&shared.state.memory.load(), memory);
        if !is_current || !is_kept_up(&memory.schema.load(), begun) {
            return false;
        }
        let guard = crossbeam_epoch::pin();
        for at in slots.by_ref() {
            memory.add_to_index(index, (*side, at, *number), &guard);
            if throttle.is_rest_due() {
                break;
            }
        }
        drop(guard);
        drop(queue);
        throttle.rest();
    }
    true
}

fn give_up(shared: &Shared, begun: &BegunIndex) {
    let _queue = shared.lock();
    let mut schema = Schema::clone(&begun.memory.schema.load());
    schema.give_up_index(begun.side, begun.of.0, &begun.index);
    begun.memory.schema.store(Arc::new(schema));
}
