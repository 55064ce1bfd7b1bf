//! Generated graphs: nodes and relationships of a few types, with numbers and texts that may be missing, loops, and several
//! relationships between the same nodes.

use prony_graph_store::{Kind, Ref, Side, Value};
use prony_testkit::{Condition, Seeded, condition};
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use crate::tests::harness::Served;

pub(super) const NODES: [&str; 3] = ["User", "Place", "Item"];
pub(super) const RELATIONSHIPS: [&str; 2] = ["KNOWS", "NEAR"];
/// Of all types: `n`, which every role can read, another number and a text.
pub(super) const PROPERTIES: [&str; 3] = ["n", "m", "s"];
pub(super) const TEXTS: [&str; 3] = ["", "a", "\u{e4}\""];
pub(super) const KEYS: [&str; 6] = ["a", "b", "1026", "\u{1f600}", "..", "x\""];

/// By [`PROPERTIES`].
pub(super) type Values = [Json; 3];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Index into [`NODES`].
    pub(super) of: usize,
    pub(super) key: String,
    pub(super) values: Values,
}

#[derive(Debug, Clone)]
pub(super) struct Relationship {
    /// Index into [`RELATIONSHIPS`].
    pub(super) of: usize,
    /// Indexes into [`Data::nodes`].
    pub(super) ends: [usize; 2],
    pub(super) values: Values,
}

#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) nodes: Vec<Node>,
    pub(super) relationships: Vec<Relationship>,
}

/// Where things of [`Data`] are in a graph.
pub(super) struct Places {
    pub(super) nodes: Vec<Ref>,
    pub(super) relationships: Vec<Ref>,
}

/// A node, or a relationship with the nodes at its ends.
pub(super) struct Seen<'d> {
    pub(super) key: Option<Json>,
    pub(super) values: &'d Values,
    pub(super) ends: Option<[&'d Node; 2]>,
}

impl Node {
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { key: Some(json!(self.key)), values: &self.values, ends: None }
    }
}

impl condition::Row for Seen<'_> {
    fn value(&self, column: &str) -> Option<&Json> {
        if column == "_key" {
            return self.key.as_ref();
        }
        let place = PROPERTIES.iter().position(|name| *name == column).expect("it is a property");
        Some(&self.values[place]).filter(|value| !value.is_null())
    }

    fn along(&self, field: &str, below: &Condition, user: i64) -> Option<bool> {
        let end = self.ends?[usize::from(field == "to")];
        below.value(&end.seen(), user)
    }
}

pub(super) fn values(chance: &mut Seeded) -> Values {
    let number = |chance: &mut Seeded| {
        if chance.random_range(0..4) == 0 { Json::Null } else { json!(chance.random_range(0..5)) }
    };
    let text = match chance.random_range(0..4) {
        0 => Json::Null,
        text => json!(TEXTS[text - 1]),
    };
    [number(chance), number(chance), text]
}

/// Without those that are null.
fn given(values: &Values) -> Vec<(&str, Value<'_>)> {
    let value = |(name, value): (&&'static str, &'_ Json)| match value {
        Json::Number(number) => Some((*name, Value::Integer(number.as_i64()?))),
        _ => None,
    };
    let mut given: Vec<(&str, Value<'_>)> = PROPERTIES.iter().zip(values).filter_map(value).collect();
    given.extend(values[2].as_str().map(|text| ("s", Value::String(text.into()))));
    given
}

impl Data {
    pub(super) fn generate(chance: &mut Seeded) -> Self {
        let mut nodes = Vec::new();
        for of in 0..NODES.len() {
            for key in KEYS {
                if chance.random_range(0..3) > 0 {
                    nodes.push(Node { of, key: key.to_owned(), values: values(chance) });
                }
            }
        }
        nodes.push(Node { of: 0, key: "always".to_owned(), values: values(chance) });
        let mut any = || Relationship {
            of: chance.random_range(0..RELATIONSHIPS.len()),
            ends: [chance.random_range(0..nodes.len()), chance.random_range(0..nodes.len())],
            values: values(chance),
        };
        let relationships = (0..30).map(|_| any()).collect();
        Self { nodes, relationships }
    }

    pub(super) fn seen(&self, relationship: &Relationship) -> [&Node; 2] {
        relationship.ends.map(|end| &self.nodes[end])
    }

    /// A graph with it.
    pub(super) fn make(&self) -> (Served, Places) {
        let served = Served::empty();
        let places = served.write(|write| {
            for (side, types) in [(Side::Nodes, &NODES[..]), (Side::Relationships, &RELATIONSHIPS[..])] {
                for of in types {
                    write.make_type(side, of)?;
                    for (name, kind) in PROPERTIES.iter().zip([Kind::Integer, Kind::Integer, Kind::String]) {
                        write.declare(side, of, name, kind)?;
                    }
                }
            }
            let mut places = Places { nodes: Vec::new(), relationships: Vec::new() };
            for node in &self.nodes {
                places.nodes.push(write.create_node(NODES[node.of], &node.key, &given(&node.values))?);
            }
            for of in &self.relationships {
                let [from, to] = of.ends.map(|end| places.nodes[end]);
                let made = write.create_relationship(RELATIONSHIPS[of.of], from, to, &given(&of.values))?;
                places.relationships.push(made);
            }
            Ok(places)
        });
        (served, places)
    }
}
