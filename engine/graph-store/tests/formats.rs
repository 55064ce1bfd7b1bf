//! Files of earlier versions are read by this one: `fixtures/format-N` was written by the last code of format N, with
//! `fill` as it was then; format 3 with an interval, so that its log ends with a mark; format 4 has a `log-state`.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_graph_store::{Around, Durability, FORMAT_VERSION, Keep, Kind, Options, Side, Store, Value};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const OPTIONS: Options = Options::new(Durability::Sync);

/// A graph with something of everything, half of it in a snapshot and half in the log behind it.
fn fill(store: &Store) {
    let values: [(&str, Value<'_>); 8] = [
        ("boolean", Value::Boolean(true)),
        ("integer", Value::Integer(i64::MIN)),
        ("double", Value::Double(0.1)),
        ("string", Value::String("ä\u{0}/%".into())),
        ("boolean_list", Value::BooleanList(vec![true, false])),
        ("integer_list", Value::IntegerList(vec![i64::MAX, -1])),
        ("double_list", Value::DoubleList(vec![1e300, -0.5])),
        ("string_list", Value::StringList(vec!["".into(), "b".into()])),
    ];
    let declared = store.write_and_wait(|write| {
        for (side, of) in [(Side::Nodes, "All"), (Side::Relationships, "HAS")] {
            write.make_type(side, of)?;
            for kind in Kind::ALL {
                write.declare(side, of, kind.name(), kind)?;
            }
            write.declare(side, of, "dropped", Kind::Integer)?;
            write.index(side, of, "string")?;
        }
        Ok(())
    });
    declared.unwrap();
    let first = store.write_and_wait(|write| {
        let node = write.create_node("All", "first", &values)?;
        write.set_node(node, &[("dropped", Value::Integer(5))], Keep::Others)?;
        let gone = write.create_node("All", "gone", &[])?;
        let other = write.create_node("Empty", "", &[])?;
        write.create_relationship("HAS", node, other, &values)?;
        write.create_relationship("HAS", gone, other, &[])?;
        write.create_relationship("LOOP", node, node, &[])?;
        write.delete_node(gone)?;
        write.undeclare(Side::Nodes, "All", "dropped")?;
        Ok(node)
    });
    let first = first.unwrap();
    store.snapshot().unwrap();
    let later = store.write_and_wait(|write| {
        write.set_node(first, &[("integer", Value::Integer(7))], Keep::Others)?;
        let later = write.create_node("All", &"k".repeat(300), &[])?;
        write.create_relationship("LOOP", later, first, &[])?;
        write.make_type(Side::Nodes, "Short-lived")?;
        write.drop_type(Side::Nodes, "Short-lived")
    });
    later.unwrap();
}

/// Everything that a client can see.
fn print(store: &Store) -> String {
    let mut text = String::new();
    let read = store.read();
    for side in [Side::Nodes, Side::Relationships] {
        for (number, of) in read.schema().side(side).all() {
            let properties: Vec<_> =
                of.properties.iter().map(|(name, of)| (&**name, of.kind.name())).collect();
            writeln!(text, "{side:?} {number} {} {properties:?}", of.name).unwrap();
        }
    }
    for node in read.nodes(None) {
        let around: Vec<_> = read
            .around(node.at, Around::default())
            .into_iter()
            .map(|(way, one)| (way, one.at.id()))
            .collect();
        let key =
            if node.key.len() > 100 { format!("{} bytes", node.key.len()) } else { node.key.to_owned() };
        writeln!(text, "{} {key:?} {:?} {around:?}", node.at.id(), node.properties().collect::<Vec<_>>())
            .unwrap();
    }
    for one in read.relationships(None) {
        let properties: Vec<_> = one.properties().collect();
        writeln!(text, "{} {} {} {properties:?}", one.at.id(), one.from.id(), one.to.id()).unwrap();
    }
    text
}

fn check(directory: &Path, expected: &Expect) {
    let store = Store::open(directory, OPTIONS).unwrap();
    assert!(store.recovery().snapshot.is_some() && store.recovery().frames > 0, "{:?}", store.recovery());
    expected.assert_eq(&print(&store));
    assert_eq!(store.check().problems, Vec::<String>::new());
    store.write_and_wait(|write| write.create_node("All", "new", &[])).unwrap();
    drop(store);
    assert!(Store::open(directory, OPTIONS).unwrap().read().find("All", "new").is_some());
}

#[test]
fn files_of_every_format_are_read_and_gone_on_with() {
    let expected = expect![[r#"
        Nodes 1 All [("boolean", "boolean"), ("boolean_list", "boolean_list"), ("double", "double"), ("double_list", "double_list"), ("integer", "integer"), ("integer_list", "integer_list"), ("string", "string"), ("string_list", "string_list")]
        Nodes 2 Empty []
        Relationships 1 HAS [("boolean", "boolean"), ("boolean_list", "boolean_list"), ("double", "double"), ("double_list", "double_list"), ("dropped", "integer"), ("integer", "integer"), ("integer_list", "integer_list"), ("string", "string"), ("string_list", "string_list")]
        Relationships 2 LOOP []
        1026 "first" [("boolean", Boolean(true)), ("boolean_list", BooleanList([true, false])), ("double", Double(0.1)), ("double_list", DoubleList([1e300, -0.5])), ("integer", Integer(7)), ("integer_list", IntegerList([9223372036854775807, -1])), ("string", String("ä\0/%")), ("string_list", StringList(["", "b"]))] [(Outgoing, 1026), (Outgoing, 2050), (Incoming, 2050), (Incoming, 2051)]
        1027 "300 bytes" [] [(Outgoing, 2051)]
        2049 "" [] [(Incoming, 1026)]
        1026 1026 2049 [("boolean", Boolean(true)), ("boolean_list", BooleanList([true, false])), ("double", Double(0.1)), ("double_list", DoubleList([1e300, -0.5])), ("integer", Integer(-9223372036854775808)), ("integer_list", IntegerList([9223372036854775807, -1])), ("string", String("ä\0/%")), ("string_list", StringList(["", "b"]))]
        2050 1026 1026 []
        2051 1027 1026 []
    "#]];
    for format in 1..=FORMAT_VERSION {
        let kept = format!("{}/tests/fixtures/format-{format}", env!("CARGO_MANIFEST_DIR"));
        let directory = tempfile::tempdir().unwrap();
        for file in fs::read_dir(&kept).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), directory.path().join(file.file_name())).unwrap();
        }
        check(directory.path(), &expected);
    }
    let directory = tempfile::tempdir().unwrap();
    fill(&Store::open(directory.path(), OPTIONS).unwrap());
    check(directory.path(), &expected);
}
