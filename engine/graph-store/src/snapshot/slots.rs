//! Reads slots for a snapshot, beside those who write, and keeps nothing of what is taken back.
//!
//! Slots are read without the store's lock, so a read may find what an operation has changed that is refused in the end: on a full disk, or where
//! a part of it is attempted in vain. That never reaches the log, which could not put the snapshot right: a node would be in it that never was, or one
//! missing that was never deleted. Who changes anything holds the lock until it is kept or taken back. So slots count only when they are
//! confirmed with the lock: where anything was taken back since they were read, each is read again, with the lock.

use crate::memory::Memory;
use crate::state::Shared;
use crate::types::change::{Change, Side};
use crate::types::id::Ref;
use crate::types::schema::Schema;
use crossbeam_epoch::Guard;
use std::sync::Arc;

/// So much is read before it is confirmed: little to read again, and the lock is taken seldom.
const UNCONFIRMED_BYTES: usize = 64 * 1024;
/// As [`UNCONFIRMED_BYTES`], of slots, of which most may be empty.
const UNCONFIRMED_SLOTS: usize = 4096;

/// Slots that were read and are not confirmed, of the graph as it was when reading began.
pub(crate) struct SlotReader<'a> {
    shared: &'a Shared,
    memory: Arc<Memory>,
    schema: Arc<Schema>,
    slots: Vec<(Side, Ref)>,
    /// What the slots hold that are filled, one change each.
    changes: Vec<u8>,
    /// Where each change ends.
    ends: Vec<usize>,
    /// How often something had been taken back before the first of the slots was read.
    taken_back: u64,
}

impl<'a> SlotReader<'a> {
    /// With the lock: neither the graph nor its schema is one that an operation has made and takes back.
    pub(crate) fn begin(shared: &'a Shared) -> Self {
        let queue = shared.lock();
        let memory = shared.state.memory.load_full();
        let schema = memory.schema.load_full();
        let taken_back = shared.positions.taken_back();
        drop(queue);
        Self { shared, memory, schema, slots: Vec::new(), changes: Vec::new(), ends: Vec::new(), taken_back }
    }

    pub(crate) fn memory(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    /// All that is of types which it does not have was made since, and is in the log.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    pub(crate) fn read(&mut self, side: Side, at: Ref, guard: &Guard) {
        self.slots.push((side, at));
        self.copy(side, at, guard);
    }

    /// Whether what was read is to be confirmed before more is read.
    pub(crate) const fn is_full(&self) -> bool {
        self.changes.len() >= UNCONFIRMED_BYTES || self.slots.len() >= UNCONFIRMED_SLOTS
    }

    /// Gives what each slot holds that is filled, as nothing takes it back any more but a log that fails; how many those are.
    pub(crate) fn confirm<E>(
        &mut self,
        guard: &Guard,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut slots = std::mem::take(&mut self.slots);
        if self.is_taken_back_since() {
            self.changes.clear();
            self.ends.clear();
            for (side, at) in &slots {
                self.read_locked(*side, *at, guard);
            }
        }
        slots.clear();
        self.slots = slots;
        let (mut begin, filled) = (0, self.ends.len() as u64);
        for end in self.ends.drain(..) {
            take(&self.changes[begin..end])?;
            begin = end;
        }
        self.changes.clear();
        Ok(filled)
    }

    fn is_taken_back_since(&mut self) -> bool {
        let queue = self.shared.lock();
        let taken_back = self.shared.positions.taken_back();
        drop(queue);
        std::mem::replace(&mut self.taken_back, taken_back) != taken_back
    }

    /// With the lock for this slot alone, so that those who write wait for no more.
    fn read_locked(&mut self, side: Side, at: Ref, guard: &Guard) {
        let shared = self.shared;
        let queue = shared.lock();
        self.taken_back = shared.positions.taken_back();
        self.copy(side, at, guard);
        drop(queue);
    }

