//! What takes changes back that the log could not be given, and what they have replaced, for those who listen.

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
    /// The graph was cleared.
    Memory(Box<(Arc<Memory>, WriterState)>),
}

impl Undo {
    /// How many changes there were.
    pub(crate) const fn len(&self) -> usize {
        self.steps.len()
    }

    /// The inverse of a change has been added to the bytes.
    pub(crate) fn push(&mut self) {
        self.steps.push(UndoStep::Change(self.bytes.len()));
    }

    pub(crate) fn push_memory(&mut self, memory: Arc<Memory>, state: WriterState) {
        self.steps.push(UndoStep::Memory(Box::new((memory, state))));
    }

    /// Forgets everything and keeps the room that it took.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        for step in self.steps.drain(..) {
            if let UndoStep::Memory(before) = step {
                free(before.0);
            }
        }
    }

    /// The inverse of each change, in the order of the changes; none where there is none.
    pub(crate) fn inverses(&self) -> impl Iterator<Item = Option<Change<'_>>> {
        let mut begin = 0;
        self.steps.iter().map(move |step| match step {
            UndoStep::Memory(..) => None,
            UndoStep::Change(end) => {
                let bytes = &self.bytes[begin..*end];
                begin = *end;
                Change::read(&mut Input::new(bytes)).ok()
            }
        })
    }

    pub(crate) fn split_off(&mut self, steps: usize) -> Self {
        let later = self.steps.split_off(steps);
        let begin = self.bytes_before(self.steps.len());
        let bytes = self.bytes.split_off(begin);
        let moved = later.into_iter().map(|step| match step {
            UndoStep::Change(end) => UndoStep::Change(end - begin),
            other @ UndoStep::Memory(..) => other,
        });
        Self { bytes, steps: moved.collect() }
    }

    /// Where the bytes of a step begin.
    fn bytes_before(&self, step: usize) -> usize {
        let ends = self.steps[..step].iter().rev().find_map(|step| match step {
            UndoStep::Change(end) => Some(*end),
            UndoStep::Memory(..) => None,
        });
        ends.unwrap_or(0)
    }

    pub(crate) fn run(mut self, state: &mut WriterState, memory: &ArcSwap<Memory>) {
        while let Some(step) = self.steps.pop() {
            match step {
                UndoStep::Memory(before) => {
                    let (old, old_state) = *before;
                    memory.store(old);
                    *state = old_state;
                }
                UndoStep::Change(end) => {
                    let begin = self.bytes_before(self.steps.len());
                    let guard = crossbeam_epoch::pin();
                    // A change that had nothing to do has no inverse.
                    if let Ok(change) = Change::read(&mut Input::new(&self.bytes[begin..end])) {
                        memory.load().apply(&change, true, state, &mut Vec::new(), &guard);
                    }
                }
            }
        }
    }
}

/// A large graph takes long to free: neither the log's thread nor a reader that has it last is to do that.
fn free(memory: Arc<Memory>) {
    let wait_and_free = move || {
        while Arc::strong_count(&memory) > 1 {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    // Where no thread can be had, it is freed here.
    let _ = std::thread::Builder::new().name("graph-free".to_owned()).spawn(wait_and_free);
}
