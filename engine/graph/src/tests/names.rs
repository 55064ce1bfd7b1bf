//! Names that GraphQL cannot take, and names that collide.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use expect_test::{Expect, expect, expect_file};
use prony_graph_store::{Kind, Side, Value};
use prony_graphql::schema::{Contribution, Schema, SourceId, build};
use proptest::prelude::*;

use crate::schema::{
    contribution::contribution,
    model::{Model, TypeModel},
    naming::PropertyFields,
};
use crate::tests::harness::{Served, friends};
use prony_source::{ReservedNames, dialect::names};

/// The types and properties of one side, as they are served, and what is noted of them.
fn check(side: Side, declared: &[(&str, &[(&str, Kind)])], expected: &Expect) {
    let served = Served::empty();
    served.write(|write| {
        for (of, properties) in declared {
            write.make_type(side, of)?;
            for (name, kind) in *properties {
                write.declare(side, of, name, *kind)?;
            }
        }
        Ok(())
    });
    let model = Model::new(served.store.read().schema(), &ReservedNames::default());
    let mut text = String::new();
    for of in &model.side(side).types {
        let fields: Vec<&str> = of.properties.iter().map(|property| &*property.field).collect();
        let names = [&of.type_name, &of.list_name, &of.single_name, &of.mutation_stem].map(|name| &**name);
        writeln!(text, "{:?}: {} {fields:?}", of.name, names.join(" ")).unwrap();
    }
    for note in &model.notes {
        writeln!(text, "note: {note}").unwrap();
    }
    Schema::merge(vec![(SourceId(0), contribution(&model, None))]).expect("the names make a schema");
    expected.assert_eq(&text);
}

