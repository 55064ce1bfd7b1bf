//! Parts of a write that are taken back while the rest of it is made.

use std::sync::{Arc, Mutex};

use prony_graph_store::{Durability, Event, Keep, Kind, Options, Refusal, Side, Store, Value};

/// Of an attempt that fails nothing is left: neither types nor nodes, relationships, values or events; what the write did before and
/// does afterwards is, also once the log is read again.
#[test]
fn an_attempt_that_fails_leaves_the_rest_of_its_write() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(Durability::Sync);
    let store = Store::open(directory.path(), options).unwrap();
    store.write_and_wait(|write| write.make_type(Side::Nodes, "N")).unwrap();
    let heard = Arc::new(Mutex::new(0));
    let count = Arc::clone(&heard);
    let registration = store.listen(move |events: &[Event<'_>]| {
        let of_nodes = events.iter().filter(|event| !matches!(event, Event::Schema { .. }));
        *count.lock().unwrap() += of_nodes.count();
    });
    let node = store
        .write_and_wait(|write| {
            write.declare(Side::Nodes, "N", "age", Kind::Integer)?;
            let node = write.create_node("N", "a", &[("age", Value::Integer(7))])?;
            let failed = write.attempt(|write| -> Result<(), &str> {
                let other = write.create_node("Other", "b", &[]).map_err(|_| "it can be created")?;
                write.create_relationship("R", node, other, &[]).map_err(|_| "it can be joined")?;
                write.create_relationship("R", other, other, &[]).map_err(|_| "a loop is allowed")?;
                write
                    .set_node(node, &[("age", Value::Integer(8))], Keep::Others)
                    .map_err(|_| "it is there")?;
                write.delete_node(other).map_err(|_| "it is there")?;
                write.undeclare(Side::Nodes, "N", "age").map_err(|_| "it is declared")?;
                Err("no")
            });
            assert_eq!(failed, Err("no"));
            assert_eq!(write.find("Other", "b"), None);
            // The place of what was taken back is free.
            write.attempt(|write| write.create_node("N", "c", &[])).map(drop)?;
            assert_eq!(
                write.attempt(|write| write.create_node("N", "a", &[])),
                Err(Refusal::KeyExists { type_name: "N".to_owned() })
            );
            Ok(node)
        })
        .unwrap();
    let check = |store: &Store| {
        let read = store.read();
        assert_eq!(read.node(node).unwrap().property("age"), Some(Value::Integer(7)));
        assert_eq!(read.count(Side::Nodes, None), 2);
        assert_eq!(read.count(Side::Relationships, None), 0);
        assert_eq!(read.schema().side(Side::Nodes).number("Other"), None);
        assert_eq!(read.schema().side(Side::Relationships).number("R"), None);
        assert!(read.find("N", "c").is_some());
        assert_eq!(store.check().problems, [""; 0]);
    };
    check(&store);
    assert_eq!(*heard.lock().unwrap(), 2, "two nodes were created");
    drop(registration);
    drop(store);
    check(&Store::open(directory.path(), options).unwrap());
}
