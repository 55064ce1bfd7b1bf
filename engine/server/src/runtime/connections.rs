//! Connections of one core: as they come to it, and those that are open.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::TcpStream as StandardTcpStream,
    rc::Rc,
    task::Waker,
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

/// The open connections of one core, so that stopping can wake each of them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    wakers: RefCell<HashMap<u64, Waker>>,
    next_id: Cell<u64>,
    draining: Cell<bool>,
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
    pub(crate) async fn drain(&self) {
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
