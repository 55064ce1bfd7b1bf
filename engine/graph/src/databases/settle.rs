//! Writes of a core's requests, and what they wait for: each core has a queue for each database that it has written to.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use prony_graph_store::{
    RESTORED_WITHIN, Refusal, Store, Unwritten, Waiting, WaitingQueues, WaitingWrites, Write,
};

use super::Database;

/// Where there was room and a write was refused all the same.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(2);

thread_local! {
    /// This core's queues, one for each database that it has written to.
    static QUEUES: WaitingQueues<Database> = const { WaitingQueues::new() };
}

/// Why nothing was changed.
#[derive(Debug)]
pub enum NotWritten {
    Refused(Refusal),
    /// Too much waits for the disk: to be tried again when there is [room](prony_graph_store::Store::room).
    NoRoom,
}

/// Makes changes, all or none; gives what is to be waited for. Call it on a core's thread, inside its `LocalSet`.
pub fn write<T>(
    database: &Arc<Database>,
    operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
) -> Result<(T, Waiting), NotWritten> {
    // Before the write, so that it cannot be settled unnoticed.
    let queue = queue(database);
    let (result, ticket) = database.store.try_write_ticket(operate).map_err(|unwritten| match unwritten {
        Unwritten::Refused(refusal) => NotWritten::Refused(refusal),
        Unwritten::NoRoom(_) => NotWritten::NoRoom,
    })?;
    Ok((result, queue.wait_for(ticket)))
}

/// What has come of waiting for room on a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Nothing,
    /// There was some.
    Room,
    /// There was none.
    Full,
}

/// A write that was refused because the disk is full, and is made again once it is known whether there is room by now.
#[derive(Debug, Clone, Copy)]
pub struct RefusedWrite {
    until: Instant,
    awaited: Awaited,
}

impl Default for RefusedWrite {
    fn default() -> Self {
        Self { until: Instant::now() + RESTORED_WITHIN, awaited: Awaited::Nothing }
    }
}

impl RefusedWrite {
    /// Whether it is to be refused for good, where it was again.
    pub fn is_final(&self) -> bool {
        self.awaited == Awaited::Full || Instant::now() >= self.until
    }

    /// Returns when it is to be made again.
    pub async fn again(mut self, store: &Store) -> Self {
        if self.awaited == Awaited::Room {
            // Others took the room, or are being written, and this must be alone.
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
        let restored = tokio::time::timeout_at(self.until.into(), store.restored()).await;
        self.awaited = if restored.unwrap_or(false) { Awaited::Room } else { Awaited::Full };
        self
    }
}

/// Waits for the end of something that goes on by itself, and no longer than the limit.
pub async fn within(limit: Option<Duration>, end: impl Future<Output = ()>) {
    match limit {
        Some(limit) => drop(tokio::time::timeout(limit, end).await),
        None => end.await,
    }
}

/// This core's queue for the database.
fn queue(database: &Arc<Database>) -> Rc<WaitingWrites> {
    QUEUES.with(|queues| {
        queues.of(database, || {
            let queue = WaitingWrites::new(|watcher| database.store.watch(watcher));
            database.joined(Arc::clone(queue.inbox()));
            tokio::task::spawn_local(queue.task());
            queue
        })
    })
}
