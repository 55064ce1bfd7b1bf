//! Files in, graph and messages out; and from a graph to files and back.

use super::header::FileOf;
use super::import::Import;
use super::problems::Problems;
use super::progress::Progress;
use super::{cells, export};
use expect_test::{Expect, expect};
use prony_graph_store::{Durability, Kind, Options, Read, Side, Store, Value};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn open(directory: &Path) -> Store {
    Store::open(directory, Options::new(Durability::Off)).expect("it can be opened")
}

/// Imports both texts; what is said of them.
fn import(store: &Store, files: &[(FileOf, &Path)]) -> Vec<String> {
    let mut problems = Problems::new(None);
    let mut import = Import::new(store, b',', &mut problems);
    for (of, path) in files {
        if let Err(error) = import.file(*of, path, &Progress::of_bytes(String::new(), 0)) {
            return vec![format!("{error:#}")];
        }
    }
    problems.finish().expect("nothing is put aside").1
}

/// All that is in a graph, without ids.
fn shown(read: &Read) -> Vec<String> {
    let values = |properties: &mut dyn Iterator<Item = (&str, Value<'_>)>| {
        properties.fold(String::new(), |text, (name, value)| format!("{text} {name}={value:?}"))
    };
    let end = |at| {
        let node = read.node(at).expect("it is there");
        format!("{}/{}", node.of.name, node.key)
    };
    let nodes = read
        .nodes(None)
        .map(|node| format!("{}/{}{}", node.of.name, node.key, values(&mut node.properties())));
    let relationships = read.relationships(None).map(|one| {
        format!("{} {} {}{}", end(one.from), one.of.name, end(one.to), values(&mut one.properties()))
    });
    let mut all: Vec<String> = nodes.chain(relationships).collect();
    all.sort();
    all
}

fn check(nodes: &str, relationships: &str, expected: &Expect) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let paths = [directory.path().join("nodes.csv"), directory.path().join("relationships.csv")];
    fs::write(&paths[0], nodes).expect("it can be written");
    fs::write(&paths[1], relationships).expect("it can be written");
    let store = open(&directory.path().join("graph"));
    let said = import(&store, &[(FileOf::Nodes, &paths[0]), (FileOf::Relationships, &paths[1])]);
    let text = [shown(&store.read()), said].concat().join("\n");
    expected.assert_eq(&text.replace(&directory.path().display().to_string(), "DIR"));
}

