//! Changes of the graph as subscriptions. Whoever changed it and how, the store tells of each change once it is durable
//! (`Store::listen`), in order, on the log's thread: there it is kept for the readers that want it ([`Readers`]), each with
//! a bounded [`queue`]. On a reader's core it is filtered and answered like a query whose node is known already
//! ([`stream`]). While nobody reads, the store tells nobody.

mod change;
mod interest;
pub(super) mod operation;
mod queue;
mod stream;
mod watch;

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use prony_graph_store::{Event, Ref, Registration, Side, Store, Type};
use prony_source::{ChangeSignal, DataVersion};
use tokio::sync::Notify;

pub(super) use crate::events::{
    change::Change,
    interest::Interest,
    operation::Operation,
    stream::events,
    watch::{Dependencies, depends_on},
};
use crate::events::{
    change::{End, Seen, key_hash},
    interest::{Entries, Entry},
    queue::{Bounds, Queue, QueuedEvent},
    watch::{CountedChanges, TypeSet, Watcher},
};

/// All who read the changes of one graph.
#[derive(Debug, Default)]
pub(super) struct Readers(Arc<Mutex<Register>>);

#[derive(Debug, Default)]
struct Register {
    by_type: HashMap<(Side, Arc<str>), Entries>,
    /// Live queries.
    watchers: Vec<Arc<Watcher>>,
    /// What is counted for answers that are kept, each with how many hold it.
    counted: Vec<(Arc<CountedChanges>, usize)>,
    /// While there is anyone.
    listening: Option<Registration>,
}

/// One who reads; dropping it ends that.
#[derive(Debug)]
pub(super) struct EventReader {
    readers: Arc<Mutex<Register>>,
    entry: Arc<Entry>,
}

impl Readers {
    /// Hears of what is changed after this returns.
    pub(super) fn add(&self, store: &Store, interest: Interest) -> EventReader {
        let entry = Arc::new(Entry { interest, queue: Queue::new(Bounds::USUAL) });
        let mut register = lock(&self.0);
        let of = (entry.interest.side, Arc::clone(&entry.interest.type_name));
        register.by_type.entry(of).or_default().add(Arc::clone(&entry));
        self.listen(&mut register, store);
        drop(register);
        EventReader { readers: Arc::clone(&self.0), entry }
    }

    /// Hears when what is changed after this returns may be part of an answer.
    pub(super) fn watch(&self, store: &Store, wanted: Dependencies) -> GraphSignal {
        let watcher = Arc::new(Watcher { dependencies: wanted, call: Notify::new() });
        let mut register = lock(&self.0);
        register.watchers.push(Arc::clone(&watcher));
        self.listen(&mut register, store);
        drop(register);
        GraphSignal { register: Arc::clone(&self.0), watcher }
    }

    /// Counts what is changed after this returns and may be part of an answer.
    pub(super) fn version(&self, store: &Store, wanted: Dependencies) -> GraphVersion {
        let mut register = lock(&self.0);
        let place = register.counted.iter().position(|(known, _)| known.dependencies == wanted);
        let place = place.unwrap_or_else(|| {
            let counted = CountedChanges { dependencies: wanted, count: AtomicU64::new(0) };
            register.counted.push((Arc::new(counted), 0));
            register.counted.len() - 1
        });
        register.counted[place].1 += 1;
        let counted = Arc::clone(&register.counted[place].0);
        self.listen(&mut register, store);
        drop(register);
        GraphVersion { register: Arc::clone(&self.0), counted }
    }

    fn listen(&self, register: &mut Register, store: &Store) {
        if register.listening.is_none() {
            let (readers, types) = (Arc::clone(&self.0), Mutex::default());
            register.listening = Some(store.listen(move |events| {
                tell(&lock(&readers), &mut types.lock().unwrap_or_else(PoisonError::into_inner), events);
            }));
        }
    }

    /// Whether the store tells nobody.
    #[cfg(test)]
    pub(super) fn are_idle(&self) -> bool {
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
        let mut register = lock(&self.readers);
        let of = (self.entry.interest.side, Arc::clone(&self.entry.interest.type_name));
        if let Some(entries) = register.by_type.get_mut(&of) {
            entries.remove(&self.entry);
            if entries.is_empty() {
                register.by_type.remove(&of);
            }
        }
        register.rest();
    }
}

/// Tells when an answer may have become another; dropping it ends that.
#[derive(Debug)]
pub(super) struct GraphSignal {
    register: Arc<Mutex<Register>>,
    watcher: Arc<Watcher>,
}

