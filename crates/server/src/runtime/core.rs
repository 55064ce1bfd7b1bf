//! One core: a thread with its own single-threaded runtime, which owns its connections from their first byte
//! to their last and its handles on the sources. Nothing of it is shared on the hot path.

use std::{
    cell::RefCell,
    collections::HashMap,
    io,
    net::TcpStream as StandardTcpStream,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
    thread,
};

use tokio::{
    sync::{Notify, mpsc},
    task::LocalSet,
};

use super::{
    connection, cpus,
    stop::{Phase, Stopping},
};
use crate::{graphql::CoreEngine, http::Site};

/// A socket on its way to a core, with its place among the counted connections.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) socket: StandardTcpStream,
    pub(crate) place: Place,
}

/// How many connections a core has; the acceptor reads it, places change it.
#[derive(Debug, Default)]
pub(crate) struct Load(AtomicUsize);

impl Load {
    pub(crate) fn open_connections(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take_place(self: &Arc<Self>) -> Place {
        self.0.fetch_add(1, Ordering::Relaxed);
        Place(Arc::clone(self))
    }
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Load>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The acceptor's end of a core.
#[derive(Debug)]
pub(crate) struct CoreThread {
    pub(crate) load: Arc<Load>,
    /// Unbounded, because the limit on connections bounds what can be in it.
    pub(crate) inbox: mpsc::UnboundedSender<Arrival>,
    pub(crate) thread: thread::JoinHandle<()>,
}

/// The open connections of one core, so that stopping can wake each of them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    wakers: RefCell<HashMap<u64, Waker>>,
    next_id: std::cell::Cell<u64>,
    draining: std::cell::Cell<bool>,
    ended: Notify,
}

impl Connections {
    pub(crate) fn enter(self: &Rc<Self>) -> Entry {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        self.wakers.borrow_mut().insert(id, Waker::noop().clone());
        Entry { connections: Rc::clone(self), id }
    }

    pub(crate) fn draining(&self) -> bool {
        self.draining.get()
    }

    /// Lets requests in flight finish; returns when the last connection has ended.
    async fn drain(&self) {
        self.draining.set(true);
        self.wakers.borrow().values().for_each(Waker::wake_by_ref);
        while !self.wakers.borrow().is_empty() {
            self.ended.notified().await;
        }
    }
}

/// One connection's line in the table.
#[derive(Debug)]
pub(crate) struct Entry {
    connections: Rc<Connections>,
    id: u64,
}

impl Entry {
    /// Nobody is woken when stopping begins: the connection hears of it elsewhere.
    pub(crate) fn unregister(&self) {
        self.register(Waker::noop());
    }

    /// Says whom to wake when stopping begins; a task keeps its waker, so once is enough.
    pub(crate) fn register(&self, waker: &Waker) {
        self.connections.wakers.borrow_mut().insert(self.id, waker.clone());
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.connections.wakers.borrow_mut().remove(&self.id);
        self.connections.ended.notify_one();
    }
}

/// Starts the thread of core number `index`.
pub(crate) fn spawn(
    index: usize,
    cpu: Option<usize>,
    site: Arc<Site>,
    stopping: Stopping,
) -> io::Result<CoreThread> {
    let (inbox, arrivals) = mpsc::unbounded_channel();
    let load = site.metrics.core(index).load();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = thread::Builder::new().name(format!("core-{index}")).spawn(move || {
        if let Some(Err(error)) = cpu.map(cpus::hold) {
            tracing::warn!(%error, index, "cannot hold the core's thread on its processor");
        }
        let local = LocalSet::new();
        local.block_on(&runtime, run(index, site, arrivals, stopping));
    })?;
    Ok(CoreThread { load, inbox, thread })
}

async fn run(
    index: usize,
    site: Arc<Site>,
    mut arrivals: mpsc::UnboundedReceiver<Arrival>,
    mut stopping: Stopping,
) {
    let connections = Rc::new(Connections::default());
    let engine = Rc::new(CoreEngine::attach(index, site));
    let protocol = connection::protocol(engine.settings());
    while let Some(arrival) = arrivals.recv().await {
        let task = connection::serve(arrival, protocol.clone(), Rc::clone(&engine), Rc::clone(&connections));
        tokio::task::spawn_local(task);
    }
    engine.hub.stop();
    tokio::select! {
        () = connections.drain() => {}
        () = stopping.reached(Phase::Now) => {}
    }
}