#[test]
fn types_keep_their_names_where_they_can() {
    let none: &[(&str, Kind)] = &[];
    check(
        Side::Nodes,
        &[("User", none), ("person", none), ("Node", none), ("Sheep", none), ("Category", none)],
        &expect![[r#"
            "User": User users user User []
            "person": person people person Person []
            "Node": Node nodes node Node []
            "Sheep": Sheep sheep sheep_by_key Sheep []
            "Category": Category categories category Category []
        "#]],
    );
    check(
        Side::Nodes,
        &[
            ("a/b", none),
            ("a_b", none),
            ("a b", none),
            ("", none),
            ("7", none),
            ("Größe", none),
            ("__schema", none),
            ("Query", none),
            ("String", none),
            ("GraphNode", none),
            ("User", none),
            ("user", none),
            ("Users", none),
            ("UserClauses", none),
        ],
        &expect![[r#"
            "a/b": a_bNode a_b_nodes a_b_node A_bNode []
            "a_b": a_b a_bs a_b A_b []
            "a b": a_b_2 a_b_2s a_b_2 A_b_2 []
            "": _ _rows _ _ []
            "7": _7 _7s _7 _7 []
            "Größe": Grosse grosses grosse Grosse []
            "__schema": _schema _schemas _schema _schema []
            "Query": QueryNode query_nodes query_node QueryNode []
            "String": StringNode string_nodes string_node StringNode []
            "GraphNode": GraphNodeNode graph_node_nodes graph_node_node GraphNodeNode []
            "User": User users user User []
            "user": user users_2 user_by_key user []
            "Users": Users users_3 user_2 Users []
            "UserClauses": UserClausesNode user_clauses_nodes user_clauses_node UserClausesNode []
            note: type `Query` of nodes is served as `QueryNode`
            note: type `String` of nodes is served as `StringNode`
            note: type `GraphNode` of nodes is served as `GraphNodeNode`
            note: type `UserClauses` of nodes is served as `UserClausesNode`
            note: type `a/b` of nodes is served as `a_bNode`
            note: type `a b` of nodes is served as `a_b_2`
            note: type `` of nodes is served as `_`
            note: type `7` of nodes is served as `_7`
            note: type `Größe` of nodes is served as `Grosse`
            note: type `__schema` of nodes is served as `_schema`
        "#]],
    );
    check(
        Side::Relationships,
        &[("FRIEND", none), ("FRIEND_OF", none), ("knows", none), ("100%", none), ("true", none)],
        &expect![[r#"
            "FRIEND": FRIEND friend_relationships  FRIEND []
            "FRIEND_OF": FRIEND_OF friend_of_relationships  FRIEND_OF []
            "knows": knows knows_relationships  Knows []
            "100%": _100 _100_relationships  _100 []
            "true": trueRelationship true_relationship_relationships  TrueRelationship []
            note: type `true` of relationships is served as `trueRelationship`
            note: type `100%` of relationships is served as `_100`
        "#]],
    );
}

#[test]
fn properties_give_way_to_what_nodes_have() {
    check(
        Side::Nodes,
        &[
            (
                "User",
                &[
                    ("id", Kind::String),
                    ("type", Kind::String),
                    ("key", Kind::String),
                    ("_id", Kind::Integer),
                    ("degree", Kind::String),
                    ("neighbors", Kind::String),
                    ("users", Kind::String),
                    ("and", Kind::String),
                    ("first name", Kind::String),
                    ("first_name", Kind::String),
                ],
            ),
            ("Animal", &[("id", Kind::Integer), ("weight", Kind::Double)]),
            ("Stone", &[("weight", Kind::Integer)]),
        ],
        &expect![[r#"
            "User": User users user User ["id_property", "and_property", "degree_property", "first_name_property", "first_name", "id", "key", "neighbors_property", "type", "users"]
            "Animal": Animal animals animal Animal ["id", "weight"]
            "Stone": Stone stones stone Stone ["weight"]
            note: property `_id` is served as `id_property`
            note: property `and` is served as `and_property`
            note: property `degree` is served as `degree_property`
            note: property `neighbors` is served as `neighbors_property`
            note: property `first name` is served as `first_name_property`
            note: types of nodes declare property `id` differently: it can be asked for and filtered by in each type, not in GraphNodeClauses
        "#]],
    );
    check(
        Side::Relationships,
        &[("KNOWS", &[("from", Kind::Integer), ("to", Kind::Integer), ("since", Kind::Integer)])],
        &expect![[r#"
            "KNOWS": KNOWS knows_relationships  KNOWS ["from_property", "since", "to_property"]
            note: property `from` is served as `from_property`
            note: property `to` is served as `to_property`
        "#]],
    );
}

#[test]
fn a_property_hides_the_neighbours_of_its_name() {
    let served = friends();
    served.write(|write| {
        write.declare(Side::Nodes, "User", "users", Kind::Integer)?;
        let max = write.find("User", "Max").unwrap();
        write.set_node(max, &[("users", Value::Integer(9))], prony_graph_store::Keep::Others)
    });
    let answer =
        served.answer(r#"{ user(_key: "Max") { users } product(_key: "p1") { users { _key } } }"#, "{}");
    expect![[r#"{"data":{"user":{"users":9},"product":{"users":[{"_key":"Helene"},{"_key":"Max"}]}}}"#]]
        .assert_eq(&answer);
}

#[test]
fn the_schema_of_a_small_graph() {
    let served = Served::empty();
    expect_file!["empty.graphql"].assert_eq(&served.offered().schema.sdl());
    served.write(|write| {
        write.make_type(Side::Nodes, "User")?;
        write.declare(Side::Nodes, "User", "age", Kind::Integer)?;
        write.make_type(Side::Relationships, "FRIEND")?;
        write.declare(Side::Relationships, "FRIEND", "since", Kind::Integer)
    });
    expect_file!["small.graphql"].assert_eq(&served.offered().schema.sdl());
}

/// There may be thousands of types: what they have alike is there once.
#[test]
fn types_share_fields_and_descriptions() {
    let served = Served::empty();
    served.write(|write| {
        for of in ["User", "Person"] {
            write.make_type(Side::Nodes, of)?;
            write.declare(Side::Nodes, of, "age", Kind::Integer)?;
        }
        Ok(())
    });
    let offered = served.offered();
    let object = |name: &str| offered.schema.valid().get_object(name).unwrap();
    for field in ["_id", "_key", "neighbors", "relationships", "degree", "age", "users", "people_aggregate"] {
        let [one, other] = ["User", "Person"].map(|name| &object(name).fields[field].node);
        assert!(one.ptr_eq(other) && one.description.is_some(), "{field}");
    }
    let shares = |root: &str, fields: [&str; 2]| {
        let texts = fields.map(|field| object(root).fields[field].description.clone().unwrap());
        assert!(texts[0].ptr_eq(&texts[1]), "{fields:?}");
    };
    shares("Mutation", ["createUser", "createPerson"]);
    shares("Query", ["users_aggregate", "people_aggregate"]);
}

/// Three properties of which only the first is a name were enough to make names that GraphQL reserves.
#[test]
fn names_without_letters_are_numbered() {
    let none: &[(&str, Kind)] = &[];
    let integers = [("_", Kind::Integer), ("%", Kind::Integer), ("?", Kind::Integer), ("", Kind::Integer)];
    check(
        Side::Nodes,
        &[("User", &integers), ("_", none), ("%", none), ("?", none), ("", none), ("_2", none)],
        &expect![[r#"
            "User": User users user User ["_property", "_2", "_3", "_"]
            "_": _ _rows _ _ []
            "%": _Node _nodes _node _Node []
            "?": _3 _3s _3 _3 []
            "": _4 _4s _4 _4 []
            "_2": _2 _2s _2 _2 []
            note: type `%` of nodes is served as `_Node`
            note: type `?` of nodes is served as `_3`
            note: type `` of nodes is served as `_4`
            note: property `` is served as `_property`
            note: property `%` is served as `_2`
            note: property `?` is served as `_3`
        "#]],
    );
    check(
        Side::Relationships,
        &[("_", &integers), ("%", none), ("?", none), ("", none)],
        &expect![[r#"
        "_": _ _relationships  _ ["_property", "_2", "_3", "_"]
        "%": _Relationship _relationship_relationships  _Relationship []
        "?": _2 _2_relationships  _2 []
        "": _3 _3_relationships  _3 []
        note: type `%` of relationships is served as `_Relationship`
        note: type `?` of relationships is served as `_2`
        note: type `` of relationships is served as `_3`
        note: property `` is served as `_property`
        note: property `%` is served as `_2`
        note: property `?` is served as `_3`
    "#]],
    );
}

/// Who may declare properties takes no name from a field that is joined to a type; other types keep theirs, and so do filters over all.
#[test]
fn properties_give_way_to_what_is_joined_to_their_type() {
    let served = Served::empty();
    served.write(|write| {
        for (of, properties) in [
            ("Person", &["orders", "orders_property", "city", "Größe"][..]),
            ("City", &["orders", "city"]),
            ("Shop", &["orders"]),
            ("Order", &[]),
        ] {
            write.make_type(Side::Nodes, of)?;
            for name in properties {
                write.declare(Side::Nodes, of, name, Kind::Integer)?;
            }
        }
        Ok(())
    });
    let mut taken = ReservedNames::default();
    for (of, field) in
        [("Person", "orders"), ("Person", "Grosse"), ("Shop", "orders"), ("Shop", "orders_2"), ("City", "x")]
    {
        taken.add_field(of, field);
    }
    let model = Model::new(served.store.read().schema(), &taken);
    let fields = |of: &TypeModel| {
        let fields = of.properties.iter().map(|property| format!("{}: {}", property.name, property.field));
        fields.collect::<Vec<_>>().join(", ")
    };
    let types = model.nodes.types.iter().map(|of| format!("{}: {}", of.type_name, fields(of)));
    let common: Vec<&str> = model.nodes.common.iter().map(|property| &*property.field).collect();
    let told = types.chain([format!("all: {}", common.join(", "))]).chain(model.collisions.iter().cloned());
    expect![[r#"
        Person: Größe: Grosse_property, city: city, orders: orders_2, orders_property: orders_property
        City: city: city, orders: orders
        Shop: orders: orders_3
        Order: 
        all: Grosse, city, orders, orders_property
        property `Größe` of `Person` is served as `Grosse_property`, because `Grosse` is joined to the type
        property `orders` of `Person` is served as `orders_2`, because `orders` is joined to the type
        property `orders` of `Shop` is served as `orders_3`, because `orders` is joined to the type"#]]
    .assert_eq(&told.collect::<Vec<_>>().join("\n"));
    // The list of neighbours of type `Order` is called `orders`.
    let of_graph = contribution(&model, None);
    let have = ["City", "Person", "Shop"].map(|of| has_field(&of_graph, of, "orders"));
    assert_eq!(have, [true, false, false]);
}

/// Each is numbered behind the one before, not from 2 again.
#[test]
fn many_names_of_one_form_are_numbered_in_one_pass() {
    let form = |number: usize| "?".repeat(number % 250 + 1) + &"!".repeat(number / 250);
    let properties: Vec<Arc<str>> = (0..60_000).map(|number| form(number).into()).collect();
    let fields = PropertyFields::new(Side::Nodes, properties.iter(), &mut Vec::new());
    let names: BTreeSet<_> = properties.iter().filter_map(|property| fields.get(property)).collect();
    assert_eq!(names.len(), 60_000);
    assert!(names.contains("_59999"), "the last is numbered from the one before");
}

/// What names are put together of: what a name cannot have, what names are derived with, and what others have.
const PARTS: &[&str] = &[
    "",
    "_",
    "__",
    "%",
    "?",
    "/",
    " ",
    "\0",
    "\n",
    "\"",
    "\u{301}",
    "\u{202e}",
    "a",
    "A",
    "b",
    "s",
    "es",
    "ies",
    "7",
    "2",
    "_2",
    "ß",
    "中",
    "user",
    "User",
    "Users",
    "Query",
    "Mutation",
    "Subscription",
    "String",
    "Int",
    "ID",
    "BigInt",
    "Result",
    "true",
    "null",
    "Graph",
    "Node",
    "Relationship",
    "Direction",
    "Type",
    "Key",
    "StrWhere",
    "Clauses",
    "Sort",
    "Aggregate",
    "Fields",
    "PkColumns",
    "Change",
    "graph_node",
    "_aggregate",
    "_rows",
    "_relationships",
    "_by_key",
    "_property",
    "create",
    "update",
    "on",
    "Changed",
    "_id",
    "_key",
    "_type",
    "degree",
    "neighbors",
    "relationships",
    "from",
    "to",
    "node",
    "and",
    "or",
    "not",
    "pk_columns",
    "count",
    "sum",
    "__typename",
    "__Schema",
];

fn any_name() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(PARTS), 1..5).prop_map(|parts| parts.concat());
    let bare = prop::sample::select(vec!["_", "%", "?", "", "%%", "A", "a", "User", "user", "users"]);
    let long = (prop::sample::select(PARTS), 1..900_usize).prop_map(|(part, times)| {
        let mut name = part.repeat(times);
        name.truncate((0..=900).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0));
        name
    });
    prop_oneof![4 => parts, 4 => bare.prop_map(str::to_owned), 1 => any::<String>(), 1 => long]
}

type Declared = Vec<(String, Vec<(String, bool)>)>;

fn any_types() -> impl Strategy<Value = Declared> {
    let properties = prop::collection::vec((any_name(), any::<bool>()), 0..8);
    prop::collection::vec((any_name(), properties), 0..10)
}

fn has_field(contribution: &Contribution, of: &str, field: &str) -> bool {
    let found = contribution.types.iter().find(|(name, _)| name == of);
    found
        .and_then(|(_, definition)| definition.as_object())
        .is_some_and(|object| object.fields.contains_key(field))
}

/// What another source has, whose names are its owner's.
fn others(types: &[String], fields: &[String]) -> Contribution {
    let valid = |name: &&String| names::is_graphql_name(name) && !name.starts_with("Graph");
    let known =
        ["Query", "Mutation", "Subscription", "String", "Int", "Float", "ID", "Boolean", "BigInt", "Result"];
    let types: BTreeSet<_> =
        types.iter().filter(valid).filter(|name| !known.contains(&name.as_str())).collect();
    let fields: BTreeSet<_> =
        fields.iter().filter(valid).filter(|name| !name.starts_with("graph_")).collect();
    let name = |text: &str| apollo_compiler::Name::new(text).unwrap();
    let field = |text: &str| build::field_with_arguments(&name(text), Vec::new(), build::named(&name("Int")));
    Contribution {
        types: types.into_iter().map(|text| build::object(&name(text), None, [field("own")])).collect(),
        query: fields.iter().map(|text| field(text)).collect(),
        mutation: fields.iter().map(|text| field(&format!("create{text}"))).collect(),
        ..Contribution::default()
    }
}

proptest! {
    /// Whoever may write to a graph names its types and properties, and can name them as he likes.
    #[test]
    fn any_names_make_a_schema(
        nodes in any_types(),
        relationships in any_types(),
        types in prop::collection::vec(any_name(), 0..6),
        fields in prop::collection::vec(any_name(), 0..6),
        joins in prop::collection::vec(any::<bool>(), 0..40),
    ) {
        let served = Served::empty();
        served.write(|write| {
            for (side, declared) in [(Side::Nodes, &nodes), (Side::Relationships, &relationships)] {
                for (of, properties) in declared {
                    write.make_type(side, of)?;
                    for (name, is_integer) in properties {
                        let kind = if *is_integer { Kind::Integer } else { Kind::StringList };
                        // A property that is there keeps its kind.
                        let _ = write.declare(side, of, name, kind);
                    }
                }
            }
            Ok(())
        });
        let others = others(&types, &fields);
        let mut taken = ReservedNames::default();
        taken.add(&others);
        // To types as they are named before anything is joined to them.
        let unjoined = Model::new(served.store.read().schema(), &taken);
        let all = || unjoined.nodes.types.iter().chain(&unjoined.relationships.types);
        let usual = || all().flat_map(|of| of.properties.iter().map(|property| property.field.to_string()));
        let mut joined: BTreeSet<(String, String)> = BTreeSet::new();
        for (index, field) in usual().chain(usual().map(|field| format!("{field}_property"))).enumerate() {
            if names::is_graphql_name(&field) && joins.get(index).copied().unwrap_or_default() {
                let of = all().nth(index % all().count()).expect("types have the properties");
                taken.add_field(&of.type_name, &field);
                joined.insert((of.type_name.to_string(), field));
            }
        }
        let model = Model::new(served.store.read().schema(), &taken);
        for of in model.nodes.types.iter().chain(&model.relationships.types) {
            let fields: BTreeSet<_> = of.properties.iter().map(|property| &property.field).collect();
            prop_assert_eq!(fields.len(), of.properties.len());
        }
        let of_graph = contribution(&model, None);
        let own = ["_id", "_key", "_type", "degree", "neighbors", "relationships", "from", "node", "to"];
        for (of, field) in joined.iter().filter(|(_, field)| !own.contains(&field.as_str())) {
            prop_assert!(!has_field(&of_graph, of, field), "{of}.{field}");
        }
        let merged = Schema::merge(vec![(SourceId(0), others), (SourceId(1), of_graph)]);
        prop_assert!(merged.is_ok(), "{:#?}", merged.unwrap_err());
    }
}
