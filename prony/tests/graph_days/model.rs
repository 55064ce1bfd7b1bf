//! What one writer knows of its part of the graph: what was acknowledged, and the one call that may be under way.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(crate) const TYPES: [&str; 3] = ["User", "Item", "Place of work"];
pub(crate) const RELATIONSHIP_TYPES: [&str; 3] = ["KNOWS", "BOUGHT", "LIVES/IN"];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) id: u64,
    pub(crate) of: String,
    pub(crate) properties: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relationship {
    pub(crate) of: String,
    /// Keys of its nodes.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) properties: Map<String, Value>,
}

/// Nodes by key, relationships by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) relationships: BTreeMap<u64, Relationship>,
    /// Types of nodes that only this writer makes.
    pub(crate) types: BTreeSet<String>,
}

/// A call that changes the graph.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    Create { of: &'static str, key: String, properties: Map<String, Value> },
    Relate { of: &'static str, from: String, to: String, properties: Map<String, Value> },
    Set { key: String, properties: Map<String, Value>, keeps_others: bool },
    SetRelationship { id: u64, properties: Map<String, Value> },
    DeleteNode { key: String },
    DeleteRelationship { id: u64 },
    MakeType { name: String },
}

impl Call {
    /// Method, path and body.
    pub(crate) fn request(&self, part: &Part) -> (&'static str, String, Option<Value>) {
        let node = |key: &str| format!("{}/{}", encode(&part.nodes[key].of), encode(key));
        let object = |properties: &Map<String, Value>| Some(Value::Object(properties.clone()));
        match self {
            Self::Create { of, key, properties } => {
                let body = if properties.is_empty() { None } else { object(properties) };
                ("POST", format!("/node/{}/{}", encode(of), encode(key)), body)
            }
            Self::Relate { of, from, to, properties } => {
                let path = format!("/node/{}/relationship/{}/{}", node(from), node(to), encode(of));
                ("POST", path, object(properties))
            }
            Self::Set { key, properties, keeps_others } => {
                let method = if *keeps_others { "PUT" } else { "POST" };
                (method, format!("/node/{}/properties", node(key)), object(properties))
            }
            Self::SetRelationship { id, properties } => {
                ("POST", format!("/relationship/{id}/properties"), object(properties))
            }
            Self::DeleteNode { key } => ("DELETE", format!("/node/{}", node(key)), None),
            Self::DeleteRelationship { id } => ("DELETE", format!("/relationship/{id}"), None),
            Self::MakeType { name } => ("POST", format!("/schema/nodes/{name}"), None),
        }
    }
}

/// One segment of a path.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

impl Part {
    /// What the graph has after the call, which made a thing with this id if it made one.
    pub(crate) fn apply(&mut self, call: &Call, id: Option<u64>) {
        match call.clone() {
            Call::Create { of, key, properties } => {
                let id = id.expect("a node that was created has an id");
                self.nodes.insert(key, Node { id, of: of.to_owned(), properties });
            }
            Call::Relate { of, from, to, properties } => {
                let id = id.expect("a relationship that was created has an id");
                let before =
                    self.relationships.insert(id, Relationship { of: of.to_owned(), from, to, properties });
                assert_eq!(before, None, "id {id} belongs to two relationships");
            }
            Call::Set { key, properties, keeps_others } => {
                let node = self.nodes.get_mut(&key).expect("only what is there is changed");
                if !keeps_others {
                    node.properties.clear();
                }
                node.properties.extend(properties);
            }
            Call::SetRelationship { id, properties } => {
                let one = self.relationships.get_mut(&id).expect("only what is there is changed");
                one.properties = properties;
            }
            Call::DeleteNode { key } => {
                self.nodes.remove(&key);
                self.relationships.retain(|_, one| one.from != key && one.to != key);
            }
            Call::DeleteRelationship { id } => drop(self.relationships.remove(&id)),
            Call::MakeType { name } => drop(self.types.insert(name)),
        }
    }

    /// Takes over what the server has, which must be what was acknowledged; of the call that was not answered, all or
    /// nothing.
    pub(crate) fn settle(&mut self, found: &Self, under_way: Option<&Call>) -> Result<(), String> {
        if self == found {
            return Ok(());
        }
        let before = self.difference(found);
        let Some(call) = under_way else { return Err(before) };
        let id = match call {
            Call::Create { key, .. } => found.nodes.get(key).map(|node| node.id),
            Call::Relate { .. } => {
                found.relationships.keys().find(|id| !self.relationships.contains_key(id)).copied()
            }
            _ => None,
        };
        if id.is_none() && matches!(call, Call::Create { .. } | Call::Relate { .. }) {
            return Err(before);
        }
        self.apply(call, id);
        if self == found {
            return Ok(());
        }
        let after = self.difference(found);
        Err(format!("before the call that was not answered ({call:?}): {before}\nafter it: {after}"))
    }

