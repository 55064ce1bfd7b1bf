//! What takes changes back that the log could not be given, and what they have replaced, for those who listen.

use crate::index::property_index::PropertyIndex;
use crate::memory::Memory;
use crate::memory::free::WriterState;
use crate::types::change::Change;
use arc_swap::ArcSwap;
use prony_log::codec::Input;
use std::sync::Arc;
use std::time::Duration;

/// One step for each change, the last of which is taken back first.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    pub(crate) bytes: Vec<u8>,
    steps: Vec<UndoStep>,
}

#[derive(Debug)]
enum UndoStep {
    /// The inverse change ends here in the bytes.
    Change(usize),
    /// As [`Change`](Self::Change), of an index that was dropped. It has all that was there then, which is there again once what came
    /// later is taken back: to make it anew would hold up everybody.
    Index(Box<(usize, Arc<PropertyIndex>)>),
    /// The graph was cleared.
    Memory(Box<(Arc<Memory>, WriterState)>),
}

impl Undo {
    /// How many changes there were.
    pub(crate) const fn len(&self) -> usize {
        self.steps.len()
    }

    /// The inverse of a change has been added to the bytes, and this index is no longer there.
    pub(crate) fn push(&mut self, dropped: Option<Arc<PropertyIndex>>) {
        let end = self.bytes.len();
        self.steps.push(match dropped {
            Some(index) => UndoStep::Index(Box::new((end, index))),
            None => UndoStep::Change(end),
        });
    }

    pub(crate) fn push_memory(&mut self, memory: Arc<Memory>, state: WriterState) {
        self.steps.push(UndoStep::Memory(Box::new((memory, state))));
    }

    /// Forgets everything and keeps the room that it took.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        for step in self.steps.drain(..) {
            match step {
                UndoStep::Memory(before) => free(before.0),
                UndoStep::Index(dropped) => free(dropped.1),
                UndoStep::Change(_) => {}
            }
        }
    }

    /// The inverse of each change, in the order of the changes; none where there is none.
    pub(crate) fn inverses(&self) -> impl Iterator<Item = Option<Change<'_>>> {
        let mut begin = 0;
        self.steps.iter().map(move |step| {
            let end = step.end()?;
            let bytes = &self.bytes[begin..end];
            begin = end;
            Change::read(&mut Input::new(bytes)).ok()
        })
    }

    pub(crate) fn split_off(&mut self, steps: usize) -> Self {
        let later = self.steps.split_off(steps);
        let begin = self.bytes_before(self.steps.len());
        let bytes = self.bytes.split_off(begin);
        let moved = later.into_iter().map(|step| match step {
            UndoStep::Change(end) => UndoStep::Change(end - begin),
            UndoStep::Index(mut dropped) => {
                dropped.0 -= begin;
                UndoStep::Index(dropped)
            }
            other @ UndoStep::Memory(..) => other,
        });
        Self { bytes, steps: moved.collect() }
    }

    /// Where the bytes of a step begin.
    fn bytes_before(&self, step: usize) -> usize {
        self.steps[..step].iter().rev().find_map(UndoStep::end).unwrap_or(0)
    }

    pub(crate) fn run(mut self, state: &mut WriterState, memory: &ArcSwap<Memory>) {
        while let Some(step) = self.steps.pop() {
            match step {
                UndoStep::Memory(before) => {
                    let (old, old_state) = *before;
                    memory.store(old);
                    *state = old_state;
                }
                UndoStep::Change(end) => self.take_back(end, None, state, &memory.load()),
                UndoStep::Index(dropped) => {
                    let (end, index) = *dropped;
                    self.take_back(end, Some(index), state, &memory.load());
                }
            }
        }
    }

    /// Makes the last inverse, which ends there; with the index that it makes.
    fn take_back(
        &self,
        end: usize,
        index: Option<Arc<PropertyIndex>>,
        state: &mut WriterState,
        memory: &Memory,
    ) {
        let begin = self.bytes_before(self.steps.len());
        // A change that had nothing to do has no inverse.
        let Ok(change) = Change::read(&mut Input::new(&self.bytes[begin..end])) else { return };
        if let (Change::Index { side, of, number }, Some(index)) = (change, index) {
            state.made_index = Some(((side, of, number), index));
        }
        let gone = memory.dropped_by(&change);
        memory.apply(&change, true, state, &mut Vec::new(), &crossbeam_epoch::pin());
        if let Some(index) = gone {
            free(index);
        }
    }
}

