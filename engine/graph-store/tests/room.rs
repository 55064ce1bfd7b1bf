//! Writers that come faster than the log takes them: told so instead of being held up, and woken when there is room.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{
    Durability, Kind, Options, Registration, Side, Store, Ticket, Unwritten, Value, Write,
};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

/// Holds the log's thread up, after the first write that it settles, until it is opened.
struct Gate {
    opens: Sender<()>,
    _watching: Registration,
}

/// Together more than may wait for the log.
const LONG_BYTES: usize = 40 << 20;

impl Gate {
    /// The log's thread stands before it when this returns.
    fn shut(store: &Store) -> Self {
        let (opens, opened) = channel();
        let (stands, there) = channel();
        let opened: Mutex<Receiver<()>> = Mutex::new(opened);
        let watching = store.watch(move |_| {
            let _ = stands.send(());
            // Once it is open for good, there is nobody to hear from.
            let _ = opened.lock().unwrap().recv();
        });
        store.write_ticket(|write| write.create_node("N", "first", &[])).unwrap();
        there.recv().unwrap();
        Self { opens, _watching: watching }
    }

    /// Writes more than may wait. The nodes' type has a property `long`.
    fn fill(store: &Store) {
        let long = "x".repeat(LONG_BYTES);
        for key in ["a", "b"] {
            let given = [("long", Value::String(long.as_str().into()))];
            store.write_ticket(|write| write.create_node("N", key, &given)).unwrap();
        }
    }

    fn open(self) {
        drop(self.opens);
    }
}

/// Notes that it was woken.
struct WakeUp {
    waker: Waker,
    woken: Receiver<()>,
}

struct Tell(Mutex<Sender<()>>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap().send(());
    }
}

impl Default for WakeUp {
    fn default() -> Self {
        let (sender, woken) = channel();
        Self { waker: Arc::new(Tell(Mutex::new(sender))).into(), woken }
    }
}

impl WakeUp {
    /// Whether it is ready.
    fn poll(&self, future: Pin<&mut impl Future<Output = ()>>) -> bool {
        future.poll(&mut Context::from_waker(&self.waker)).is_ready()
    }

    fn wait(&self) {
        self.woken.recv().unwrap();
    }
}

#[test]
fn a_writer_without_room_gets_its_operation_back_and_is_woken() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::new(Durability::Sync)).unwrap();
    let declared = store.write_and_wait(|write| {
        write.make_type(Side::Nodes, "N")?;
        write.declare(Side::Nodes, "N", "long", Kind::String)
    });
    declared.unwrap();
    let gate = Gate::shut(&store);
    Gate::fill(&store);
    let small = |write: &mut Write<'_>| write.create_node("N", "small", &[]);
    let Err(Unwritten::NoRoom(small)) = store.try_write_ticket(small) else { panic!("there was room") };
    assert!(store.read().find("N", "small").is_none(), "nothing of it was done");
    let mut room = Box::pin(store.room());
    let woken = WakeUp::default();
    assert!(!woken.poll(room.as_mut()), "it waits");
    gate.open();
    woken.wait();
    assert!(woken.poll(room.as_mut()), "there is room");
    let (_, ticket) = store.try_write_ticket(small).unwrap();
    assert!(ticket > Ticket::SETTLED);
    let health = store.health();
    assert!(health.log_failure.is_none() && health.snapshots.failure.is_none(), "{health:?}");
    drop(room);
    drop(store);
    let store = Store::open(directory.path(), Options::new(Durability::Sync)).unwrap();
    assert!(store.read().find("N", "small").is_some());
    assert_eq!(store.read().count(Side::Nodes, None), 4);
}
