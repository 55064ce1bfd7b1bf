//! Types and properties that come and go.

use prony_graph_store::{Durability, Kind, Options, Side, Store, Value};

const OPTIONS: Options = Options::new(Durability::Off);

/// A bug of the first version: a snapshot forgot the number of the property that was declared last and dropped.
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