impl UndoStep {
    /// Where the inverse change ends in the bytes.
    fn end(&self) -> Option<usize> {
        match self {
            Self::Change(end) => Some(*end),
            Self::Index(dropped) => Some(dropped.0),
            Self::Memory(_) => None,
        }
    }
}

/// A large graph or index takes long to free: neither the log's thread nor a reader that has it last is to do that.
fn free<T: Send + Sync + 'static>(large: Arc<T>) {
    let wait_and_free = move || {
        while Arc::strong_count(&large) > 1 {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    // Where no thread can be had, it is freed here.
    let _ = std::thread::Builder::new().name("graph-free".to_owned()).spawn(wait_and_free);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Refusal;
    use crate::types::change::Side;
    use crate::types::value::{Kind, Value};
    use crate::write::Write;
    use crate::writer::Writer;
    use prony_log::positions::Positions;
    use prony_log::ticket::Ticket;

    fn write(
        writer: &mut Writer,
        memory: &ArcSwap<Memory>,
        operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
    ) {
        let positions = Positions::default();
        let mark = positions.begin_write(Ticket::SETTLED);
        let written = writer.operate((memory, &mark), |pending| operate(&mut Write::new(pending)));
        assert!(written.is_ok(), "nothing is refused");
    }

    /// That of the only property.
    fn index(memory: &ArcSwap<Memory>) -> Option<Arc<PropertyIndex>> {
        memory.load().schema.load().side(Side::Nodes).get(1)?.index_of(0).cloned()
    }

    /// A graph of some nodes with an index, all of it durable.
    fn indexed() -> (Writer, ArcSwap<Memory>) {
        let (mut writer, memory) = (Writer::default(), ArcSwap::from_pointee(Memory::default()));
        write(&mut writer, &memory, |write| {
            write.make_type(Side::Nodes, "User")?;
            write.declare(Side::Nodes, "User", "age", Kind::Integer)?;
            write.index(Side::Nodes, "User", "age")?;
            (0..100).try_for_each(|age| {
                write.create_node("User", &age.to_string(), &[("age", Value::Integer(age))]).map(|_| ())
            })
        });
        std::mem::take(&mut writer.pending).attached.undo.clear();
        (writer, memory)
    }

    /// It was made anew of all nodes of the type, with the store's lock held.
    #[test]
    fn a_dropped_index_that_is_taken_back_is_the_one_that_was_there() {
        let (mut writer, memory) = indexed();
        let before = index(&memory).expect("it is there");
        write(&mut writer, &memory, |write| {
            write.create_node("User", "before", &[("age", Value::Integer(7))])?;
            write.unindex(Side::Nodes, "User", "age")?;
            write.create_node("User", "behind", &[("age", Value::Integer(7))]).map(|_| ())
        });
        assert!(index(&memory).is_none());
        // Another one, that goes with what is taken back.
        write(&mut writer, &memory, |write| write.index(Side::Nodes, "User", "age"));
        assert!(index(&memory).is_some_and(|made| !Arc::ptr_eq(&made, &before)));
        writer.roll_back(&memory);
        let after = index(&memory).expect("it is there again");
        assert!(Arc::ptr_eq(&after, &before));
        assert!(writer.state.made_index.is_none(), "it is for nobody else");
        // It has what is there, and nothing else.
        let (guard, memory) = (crossbeam_epoch::pin(), memory.load());
        let nodes = memory.slots_of(Side::Nodes, 1);
        let has_value = nodes.filter(|at| {
            let value = memory.property(Side::Nodes, *at, 0, &guard);
            value.is_some_and(|value| after.has(&value, *at, &guard))
        });
        assert_eq!((has_value.count(), after.len()), (100, 100));
    }

    #[test]
    fn a_dropped_index_that_is_durable_is_gone() {
        let (mut writer, memory) = indexed();
        let dropped = Arc::downgrade(&index(&memory).expect("it is there"));
        write(&mut writer, &memory, |write| write.unindex(Side::Nodes, "User", "age"));
        assert!(dropped.strong_count() > 0, "it may be taken back");
        std::mem::take(&mut writer.pending).attached.undo.clear();
        // On a thread of its own, as it may be large.
        while dropped.strong_count() > 0 {
            std::thread::yield_now();
        }
        assert!(index(&memory).is_none());
    }
}
