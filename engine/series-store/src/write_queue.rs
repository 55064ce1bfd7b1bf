//! Writes on their way to what makes them durable, the same for all engines.

use crate::engine::submit_once;
use crate::error::{Refusal, Unwritten, WriteError};
use crate::write::{Operation, SeriesWriter, Write};
use prony_log::commit::{CommitQueue, Logged, Queue};
use prony_log::error::LogError;
use prony_log::ticket::Ticket;
use std::sync::MutexGuard;
use std::sync::mpsc::sync_channel;

/// A queue of writes of series.
pub(crate) trait WriteQueue {
    /// Blocks where too much waits.
    fn write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Refusal>;

    /// Never blocks.
    fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten>;

    /// Blocks until it is durable and seen.
    fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError>;
}

fn write_into<S: Logged<Writer = SeriesWriter>>(
    shared: &CommitQueue<S>,
    mut queue: MutexGuard<'_, Queue<S>>,
    operation: &mut Operation<'_>,
) -> Result<Ticket, Refusal> {
    queue.writer.operate(operation)?;
    let ticket = shared.next_ticket(&mut queue);
    shared.submit(queue);
    Ok(ticket)
}

impl<S: Logged<Writer = SeriesWriter>> WriteQueue for CommitQueue<S> {
    fn write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Refusal> {
        submit_once(operate, |operation| write_into(self, self.lock_with_room(), operation))
    }

    fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten> {
        let Some(queue) = self.try_lock_with_room() else { return Err(Unwritten::NoRoom) };
        write_into(self, queue, operation).map_err(Unwritten::Refused)
    }

    fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError> {
        let (sender, receiver) = sync_channel(1);
        let mut queue = self.lock_with_room();
        queue.writer.operate(operation)?;
        S::pending_mut(&mut queue.writer).waiters.push(Box::new(move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        }));
        queue.ticket += 1;
        CommitQueue::submit(self, queue);
        Ok(receiver.recv().unwrap_or(Err(LogError::Closed))?)
    }
}
