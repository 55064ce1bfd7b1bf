//! Writes of a core's requests, and what they wait for: each core has a queue for each database that it has written to.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, Weak},
};

use prony_graph_store::{Refusal, Unwritten, Waiting, WaitingWrites, Write};

use super::Database;

thread_local! {
    /// This core's queues, one for each database that it has written to.
    static QUEUES: RefCell<Vec<(Weak<Database>, Rc<WaitingWrites>)>> = const { RefCell::new(Vec::new()) };
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

/// This core's queue for the database.
fn queue(database: &Arc<Database>) -> Rc<WaitingWrites> {
    QUEUES.with_borrow_mut(|queues| {
        if let Some((_, queue)) =
            queues.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(database)))
        {
            return Rc::clone(queue);
        }
        // Those of databases that were dropped; their tasks end with them.
        for (_, gone) in queues.extract_if(.., |(of, _)| of.strong_count() == 0) {
            gone.inbox().wake();
        }
        let queue = WaitingWrites::new(|watcher| database.store.watch(watcher));
        database.joined(Arc::clone(queue.inbox()));
        queues.push((Arc::downgrade(database), Rc::clone(&queue)));
        tokio::task::spawn_local(queue.task());
        queue
    })
}
