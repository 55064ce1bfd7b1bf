//! The one writer: makes changes in memory, and gathers them for the log with what takes them back.

use crate::error::Refusal;
use crate::memory::Memory;
use crate::memory::free::WriterState;
use crate::memory::undo::Undo;
use crate::types::change::Change;
use crate::types::schema::Schema;
use arc_swap::ArcSwap;
use prony_log::codec::Input;
use prony_log::commit::{Attached, Batch, Waiter};
use prony_log::frames::LOG_FRAME_HEAD_BYTES;
use prony_log::positions::WriteMark;
use std::sync::Arc;

/// Behind the store's lock.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) state: WriterState,
    pub(crate) pending: Batch<Changes>,
    /// What the log's thread is writing at the moment, so that it can be taken back.
    pub(crate) in_flight: Option<Undo>,
    /// Somebody wants to hear of changes.
    pub(crate) is_listened_to: bool,
}

/// What an operation changes, and what tells readers of it.
type Changed<'a> = (&'a ArcSwap<Memory>, &'a WriteMark<'a>);

/// Whether changes leave less behind than there was; also where there are none.
pub(crate) fn only_removes(changes: &[u8]) -> bool {
    let mut input = Input::new(changes);
    while !input.is_empty() {
        let change = Change::read(&mut input).expect("what a write has put into a frame can be read");
        if !change.is_removal() {
            return false;
        }
    }
    true
}

/// What belongs to the changes of a frame.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) undo: Undo,
    /// From which change on listeners hear of them, and the schema before it.
    pub(crate) heard: Option<(usize, Arc<Schema>)>,
}

/// How many changes there are that the log does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingPosition {
    frame_bytes: usize,
    steps: usize,
}

impl Attached for Changes {
    fn capacity_bytes(&self) -> usize {
        self.undo.bytes.capacity()
    }

    fn clear(&mut self) {
        self.undo.clear();
        self.heard = None;
    }
}

impl Writer {
    /// As [`Self::operate`], where the disk is full: what does not only remove is refused, but for a write that is alone, where there
    /// `may_be_room`. Gives whether it is such a one.
    pub(crate) fn operate_when_full<T>(
        &mut self,
        changed: Changed<'_>,
        may_be_room: bool,
        operate: impl FnOnce(PendingWrite<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, bool), Refusal> {
        let is_alone = self.pending.frame.len() <= LOG_FRAME_HEAD_BYTES && self.in_flight.is_none();
        let (frame_bytes, steps) =
            (self.pending.frame.len().max(LOG_FRAME_HEAD_BYTES), self.position().steps);
        let result = self.operate(changed, operate)?;
        if only_removes(&self.pending.frame[frame_bytes..]) {
            return Ok((result, false));
        }
        if is_alone && may_be_room {
            return Ok((result, true));
        }
        self.take_back_to(PendingPosition { frame_bytes, steps }, changed);
        Err(Refusal::DiskFull)
    }

    pub(crate) fn operate<T>(
        &mut self,
        changed: Changed<'_>,
        operate: impl FnOnce(PendingWrite<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.pending.frame.is_empty() {
            self.pending.begin();
            if self.is_listened_to {
                self.listen_from_here(changed.0);
            }
        }
        let before = self.position();
        let result = operate(PendingWrite { writer: self, changed });
        if result.is_err() {
            self.take_back_to(before, changed);
        }
        result
    }

    fn position(&self) -> PendingPosition {
        PendingPosition { frame_bytes: self.pending.frame.len(), steps: self.pending.attached.undo.len() }
    }

    /// Takes back what was changed since.
    fn take_back_to(&mut self, position: PendingPosition, (memory, mark): Changed<'_>) {
        self.pending.frame.truncate(position.frame_bytes);
        let later = self.pending.attached.undo.split_off(position.steps);
        let has_changed = later.len() > 0;
        later.run(&mut self.state, memory);
        if has_changed {
            mark.take_back();
        }
    }

    /// Listeners hear of what is changed from now on.
    pub(crate) fn listen_from_here(&mut self, memory: &ArcSwap<Memory>) {
        self.is_listened_to = true;
        let (steps, schema) = (self.pending.attached.undo.len(), memory.load().schema.load_full());
        self.pending.attached.heard.get_or_insert((steps, schema));
    }

    /// Takes back all that the log does not have; gives those who wait for it.
    pub(crate) fn roll_back(&mut self, memory: &ArcSwap<Memory>) -> Vec<Waiter> {
        let pending = std::mem::take(&mut self.pending);
        pending.attached.undo.run(&mut self.state, memory);
        if let Some(undo) = self.in_flight.take() {
            undo.run(&mut self.state, memory);
        }
        pending.waiters
    }
}

/// What an operation changes: the memory, and what is queued for the log.
pub(crate) struct PendingWrite<'a> {
    writer: &'a mut Writer,
    changed: Changed<'a>,
}

impl PendingWrite<'_> {
    pub(crate) fn memory(&self) -> Arc<Memory> {
        self.changed.0.load_full()
    }

    pub(crate) const fn state(&mut self) -> &mut WriterState {
        &mut self.writer.state
    }

    pub(crate) fn position(&self) -> PendingPosition {
        self.writer.position()
    }

    /// Takes back what was changed since.
    pub(crate) fn take_back_to(&mut self, position: PendingPosition) {
        self.writer.take_back_to(position, self.changed);
    }

    /// Makes the change and queues it for the log.
    pub(crate) fn change(&mut self, memory: &Memory, change: &Change<'_>) {
        self.changed.1.change();
        let guard = crossbeam_epoch::pin();
        memory.stamp(change, self.changed.1.ticket(), &guard);
        let Writer { state, pending, .. } = &mut *self.writer;
        let dropped = memory.dropped_by(change);
        memory.apply(change, false, state, &mut pending.attached.undo.bytes, &guard);
        pending.attached.undo.push(dropped);
        change.write(&mut pending.frame);
    }

    /// Nothing is left; the memory from now on.
    pub(crate) fn clear(&mut self) -> Arc<Memory> {
        self.changed.1.change();
        let fresh = Arc::new(Memory::default());
        fresh.stamps.set_all(self.changed.1.ticket());
        let old = self.changed.0.swap(Arc::clone(&fresh));
        let state = std::mem::take(&mut self.writer.state);
        self.writer.pending.attached.undo.push_memory(old, state);
        Change::Clear.write(&mut self.writer.pending.frame);
        fresh
    }
}