impl ChangeSignal for GraphSignal {
    fn changed(&mut self) -> LocalBoxFuture<'_, ()> {
        Box::pin(self.watcher.call.notified())
    }

    fn mark_seen(&mut self) {
        let _ = self.watcher.call.notified().now_or_never();
    }
}

impl Drop for GraphSignal {
    fn drop(&mut self) {
        let mut register = lock(&self.register);
        register.watchers.retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
        register.rest();
    }
}

/// Says whether an answer may have become another; dropping it ends the counting.
#[derive(Debug)]
pub(super) struct GraphVersion {
    register: Arc<Mutex<Register>>,
    counted: Arc<CountedChanges>,
}

impl DataVersion for GraphVersion {
    fn current(&self) -> u64 {
        self.counted.count.load(Ordering::Acquire)
    }
}

impl Drop for GraphVersion {
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
        if self.by_type.is_empty() && self.watchers.is_empty() && self.counted.is_empty() {
            self.listening = None;
        }
    }
}

fn lock(register: &Mutex<Register>) -> MutexGuard<'_, Register> {
    // Nothing panics while it is held.
    register.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Types as they were told of last, so that what is kept of one type shares it.
type Types = HashMap<(Side, u16), Arc<Type>>;

/// Nodes that were deleted, with the place of the last event that says so.
fn deleted_nodes(events: &[Event<'_>]) -> HashMap<Ref, usize> {
    let deleted = events.iter().enumerate().filter_map(|(place, event)| match event {
        Event::Node { before: Some(node), after: None } => Some((node.at, place)),
        _ => None,
    });
    deleted.collect()
}

/// The ends of a relationship: nothing is known of one that went before it, as a node does that had very many, nor of one of which `goes` says
/// that it was deleted behind it.
fn ends(event: &Event<'_>, goes: impl Fn(Ref) -> bool) -> Vec<End> {
    let Event::Relationship { before, after, end_keys } = *event else { return Vec::new() };
    let Some(of) = after.or(before) else { return Vec::new() };
    let ends = [of.from, of.to].into_iter().zip(end_keys);
    ends.map(|(at, key)| End { at, key_hash: key.filter(|_| !goes(at)).map(key_hash) }).collect()
}

/// On the log's thread, which all writes wait for: changes are copied and handed over, nothing more.
fn tell(register: &Register, types: &mut Types, events: &[Event<'_>]) {
    let mut changes: HashMap<(Side, Arc<str>), Vec<QueuedEvent>> = HashMap::new();
    let (mut touched, mut is_unknown) = (TypeSet::new(), false);
    // Only those who are told of relationships ask for it.
    let deleted = if register.by_type.is_empty() { HashMap::new() } else { deleted_nodes(events) };
    for (place, event) in events.iter().enumerate() {
        let seen = match *event {
            Event::Node { before, after } => Seen::node(before, after),
            Event::Relationship { before, after, .. } => Seen::relationship(before, after),
            Event::Schema { side, number, schema } => {
                types.remove(&(side, number));
                // Not as the types are when a reader looks: what was dropped may have come again by then.
                let is_gone = |of: &&(Side, Arc<str>)| schema.side(of.0).number(&of.1).is_none();
                for of in register.by_type.keys().filter(is_gone) {
                    changes.entry(of.clone()).or_default().push(QueuedEvent::Dropped);
                }
                is_unknown = true;
                None
            }
            Event::Cleared => {
                types.clear();
                for of in register.by_type.keys() {
                    changes.entry(of.clone()).or_default().push(QueuedEvent::Cleared);
                }
                is_unknown = true;
                None
            }
        };
        let Some(seen) = seen else { continue };
        let of = types.entry((seen.side(), seen.at().type_number())).or_insert_with(|| seen.keep_type());
        let wanted = (seen.side(), Arc::clone(&of.name));
        let has_watchers = !(register.watchers.is_empty() && register.counted.is_empty());
        if has_watchers && !touched.contains(&wanted) {
            touched.insert(wanted.clone());
        }
        let Some(entries) = register.by_type.get(&wanted) else { continue };
        if entries.want(&seen) {
            let ends = ends(event, |node| deleted.get(&node).is_some_and(|last| *last > place));
            let change = Arc::new(seen.keep(Arc::clone(of), ends));
            changes.entry(wanted).or_default().push(QueuedEvent::Changed(change));
        }
    }
    for watcher in &register.watchers {
        watcher.tell(&touched, is_unknown);
    }
    for (counted, _) in &register.counted {
        counted.note(&touched, is_unknown);
    }
    for (of, events) in changes {
        if let Some(entries) = register.by_type.get(&of) {
            entries.tell(&events);
        }
    }
}
