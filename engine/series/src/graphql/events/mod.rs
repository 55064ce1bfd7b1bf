//! What is written as subscriptions: new rows one by one, and signals to live queries. Whoever has written it, the store tells of it once
//! it is durable and seen (`Store::listen`), in order, on the log's thread: there rows are kept for the readers that want them
//! ([`Readers`]), each with a bounded [`queue`]. While nobody reads, the store tells nobody.

mod interest;
mod queue;
mod stream;
mod watch;

use std::{
    collections::{HashMap, HashSet},
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use prony_series_store::{Engine, Event, Events, Registration, TableId};
use prony_source::{ChangeSignal, DataVersion};
use tokio::sync::Notify;

use self::{
    interest::{Entry, Interested},
    queue::{Bounds, NotifiedRow, Queue, QueuedEvent},
    watch::{CountedChanges, Watcher},
};
pub(super) use self::{
    stream::events,
    watch::{Dependencies, depends_on},
};
use crate::access::filter::BoundFilter;

/// All who read what is written to one store.
#[derive(Debug, Default)]
pub(crate) struct Readers(Arc<Mutex<Register>>);

#[derive(Debug, Default)]
struct Register {
    by_table: HashMap<TableId, Interested>,
    /// Live queries.
    watchers: Vec<Arc<Watcher>>,
    /// What is counted for responses that are kept, each with how many hold it.
    counted: Vec<(Arc<CountedChanges>, usize)>,
    /// While there is anyone.
    listening: Option<Registration>,
}

/// One who reads rows; dropping it ends that.
#[derive(Debug)]
pub(super) struct EventReader {
    register: Arc<Mutex<Register>>,
    entry: Arc<Entry>,
}

impl Readers {
    /// Reads rows that are written after this returns.
    pub(super) fn add(&self, store: &dyn Engine, table: TableId, filter: BoundFilter) -> EventReader {
        let entry = Arc::new(Entry { table, filter, queue: Queue::new(Bounds::USUAL) });
        let mut register = lock(&self.0);
        register.by_table.entry(table).or_default().add(Arc::clone(&entry));
        self.listen(&mut register, store);
        drop(register);
        EventReader { register: Arc::clone(&self.0), entry }
    }

    /// Signals when what is written after this returns may be part of a response.
    pub(super) fn watch(&self, store: &dyn Engine, dependencies: Dependencies) -> SeriesSignal {
        let watcher = Arc::new(Watcher { dependencies, call: Notify::new() });
        let mut register = lock(&self.0);
        register.watchers.push(Arc::clone(&watcher));
        self.listen(&mut register, store);
        drop(register);
        SeriesSignal { register: Arc::clone(&self.0), watcher }
    }

    /// Counts what is written after this returns and may be part of a response.
    pub(super) fn version(&self, store: &dyn Engine, dependencies: Dependencies) -> SeriesVersion {
        let mut register = lock(&self.0);
        let place = register.counted.iter().position(|(known, _)| known.dependencies == dependencies);
        let place = place.unwrap_or_else(|| {
            let counted = CountedChanges { dependencies, count: AtomicU64::new(0) };
            register.counted.push((Arc::new(counted), 0));
            register.counted.len() - 1
        });
        register.counted[place].1 += 1;
        let counted = Arc::clone(&register.counted[place].0);
        self.listen(&mut register, store);
        drop(register);
        SeriesVersion { register: Arc::clone(&self.0), counted }
    }

    fn listen(&self, register: &mut Register, store: &dyn Engine) {
        if register.listening.is_none() {
            let readers = Arc::clone(&self.0);
            register.listening = Some(store.listen(Arc::new(move |events| tell(&lock(&readers), events))));
        }
    }

    /// Whether the store tells nobody.
    #[cfg(test)]
    pub(crate) fn are_idle(&self) -> bool {
        lock(&self.0).listening.is_none()
    }
}

impl EventReader {
    async fn next(&self) -> QueuedEvent {
        poll_fn(|context| self.entry.queue.poll(context)).await
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut register = lock(&self.register);
        if let Some(interested) = register.by_table.get_mut(&self.entry.table) {
            interested.remove(&self.entry);
            if interested.is_empty() {
                register.by_table.remove(&self.entry.table);
            }
        }
        register.rest();
    }
}

/// Tells when a response may have become another; dropping it ends that.
#[derive(Debug)]
pub(super) struct SeriesSignal {
    register: Arc<Mutex<Register>>,
    watcher: Arc<Watcher>,
}

impl ChangeSignal for SeriesSignal {
    fn changed(&mut self) -> LocalBoxFuture<'_, ()> {
        Box::pin(self.watcher.call.notified())
    }

    fn mark_seen(&mut self) {
        let _ = self.watcher.call.notified().now_or_never();
    }
}

impl Drop for SeriesSignal {
    fn drop(&mut self) {
        let mut register = lock(&self.register);
        register.watchers.retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
        register.rest();
    }
}

/// Says whether a response may have become another; dropping it ends the counting.
#[derive(Debug)]
pub(super) struct SeriesVersion {
    register: Arc<Mutex<Register>>,
    counted: Arc<CountedChanges>,
}

impl DataVersion for SeriesVersion {
    fn current(&self) -> u64 {
        self.counted.count.load(Ordering::Acquire)
    }
}

impl Drop for SeriesVersion {
    fn drop(&mut self) {
        let mut register = lock(&self.register);
        if let Some((_, holders)) =
            register.counted.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &self.counted))
        {
            *holders -= 1;
        }
        register.counted.retain(|(_, holders)| *holders > 0);
        register.rest();
    }
}

impl Register {
    /// Listens no more where nobody is left.
    fn rest(&mut self) {
        if self.by_table.is_empty() && self.watchers.is_empty() && self.counted.is_empty() {
            self.listening = None;
        }
    }
}

fn lock(register: &Mutex<Register>) -> MutexGuard<'_, Register> {
    // Nothing panics while it is held.
    register.lock().unwrap_or_else(PoisonError::into_inner)
}

/// On the log's thread, which all writes wait for: rows are copied and handed over, nothing more.
fn tell(register: &Register, events: &Events<'_>) {
    let mut touched: HashSet<TableId> = HashSet::new();
    let mut woken: Vec<Arc<Entry>> = Vec::new();
    events.each(|catalog, event| match event {
        Event::Named(table) | Event::Deleted(table) => {
            touched.insert(table);
        }
        Event::Dropped(table) => {
            touched.insert(table);
            for entry in register.by_table.get(&table).into_iter().flat_map(Interested::all) {
                entry.queue.put(QueuedEvent::Dropped);
                woken.push(Arc::clone(entry));
            }
        }
        Event::Row(row) => {
            let of = catalog.series(row.series);
            touched.insert(of.table);
            let Some(interested) = register.by_table.get(&of.table) else { return };
            let mut kept: Option<Arc<NotifiedRow>> = None;
            for entry in interested.wanting(&of.entity, &of.path) {
                let row = kept.get_or_insert_with(|| Arc::new(NotifiedRow::new(of, &row)));
                if entry.queue.put(QueuedEvent::Row(Arc::clone(row))) {
                    woken.push(Arc::clone(entry));
                }
            }
        }
    });
    for entry in &woken {
        entry.queue.wake();
    }
    for watcher in &register.watchers {
        watcher.tell(&touched);
    }
    for (counted, _) in &register.counted {
        counted.note(&touched);
    }
}
