//! What requests of a core wait for: their writes, and those of others that they have seen. Each core has a queue for each database whose log
//! it has waited for.
//!
//! Where only what is durable is told ([`Reads::Durable`]), who reads does so by [`look`], and keeps back what was read until [`behind`] the
//! fence of it.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use prony_graph_store::{
    BegunRead, LogError, Overtaken, RESTORED_WITHIN, Read, ReadFence, Refusal, Store, Unwritten, Waiting,
    WaitingQueues, WaitingWrites, Write,
};

use super::Database;
use crate::settings::Reads;

/// Where there was room and a write was refused all the same.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(2);

thread_local! {
    /// This core's queues, one for each database whose log it has waited for.
    static QUEUES: WaitingQueues<Database> = const { WaitingQueues::new() };
}

/// Why nothing was changed.
#[derive(Debug)]
pub enum NotWritten {
    /// Which tells what there is: it is to be kept back as what was read.
    Refused(Refusal, Waiting),
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
    let begun = database.store.begin_read();
    let (result, ticket) = database.store.try_write_ticket(operate).map_err(|unwritten| match unwritten {
        Unwritten::Refused(refusal) => {
            NotWritten::Refused(refusal, behind(database, refused(database, begun)))
        }
        Unwritten::NoRoom(_) => NotWritten::NoRoom,
    })?;
    Ok((result, queue.wait_for(ticket)))
}

/// Looks at the graph; gives what is to be [waited for](behind) before anybody is told of it. Looks once more where something was taken back
/// meanwhile, so that `look` begins anew each time; it is for what is short.
pub fn look<T>(database: &Database, mut look: impl FnMut(&Read) -> T) -> (T, Option<ReadFence>) {
    match database.reads {
        Reads::Latest => (look(&database.store.read()), None),
        Reads::Durable => {
            let (seen, fence) = database.store.read_fenced(look);
            (seen, Some(fence))
        }
    }
}

/// As [`look`], for what takes long, on another thread: looks once more as long as `goes_on` says so.
///
/// # Errors
/// Each time something was taken back meanwhile.
pub fn look_for_long<T>(
    database: &Database,
    mut look: impl FnMut(&Read) -> T,
    goes_on: impl Fn() -> bool,
) -> Result<(T, Option<ReadFence>), Overtaken> {
    if database.reads == Reads::Latest {
        return Ok((look(&database.store.read()), None));
    }
    loop {
        match database.store.try_read_fenced(&mut look) {
            Ok((seen, fence)) => return Ok((seen, Some(fence))),
            Err(overtaken) if !goes_on() => return Err(overtaken),
            Err(Overtaken) => {}
        }
    }
}

/// The fence of a write that was refused, before which a read was begun.
pub fn refused(database: &Database, begun: BegunRead) -> Option<ReadFence> {
    (database.reads == Reads::Durable).then(|| database.store.end_refused(begun))
}

/// What is to be waited for before anybody is told of what was read. Call it on a core's thread, inside its `LocalSet`.
pub fn behind(database: &Arc<Database>, fence: Option<ReadFence>) -> Waiting {
    let Some(fence) = fence else { return Waiting::over() };
    if let Some(outcome) = database.store.outcome(fence) {
        return Waiting::settled(outcome);
    }
    // Before it is asked once more, so that it cannot be settled unnoticed.
    let queue = queue(database);
    match database.store.outcome(fence) {
        Some(outcome) => Waiting::settled(outcome),
        None => queue.wait_for_read(fence.ticket()),
    }
}

/// What was seen of a database and nobody was told of yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untold(Option<ReadFence>);

impl Untold {
    pub fn add(&mut self, fence: Option<ReadFence>) {
        self.0 = match (self.0, fence) {
            (Some(before), Some(fence)) => Some(before.and(fence)),
            (before, fence) => before.or(fence),
        };
    }

    /// What is to be waited for before it is told, after which there is nothing. Call it as [`behind`](self::behind).
    pub fn behind(&mut self, database: &Arc<Database>) -> Waiting {
        behind(database, self.0.take())
    }
}

/// What is said of what was read, where it is not known to be durable.
pub(crate) fn not_durable(error: &LogError) -> &'static str {
    match error {
        LogError::Unknown { .. } | LogError::Broken => {
            "what was read is not known to be durable: the graph's log could not be synced, and whether it has what was read is unknown until \
             the graph is opened again; ask again for what there is without it"
        }
        LogError::Closed => {
            "what was read is not known to be durable: the server is stopping; ask again when it is back"
        }
        error if error.is_disk_full() => {
            "what was read is not durable: the disk of the graph is full, and a write that may have been read was taken back; ask again"
        }
        _ => {
            "what was read is not durable: the graph's log could not be written, and a write that may have been read was taken back; ask again"
        }
    }
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