    fn copy(&mut self, side: Side, at: Ref, guard: &Guard) {
        let before = self.changes.len();
        match side {
            Side::Nodes => {
                if let Some((key, properties)) = self.memory.node(at, guard) {
                    Change::PutNode { at, key, properties }.write(&mut self.changes);
                }
            }
            Side::Relationships => {
                if let Some(ends) = self.memory.shown_relationship(at, guard) {
                    let (from, to, properties) = (ends.from, ends.to, ends.properties);
                    Change::PutRelationship { at, from, to, properties }.write(&mut self.changes);
                }
            }
        }
        if self.changes.len() > before {
            self.ends.push(self.changes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses::options;
    use crate::types::value::{Kind, Value};
    use crate::write::{Keep, Write};
    use crate::{Durability, Refusal, Store};
    use prony_log::losses::directory;

    /// Three nodes of which the first leads to the others.
    fn store(directory: &std::path::Path) -> Store {
        let store = Store::open(directory, options(Durability::Sync)).unwrap();
        let made = store.write_and_wait(|write| {
            write.make_type(Side::Nodes, "N")?;
            write.declare(Side::Nodes, "N", "age", Kind::Integer)?;
            let nodes = ["a", "b", "c"].map(|key| write.create_node("N", key, &[("age", Value::Integer(1))]));
            let [a, b, c] = nodes;
            let a = a?;
            write.create_relationship("R", a, b?, &[])?;
            write.create_relationship("R", a, c?, &[])
        });
        made.unwrap();
        store
    }

    fn read_all(slots: &mut SlotReader<'_>, guard: &Guard) {
        let (memory, schema) = (slots.memory(), slots.schema());
        for side in [Side::Nodes, Side::Relationships] {
            for (number, _) in schema.side(side).all() {
                memory.slots_of(side, number).for_each(|at| slots.read(side, at, guard));
            }
        }
    }

    fn confirmed(slots: &mut SlotReader<'_>, guard: &Guard) -> Vec<Vec<u8>> {
        let mut changes = Vec::new();
        let confirmed = slots.confirm(guard, |change| {
            changes.push(change.to_vec());
            Ok::<_, ()>(())
        });
        assert_eq!(confirmed, Ok(changes.len() as u64));
        changes
    }

    /// Deletes, changes and makes.
    fn change_all(write: &mut Write<'_>) -> Result<(), Refusal> {
        let [a, b] = ["a", "b"].map(|key| write.find("N", key).expect("it was made"));
        write.delete_node(b)?;
        write.set_node(a, &[("age", Value::Integer(2))], Keep::Others)?;
        let ghost = write.create_node("N", "ghost", &[])?;
        write.create_relationship("R", a, ghost, &[]).map(drop)
    }

    /// Reads everything in the middle of a write; what was read then, and what is confirmed after it.
    fn read_amid(
        store: &Store,
        amid: impl FnOnce(&mut Write<'_>, &mut dyn FnMut()) -> Result<(), Refusal>,
    ) -> [Vec<u8>; 2] {
        let guard = crossbeam_epoch::pin();
        let mut slots = SlotReader::begin(&store.shared);
        let mut seen = Vec::new();
        // The outcome is the case's.
        let _ = store.write_and_wait(|write| {
            amid(write, &mut || {
                read_all(&mut slots, &guard);
                seen.clone_from(&slots.changes);
            })
        });
        [seen, confirmed(&mut slots, &guard).concat()]
    }

    fn read_quietly(store: &Store) -> Vec<u8> {
        let [_, confirmed] = read_amid(store, |_, read| {
            read();
            Ok(())
        });
        confirmed
    }

    /// What was read in that moment stayed in the snapshot.
    #[test]
    fn nothing_of_a_write_that_is_refused_is_confirmed() {
        let directory = directory();
        let store = store(directory.path());
        let before = read_quietly(&store);
        let [seen, confirmed] = read_amid(&store, |write, read| {
            change_all(write)?;
            read();
            Err(Refusal::DiskFull)
        });
        assert_ne!(seen, before, "the write was seen");
        assert_eq!(confirmed, before);
    }

    #[test]
    fn nothing_of_an_attempt_that_fails_is_confirmed_and_what_its_write_keeps_is() {
        let directory = directory();
        let store = store(directory.path());
        let before = read_quietly(&store);
        let [seen, confirmed] = read_amid(&store, |write, read| {
            let failed = write.attempt(|write| {
                change_all(write)?;
                read();
                Err::<(), _>(Refusal::DiskFull)
            });
            assert_eq!(failed, Err(Refusal::DiskFull));
            let a = write.find("N", "a").expect("it was made");
            write.set_node(a, &[("age", Value::Integer(3))], Keep::Others)
        });
        assert_ne!(seen, before, "the attempt was seen");
        assert_ne!(confirmed, before, "its write is kept");
        assert_eq!(confirmed, read_quietly(&store));
    }

    #[test]
    fn a_graph_that_is_cleared_in_vain_is_confirmed_whole() {
        let directory = directory();
        let store = store(directory.path());
        let before = read_quietly(&store);
        let [_, confirmed] = read_amid(&store, |write, read| {
            write.clear();
            write.create_node("N", "ghost", &[])?;
            read();
            Err(Refusal::DiskFull)
        });
        assert_eq!(confirmed, before);
    }

    #[test]
    fn what_is_confirmed_once_is_not_confirmed_again() {
        let directory = directory();
        let store = store(directory.path());
        let guard = crossbeam_epoch::pin();
        let mut slots = SlotReader::begin(&store.shared);
        read_all(&mut slots, &guard);
        assert_eq!(confirmed(&mut slots, &guard).len(), 5, "three nodes and two relationships");
        assert_eq!(confirmed(&mut slots, &guard), Vec::<Vec<u8>>::new());
    }
}