    /// What the server has and has not, for the message.
    fn difference(&self, found: &Self) -> String {
        let mut text = String::new();
        for key in self.nodes.keys().chain(found.nodes.keys()).collect::<BTreeSet<_>>() {
            let (expected, found) = (self.nodes.get(key), found.nodes.get(key));
            if expected != found {
                let _ = write!(text, "\n  node {key}: {expected:?} was acknowledged, {found:?} is there");
            }
        }
        for id in self.relationships.keys().chain(found.relationships.keys()).collect::<BTreeSet<_>>() {
            let (expected, found) = (self.relationships.get(id), found.relationships.get(id));
            if expected != found {
                let _ =
                    write!(text, "\n  relationship {id}: {expected:?} was acknowledged, {found:?} is there");
            }
        }
        if self.types != found.types {
            let _ =
                write!(text, "\n  types: {:?} were acknowledged, {:?} are there", self.types, found.types);
        }
        text
    }
}

/// What the server has, by writer: the first part of each key.
pub(crate) fn parts(
    nodes: &Value,
    relationships: &Value,
    types: &Value,
    writers: usize,
) -> Result<Vec<Part>, String> {
    let mut parts = vec![Part::default(); writers];
    let mut keys = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let writer =
        |text: &str| text.split('-').next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
    let properties = |value: &Value| value["properties"].as_object().cloned().unwrap_or_default();
    for node in nodes.as_array().ok_or("the nodes are no list")? {
        let (id, key) = (node["id"].as_u64().ok_or("a node has no id")?, text(&node["key"]));
        if keys.insert(id, key.clone()).is_some() {
            return Err(format!("id {id} belongs to two nodes"));
        }
        let part = parts.get_mut(writer(&key)).ok_or_else(|| format!("nobody made the node {node}"))?;
        let node = Node { id, of: text(&node["type"]), properties: properties(node) };
        if part.nodes.insert(key.clone(), node).is_some() {
            return Err(format!("there are two nodes with the key {key}"));
        }
    }
    for one in relationships.as_array().ok_or("the relationships are no list")? {
        let end = |name: &str| {
            let key = one[name].as_u64().and_then(|id| keys.get(&id));
            key.cloned().ok_or_else(|| format!("{one} leads to a node that is not there"))
        };
        let (id, from, to) =
            (one["id"].as_u64().ok_or("a relationship has no id")?, end("from")?, end("to")?);
        let part = parts.get_mut(writer(&from)).ok_or_else(|| format!("nobody made {one}"))?;
        let made = Relationship { of: text(&one["type"]), from, to, properties: properties(one) };
        if part.relationships.insert(id, made).is_some() {
            return Err(format!("id {id} belongs to two relationships"));
        }
    }
    for name in types.as_array().ok_or("the types are no list")?.iter().map(text) {
        if let Some(part) = name.strip_prefix("Own").and_then(|name| parts.get_mut(writer(name))) {
            part.types.insert(name);
        }
    }
    Ok(parts)
}

#[test]
fn the_checker_sees_what_is_lost_or_invented() {
    let nodes = json!([{"id": 1026, "type": "User", "key": "0-1", "properties": {}}]);
    let none = json!([]);
    let found = |nodes: &Value| parts(nodes, &none, &none, 1).map(|mut parts| parts.remove(0));
    let create = Call::Create { of: "User", key: "0-1".to_owned(), properties: Map::new() };
    let mut whole = Part::default();
    whole.apply(&create, Some(1026));
    whole.clone().settle(&found(&nodes).unwrap(), None).unwrap();
    let lost = whole.clone().settle(&found(&none).unwrap(), None).unwrap_err();
    assert!(lost.contains("node 0-1: Some(") && lost.contains("None is there"), "{lost}");
    let delete = Call::DeleteNode { key: "0-1".to_owned() };
    whole.clone().settle(&found(&none).unwrap(), Some(&delete)).unwrap();
    whole.clone().settle(&found(&nodes).unwrap(), Some(&delete)).unwrap();
    let mut empty = Part::default();
    empty.clone().settle(&found(&nodes).unwrap(), Some(&create)).unwrap();
    empty.clone().settle(&found(&none).unwrap(), Some(&create)).unwrap();
    let invented = empty.settle(&found(&nodes).unwrap(), None).unwrap_err();
    assert!(invented.contains("None was acknowledged"), "{invented}");
    let twice = json!([nodes[0], nodes[0]]);
    assert_eq!(found(&twice).unwrap_err(), "id 1026 belongs to two nodes");
    let loose = json!([{"id": 1, "type": "R", "from": 1026, "to": 7, "properties": {}}]);
    assert!(parts(&nodes, &loose, &none, 1).unwrap_err().ends_with("leads to a node that is not there"));
}
