//! Connections of one core: as they come to it, and those that are open.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::TcpStream as StandardTcpStream,
    rc::Rc,
    task::Waker,
    time::Duration,
};

use tokio::sync::Notify;

use super::load::LoadPlace;

/// By which listener a socket has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    Public,
    /// For those who operate the server.
    Admin,
}

/// A socket on its way to a core, with its place among the counted connections.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) socket: StandardTcpStream,
    pub(crate) entrance: Entrance,
    pub(crate) place: LoadPlace,
}

/// What stopping means for a connection; it never goes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DrainPhase {
    #[default]
    Serving,
    /// The next response is the last and says so. A connection without a request in flight is kept for one: its client may have sent
    /// it already, and could not know its fate if the connection were closed.
    LastResponses,
    /// Connections without a request in flight are closed.
    ClosingIdle,
}

impl DrainPhase {
    pub(crate) fn is_stopping(self) -> bool {
        self >= Self::LastResponses
    }

    pub(crate) fn closes_idle(self) -> bool {
        self == Self::ClosingIdle
    }
}

/// The open connections of one core, so that stopping can wake each of them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    wakers: RefCell<HashMap<u64, Waker>>,
    next_id: Cell<u64>,
    phase: Cell<DrainPhase>,
    ended: Notify,
}

impl Connections {
    /// To be called as soon as there is the connection, so that stopping waits for it.
    pub(crate) fn enter(self: &Rc<Self>) -> Entry {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        self.wakers.borrow_mut().insert(id, Waker::noop().clone());
        Entry { connections: Rc::clone(self), id }
    }

    pub(crate) fn phase(&self) -> DrainPhase {
        self.phase.get()
    }

    /// Lets requests in flight finish, and keeps idle connections for so long for one more; returns when the last connection has
    /// ended.
    pub(crate) async fn drain(&self, idle_kept: Duration) {
        self.begin(DrainPhase::LastResponses);
        // Nothing is left to be kept where all have ended.
        let _ = tokio::time::timeout(idle_kept, self.all_ended()).await;
        self.begin(DrainPhase::ClosingIdle);
        self.all_ended().await;
    }

    fn begin(&self, phase: DrainPhase) {
        self.phase.set(phase);
        self.wakers.borrow().values().for_each(Waker::wake_by_ref);
    }

    async fn all_ended(&self) {
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
