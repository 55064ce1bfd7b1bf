//! Those who are told: of changes, and of writes that are settled.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::expect;
use prony_graph_store::{Durability, Event, Keep, Kind, Options, Side, Store, Ticket, Value};
use std::sync::{Arc, Mutex, mpsc};

fn print(event: &Event<'_>) -> String {
    match event {
        Event::Node { before, after } => {
            let one = |node: &prony_graph_store::Node<'_>| {
                format!("{}/{} {:?}", node.of.name, node.key, node.properties().collect::<Vec<_>>())
            };
            format!("node {:?} -> {:?}", before.as_ref().map(one), after.as_ref().map(one))
        }
        Event::Relationship { before, after, .. } => {
            let one = |one: &prony_graph_store::Relationship<'_>| {
                format!("{} {} {} {}", one.of.name, one.from.id(), one.to.id(), one.properties().count())
            };
            format!("relationship {:?} -> {:?}", before.as_ref().map(one), after.as_ref().map(one))
        }
        Event::Schema { side, number, .. } => format!("schema {side:?} {number}"),
        Event::Cleared => "cleared".to_owned(),
    }
}

#[test]
fn listeners_hear_of_every_change_in_order_from_when_they_listen_on() {
    for durability in [Durability::Sync, Durability::Off] {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::new(durability)).unwrap();
        store.write_and_wait(|write| write.create_node("N", "before", &[])).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let listening = store.listen(move |events| into.lock().unwrap().extend(events.iter().map(print)));
        let changed = store.write_and_wait(|write| {
            write.declare(Side::Nodes, "N", "age", Kind::Integer)?;
            let a = write.create_node("N", "a", &[("age", Value::Integer(1))])?;
            write.set_node(a, &[("age", Value::Integer(2))], Keep::Others)?;
            let before = write.find("N", "before").unwrap();
            write.create_relationship("R", a, before, &[])?;
            write.delete_node(a)
        });
        changed.unwrap();
        let refused = store.write_and_wait(|write| {
            write.create_node("N", "refused", &[])?;
            write.create_node("N", "before", &[])
        });
        refused.unwrap_err();
        let cleared = store.write_and_wait(|write| {
            write.clear();
            write.create_node("M", "after", &[])
        });
        cleared.unwrap();
        store.snapshot().unwrap();
        drop(listening);
        store.write_and_wait(|write| write.create_node("N", "unheard", &[])).unwrap();
        drop(store);
        expect![[r#"
            schema Nodes 1
            node None -> Some("N/a [(\"age\", Integer(1))]")
            node Some("N/a [(\"age\", Integer(1))]") -> Some("N/a [(\"age\", Integer(2))]")
            schema Relationships 1
            relationship None -> Some("R 67109888 1024 0")
            relationship Some("R 67109888 1024 0") -> None
            node Some("N/a [(\"age\", Integer(2))]") -> None
            cleared
            schema Nodes 1
            node None -> Some("M/after []")"#]]
        .assert_eq(&heard.lock().unwrap().join("\n"));
    }
}

/// The log's thread has things to do also where nothing was written since somebody began to listen. It ended there, and every write
/// waited for it.
#[test]
fn the_log_goes_on_where_nothing_is_written_behind_a_listener() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::new(Durability::Sync)).unwrap();
    store.write_and_wait(|write| write.create_node("N", "before", &[])).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    let listening = store.listen(move |events| into.lock().unwrap().extend(events.iter().map(print)));
    store.snapshot().unwrap();
    store.write_and_wait(|write| write.create_node("N", "behind", &[])).unwrap();
    assert_eq!(*heard.lock().unwrap(), ["node None -> Some(\"N/behind []\")"]);
    drop(listening);
}

#[test]
fn tickets_are_settled_in_order_and_each_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::new(Durability::Sync)).unwrap();
    let (sender, receiver) = mpsc::channel();
    let watching = store.watch(move |settled| sender.send((settled.up_to, settled.outcome.is_ok())).unwrap());
    let tickets: Vec<Ticket> = (0..200)
        .map(|key| store.write_ticket(|write| write.create_node("N", &key.to_string(), &[])).unwrap().1)
        .collect();
    assert!(tickets.is_sorted() && tickets[0] > Ticket::SETTLED);
    let mut last = Ticket::SETTLED;
    while last < tickets[199] {
        let (up_to, is_done) = receiver.recv().unwrap();
        assert!(is_done && up_to >= last);
        last = up_to;
    }
    drop(watching);
    drop(store);
    assert!(receiver.recv().is_err(), "nobody is told any more");
    let store = Store::open(directory.path(), Options::new(Durability::Off)).unwrap();
    let (_, ticket) = store.write_ticket(|write| write.create_node("N", "off", &[])).unwrap();
    assert_eq!(ticket, Ticket::SETTLED);
}
