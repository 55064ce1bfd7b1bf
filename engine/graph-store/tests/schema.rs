//! Types and properties that come and go.

use prony_graph_store::{Durability, Kind, Options, Side, Store, Value};

const OPTIONS: Options = Options::new(Durability::Off);

/// A snapshot forgot the number of the property that was declared last and dropped.
#[test]
fn values_of_a_dropped_property_do_not_come_back_under_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    let node = store.write_and_wait(|write| {
        write.make_type(Side::Nodes, "N")?;
        write.declare(Side::Nodes, "N", "", Kind::String)?;
        write.declare(Side::Nodes, "N", "age", Kind::Integer)?;
        let node =
            write.create_node("N", "a", &[("age", Value::Integer(7)), ("", Value::String("x".into()))])?;
        write.undeclare(Side::Nodes, "N", "age")?;
        Ok(node)
    });
    let node = node.unwrap();
    store.snapshot().unwrap();
    drop(store);
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    store.write_and_wait(|write| write.declare(Side::Nodes, "N", "name", Kind::String)).unwrap();
    let read = store.read();
    let node = read.node(node).unwrap();
    assert_eq!(node.property("name"), None);
    assert_eq!(node.properties().collect::<Vec<_>>(), [("", Value::String("x".into()))]);
}

#[test]
fn a_graph_is_looked_at_beside_whoever_has_it_open_and_takes_no_writes_then() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("graph");
    let empty = Store::look(&path).unwrap();
    assert!(empty.read().count(Side::Nodes, None) == 0 && !path.exists());
    let store = Store::open(&path, Options::new(Durability::Sync)).unwrap();
    store.write_and_wait(|write| write.create_node("N", "a", &[]).map(drop)).unwrap();
    store.snapshot().unwrap();
    store.write_and_wait(|write| write.create_node("N", "b", &[]).map(drop)).unwrap();
    let looked = Store::look(&path).unwrap();
    assert_eq!(looked.read().count(Side::Nodes, None), 2);
    looked.write_and_wait(|write| write.create_node("N", "c", &[]).map(drop)).unwrap_err();
    assert_eq!(looked.read().count(Side::Nodes, None), 2, "it is taken back");
    store.write_and_wait(|write| write.create_node("N", "c", &[]).map(drop)).unwrap();
    assert_eq!(store.read().count(Side::Nodes, None), 3);
}