#[test]
fn files_as_people_have_them() {
    check(
        ":LABEL,key:ID,name,age:int\nUser,max,Max,42\nUser,\"he,len\",\"Hel\"\"ene\",\nItem,max,\"\",\n",
        ":START_LABEL,:START_ID,:END_LABEL,:END_ID,:TYPE,since:int\nUser,max,Item,max,BOUGHT,2024\nUser,max,User,max,KNOWS,\n",
        &expect![[r#"
            Item/max name=String("")
            User/he,len name=String("Hel\"ene")
            User/max BOUGHT Item/max since=Integer(2024)
            User/max KNOWS User/max
            User/max age=Integer(42) name=String("Max")"#]],
    );
    // Neo4j's own example of ID spaces.
    check(
        "movieId:ID(Movie-ID),title,year:int,:LABEL\ntt0133093,\"The Matrix\",1999,Movie\n1,Other,,Movie\n",
        ":START_ID(Movie-ID),role,:END_ID(Movie-ID),:TYPE\ntt0133093,\"Neo\",1,ACTED_IN\n",
        &expect![[r#"
            Movie/1 title=String("Other")
            Movie/tt0133093 ACTED_IN Movie/1 role=String("Neo")
            Movie/tt0133093 title=String("The Matrix") year=Integer(1999)"#]],
    );
    check(
        "key:ID(User),tags:string[],scores:double[]\na,x;y,1;2.5\nb,\"[\"\"p;q\"\"]\",[]\n",
        ":START_ID,:END_ID,:TYPE\na,b,R\na,b,R\n",
        &expect![[r#"
            User/a R User/b
            User/a R User/b
            User/a scores=DoubleList([1.0, 2.5]) tags=StringList(["x", "y"])
            User/b scores=DoubleList([]) tags=StringList(["p;q"])"#]],
    );
}

#[test]
fn every_fault_is_told_with_its_place() {
    check(
        "key:ID,:LABEL,age:int,age:double\na,User,1,\nb,User,x,\na,User,,\nc,User\nd,User,,2\ne,User,1,2\nf,Item,,2.5\ng,User,3,\n",
        ":START_ID,:END_ID(User),:TYPE\na,g,R\na,nobody,R\na,f,R\n",
        &expect![[r#"
            Item/f age=Double(2.5)
            User/a R User/g
            User/a age=Integer(1)
            User/g age=Integer(3)
            DIR/nodes.csv:3: column 3 (`age:int`): `x` is no integer from -9223372036854775808 to 9223372036854775807
            DIR/nodes.csv:4: column 1 (`key:ID`): a node of type `User` with the key `a` exists
            DIR/nodes.csv:5: 2 cells where the header names 4 columns
            DIR/nodes.csv:6: column 4 (`age:double`): the value of `age` is no integer
            DIR/nodes.csv:7: column 4 (`age:double`): another column has a value for the same property
            DIR/relationships.csv:3: column 2 (`:END_ID(User)`): there is no node of type `User` with the key `nobody`
            DIR/relationships.csv:4: column 2 (`:END_ID(User)`): there is no node of type `User` with the key `f`"#]],
    );
    check(
        "key:ID(A)\nx\n\"y\nz\n",
        ":START_ID,:END_ID,:TYPE\nx,x,R,\"more\nlines\"\nx,x,R\n",
        &expect![[r#"
            A/x
            A/x R A/x
            DIR/nodes.csv:3: the file ends within quotes that this record opens
            DIR/relationships.csv:2: 4 cells where the header names 3 columns (it takes 2 lines; is a quote left open?)"#]],
    );
    check(
        "key:ID(A),n:int\n",
        ":START_ID,:END_ID\n",
        &expect![[r#"
            the header of DIR/relationships.csv has faults
              DIR/relationships.csv:1: no column is the relationship's type; name one `:TYPE`"#]],
    );
    check("", "", &expect!["DIR/nodes.csv is empty; its first line names the columns"]);
    check(
        "key:ID,:LABEL\n1,A\n1,B\n",
        ":START_ID,:END_ID,:TYPE\n1,1,R\n",
        &expect![[r#"
        A/1
        B/1
        DIR/relationships.csv:2: column 1 (`:START_ID`): `A` and `B` both have a node with the key `1`; name the type in a column :START_LABEL or :END_LABEL"#]],
    );
}

#[test]
fn bytes_that_are_no_text_are_named() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("nodes.csv");
    fs::write(&path, b"key:ID(A),n\nx,caf\xe9\n").expect("it can be written");
    let said = import(&open(&directory.path().join("graph")), &[(FileOf::Nodes, &path)]).concat();
    assert!(
        said.ends_with(":2: column 2 (`n`): it is no UTF-8 from its byte 4 on; convert the file"),
        "{said}"
    );
}

// ---- export and import again

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,2}", "[\\[\\];,\"\r\n \\\\a]{0,5}", ".{0,4}"]
}

fn value(kind: Kind) -> BoxedStrategy<Value<'static>> {
    let double = || prop_oneof![Just(f64::NAN), Just(f64::NEG_INFINITY), Just(-0.0), any::<f64>()];
    let list = 0..4_usize;
    match kind {
        Kind::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Kind::Integer => any::<i64>().prop_map(Value::Integer).boxed(),
        Kind::Double => double().prop_map(Value::Double).boxed(),
        Kind::String => text().prop_map(|text| Value::String(text.into())).boxed(),
        Kind::BooleanList => prop::collection::vec(any::<bool>(), list).prop_map(Value::BooleanList).boxed(),
        Kind::IntegerList => prop::collection::vec(any::<i64>(), list).prop_map(Value::IntegerList).boxed(),
        Kind::DoubleList => prop::collection::vec(double(), list).prop_map(Value::DoubleList).boxed(),
        Kind::StringList => {
            prop::collection::vec(text().prop_map(Into::into), list).prop_map(Value::StringList).boxed()
        }
    }
}

/// Properties that a type has declared.
type Declared = Vec<(String, Kind)>;
/// Which type it is, its key, and values for some of the declared properties.
type Node = (usize, String, Vec<Option<Value<'static>>>);
/// From and to which node, and values.
type Relationship = (usize, usize, usize, Vec<Option<Value<'static>>>);

#[derive(Debug, Clone)]
struct Graph {
    types: Vec<(String, Declared)>,
    nodes: Vec<Node>,
    relationships: Vec<Relationship>,
}

fn types() -> impl Strategy<Value = Vec<(String, Declared)>> {
    let kind = (0..Kind::ALL.len()).prop_map(|place| Kind::ALL[place]);
    let declared = prop::collection::vec((prop_oneof!["[ab]", text()], kind), 0..4);
    prop::collection::vec((text(), declared), 1..4).prop_map(|mut types| {
        let mut names = std::collections::HashSet::new();
        types.retain(|(name, _)| names.insert(name.clone()));
        for (_, declared) in &mut types {
            let mut names = std::collections::HashSet::new();
            declared.retain(|(name, _)| names.insert(name.clone()));
        }
        types
    })
}

fn values(declared: &Declared) -> BoxedStrategy<Vec<Option<Value<'static>>>> {
    let each: Vec<_> = declared.iter().map(|(_, kind)| prop::option::of(value(*kind))).collect();
    each.boxed()
}

fn graph() -> impl Strategy<Value = Graph> {
    types().prop_flat_map(|types| {
        let of = |types: &[(String, Declared)]| {
            let each = types
                .iter()
                .enumerate()
                .map(|(place, (_, declared))| (Just(place), values(declared)).boxed());
            prop::strategy::Union::new(each)
        };
        let node = (of(&types), text()).prop_map(|((place, values), key)| (place, key, values));
        let relationship = (of(&types), 0..8_usize, 0..8_usize)
            .prop_map(|((place, values), from, to)| (place, from, to, values));
        let (nodes, relationships) =
            (prop::collection::vec(node, 0..8), prop::collection::vec(relationship, 0..12));
        (Just(types), nodes, relationships).prop_map(|(types, nodes, relationships)| Graph {
            types,
            nodes,
            relationships,
        })
    })
}

fn given<'g>(declared: &'g Declared, values: &'g [Option<Value<'static>>]) -> Vec<(&'g str, Value<'g>)> {
    let each = declared.iter().zip(values);
    each.filter_map(|((name, _), value)| Some((name.as_str(), value.clone()?))).collect()
}

/// Makes the graph; a key that is there twice is left out.
fn make(store: &Store, graph: &Graph) {
    let written = store.write_and_wait(|write| {
        for side in [Side::Nodes, Side::Relationships] {
            for (name, declared) in &graph.types {
                write.make_type(side, name)?;
                for (property, kind) in declared {
                    write.declare(side, name, property, *kind)?;
                }
            }
        }
        let mut made = Vec::new();
        for (place, key, values) in &graph.nodes {
            let (name, declared) = &graph.types[*place];
            if write.find(name, key).is_none() {
                made.push(write.create_node(name, key, &given(declared, values))?);
            }
        }
        for (place, from, to, values) in graph.relationships.iter().filter(|_| !made.is_empty()) {
            let (name, declared) = &graph.types[*place];
            let (from, to) = (made[from % made.len()], made[to % made.len()]);
            write.create_relationship(name, from, to, &given(declared, values))?;
        }
        Ok(())
    });
    written.expect("all of it is possible");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_exported_is_imported_as_the_same_graph(graph in graph()) {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let (first, second) = (open(&directory.path().join("a")), open(&directory.path().join("b")));
        make(&first, &graph);
        export::export(&first.read(), directory.path()).expect("it can be written");
        let paths = [directory.path().join(export::NODES), directory.path().join(export::RELATIONSHIPS)];
        let said = import(&second, &[(FileOf::Nodes, &paths[0]), (FileOf::Relationships, &paths[1])]);
        prop_assert_eq!(said, Vec::<String>::new());
        prop_assert_eq!(shown(&second.read()), shown(&first.read()));
    }

    #[test]
    fn arbitrary_cells_are_read_or_refused(text in text(), kind in 0..Kind::ALL.len()) {
        let _ = cells::read(&text, Kind::ALL[kind]);
    }
}
