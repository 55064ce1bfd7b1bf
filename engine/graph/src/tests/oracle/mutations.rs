//! Generated mutations, and what becomes of them and of the graph by the oracle.

use std::collections::BTreeMap;

use prony_testkit::{Condition, Seeded, condition::graphql_literal};
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use super::{
    USER,
    data::{KEYS, NODES, Node, PROPERTIES, RELATIONSHIPS, Seen, Values, values},
    role::{Grants, Role},
};
use crate::tests::harness::Served;

/// A relationship between nodes by their ids.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    of: usize,
    ends: [u64; 2],
    values: Values,
}

/// What is in a graph, by ids. Ids of what the oracle has made are not known to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    nodes: BTreeMap<u64, Node>,
    links: BTreeMap<u64, Link>,
}

/// The id of what the oracle has made.
const NEW: u64 = u64::MAX;

/// By which name a node is meant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Named {
    Id(u64),
    Key(usize, &'static str),
}

/// Properties that are given, by their places.
type Given = Vec<(usize, Json)>;

#[derive(Debug)]
pub(super) enum Mutation {
    CreateNode(usize, &'static str, Given),
    CreateLink(usize, [Named; 2], Given),
    /// Whether it replaces, and the type's index.
    UpdateNode(bool, usize, Named, Given),
    UpdateLink(bool, usize, u64, Given),
    DeleteNode(usize, Named),
    DeleteLink(usize, u64),
}

/// How a mutation ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Created,
    Changed(bool),
    /// By the check of the role.
    Refused,
    /// By a key that is taken, or an end that is not there.
    Constraint,
}

/// What a response says.
pub(super) fn outcome(response: &str) -> Outcome {
    match response {
        _ if response.contains("FORBIDDEN") => Outcome::Refused,
        _ if response.contains("CONSTRAINT_VIOLATION") => Outcome::Constraint,
        _ if response.contains("\"result\":true") => Outcome::Changed(true),
        _ if response.contains("\"result\":false") => Outcome::Changed(false),
        // What is made is null to those who may not see it.
        _ if response.contains("{\"m\":{\"__typename\":") || response == r#"{"data":{"m":null}}"# => {
            Outcome::Created
        }
        _ => panic!("{response}"),
    }
}

impl Known {
    pub(super) fn read(served: &Served) -> Self {
        let all = |types: &[&str]| {
            let fragments = types.iter().map(|of| format!("... on {of} {{ {} }} ", PROPERTIES.join(" ")));
            fragments.collect::<String>()
        };
        let text = format!(
            "{{ nodes: graph_nodes(limit: 1000) {{ _id _type _key {} }}
                links: graph_relationships(limit: 1000) {{ _id _type from {{ _id }} to {{ _id }} {} }} }}",
            all(&NODES),
            all(&RELATIONSHIPS)
        );
        let answer: Json = serde_json::from_str(&served.answer(&text, "{}")).expect("it is JSON");
        let place = |types: &[&str], thing: &Json| {
            types.iter().position(|of| thing["_type"] == **of).expect("the type is known")
        };
        let id = |thing: &Json| thing["_id"].as_u64().expect("it has an id");
        let values = |thing: &Json| PROPERTIES.map(|name| thing[name].clone());
        let list = |name: &str| answer["data"][name].as_array().expect("it is a list").clone();
        let node = |thing: &Json| {
            let key = thing["_key"].as_str().expect("it has a key").to_owned();
            (id(thing), Node { of: place(&NODES, thing), key, values: values(thing) })
        };
        let link = |thing: &Json| {
            let ends = [id(&thing["from"]), id(&thing["to"])];
            (id(thing), Link { of: place(&RELATIONSHIPS, thing), ends, values: values(thing) })
        };
        Self {
            nodes: list("nodes").iter().map(node).collect(),
            links: list("links").iter().map(link).collect(),
        }
    }

    /// What the oracle has made has the id that the graph has given.
    pub(super) fn take_new_ids(&mut self, found: &Self) {
        if let Some(node) = self.nodes.remove(&NEW) {
            let id = found.nodes.keys().find(|id| !self.nodes.contains_key(id));
            self.nodes.insert(id.copied().unwrap_or(NEW), node);
        }
        if let Some(link) = self.links.remove(&NEW) {
            let id = found.links.keys().find(|id| !self.links.contains_key(id));
            self.links.insert(id.copied().unwrap_or(NEW), link);
        }
    }

    fn find(&self, of: usize, named: &Named) -> Option<u64> {
        match named {
            Named::Id(id) => self.nodes.get(id).filter(|node| node.of == of).map(|_| *id),
            Named::Key(named_of, key) => self.find_key(*named_of, key).filter(|_| *named_of == of),
        }
    }

    fn find_key(&self, of: usize, key: &str) -> Option<u64> {
        self.nodes.iter().find(|(_, node)| node.of == of && node.key == key).map(|(id, _)| *id)
    }

    fn link_holds(&self, condition: &Condition, link: &Link) -> bool {
        let ends = link.ends.map(|end| &self.nodes[&end]);
        condition.holds(&Seen { key: None, values: &link.values, ends: Some(ends) }, USER)
    }
}

fn changed(known: &Values, given: &Given, replaces: bool) -> Values {
    let mut values = if replaces { [Json::Null, Json::Null, Json::Null] } else { known.clone() };
    for (place, value) in given {
        values[*place] = value.clone();
    }
    values
}

impl Mutation {
    /// None where the role has no such mutation.
    pub(super) fn generate(chance: &mut Seeded, known: &Known, role: &Role) -> Option<Self> {
        let (node_type, link_type) =
            (chance.random_range(0..NODES.len()), chance.random_range(0..RELATIONSHIPS.len()));
        let (node, link) = (&role.nodes[node_type], &role.relationships[link_type]);
        let given = any_given(chance);
        let key = KEYS[chance.random_range(0..KEYS.len())];
        let named = |chance: &mut Seeded, of: usize| match chance.random_range(0..2) {
            0 => Named::Key(of, KEYS[chance.random_range(0..KEYS.len())]),
            _ => any_id(chance, &known.nodes).map_or(Named::Key(of, key), Named::Id),
        };
        let replaces = chance.random();
        let has_update = |grants: &Grants| grants.update.is_some();
        match chance.random_range(0..8) {
            0 | 1 => node.insert.is_some().then_some(Self::CreateNode(node_type, key, given)),
            2 | 3 if link.insert.is_some() => {
                let other_type = chance.random_range(0..NODES.len());
                let ends = [named(chance, node_type), named(chance, other_type)];
                Some(Self::CreateLink(link_type, ends, given))
            }
            4 if has_update(node) => {
                Some(Self::UpdateNode(replaces, node_type, named(chance, node_type), given))
            }
            5 if has_update(link) => {
                Some(Self::UpdateLink(replaces, link_type, any_id(chance, &known.links)?, given))
            }
            6 if node.delete.is_some() && known.nodes.len() > 6 => {
                Some(Self::DeleteNode(node_type, named(chance, node_type)))
            }
            7 if link.delete.is_some() => Some(Self::DeleteLink(link_type, any_id(chance, &known.links)?)),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> String {
        let given = |given: &Given| -> String {
            let fields = given
                .iter()
                .map(|(place, value)| [" ", PROPERTIES[*place], ": ", &graphql_literal(value)].concat());
            fields.collect()
        };
        let verb = |replaces: bool| if replaces { "replace" } else { "update" };
        let key = |named: &Named| match named {
            Named::Id(id) => format!("pk_columns: {{_id: {id}}}"),
            Named::Key(_, key) => format!("pk_columns: {{_key: {}}}", json!(key)),
        };
        let mutation = match self {
            Self::CreateNode(of, key, values) => {
                format!("create{}(_key: {}{}) {{ __typename }}", NODES[*of], json!(key), given(values))
            }
            Self::CreateLink(of, ends, values) => {
                let [from, to] = ends.each_ref().map(|end| match end {
                    Named::Id(id) => format!("{{_id: {id}}}"),
                    Named::Key(of, key) => format!("{{_type: {} _key: {}}}", json!(NODES[*of]), json!(key)),
                });
                let of = RELATIONSHIPS[*of];
                format!("create{of}(from: {from} to: {to}{}) {{ __typename }}", given(values))
            }
            Self::UpdateNode(replaces, of, named, values) => {
                format!("{}{}({}{}) {{ result }}", verb(*replaces), NODES[*of], key(named), given(values))
            }
            Self::UpdateLink(replaces, of, id, values) => {
                let (verb, key) = (verb(*replaces), key(&Named::Id(*id)));
                format!("{verb}{}({key}{}) {{ result }}", RELATIONSHIPS[*of], given(values))
            }
            Self::DeleteNode(of, named) => format!("delete{}({}) {{ result }}", NODES[*of], key(named)),
            Self::DeleteLink(of, id) => {
                format!("delete{}({}) {{ result }}", RELATIONSHIPS[*of], key(&Named::Id(*id)))
            }
        };
        format!("mutation {{ m: {mutation} }}")
    }

    /// Changes the graph as it must be changed.
    pub(super) fn apply(&self, known: &mut Known, role: &Role) -> Outcome {
        match self {
            Self::CreateNode(of, key, given) => {
                let node = Node {
                    of: *of,
                    key: (*key).to_owned(),
                    values: changed(&Values::default(), given, true),
                };
                if let Some(id) = known.find_key(*of, key) {
                    let is_seen = role.sees_node(&known.nodes[&id]);
                    return if is_seen { Outcome::Constraint } else { Outcome::Refused };
                }
                let check = role.nodes[*of].insert.as_ref().expect("it is granted");
                if !check.holds(&node.seen(), USER) {
                    return Outcome::Refused;
                }
                known.nodes.insert(NEW, node);
                Outcome::Created
            }
            Self::CreateLink(of, ends, given) => {
                let end = |named: &Named| {
                    let id = match named {
                        Named::Id(id) => *id,
                        Named::Key(of, key) => known.find_key(*of, key)?,
                    };
                    known.nodes.get(&id).filter(|node| role.sees_node(node)).map(|_| id)
                };
                let [Some(from), Some(to)] = ends.each_ref().map(end) else { return Outcome::Constraint };
                let link =
                    Link { of: *of, ends: [from, to], values: changed(&Values::default(), given, true) };
                let check = role.relationships[*of].insert.as_ref().expect("it is granted");
                if !known.link_holds(check, &link) {
                    return Outcome::Refused;
                }
                known.links.insert(NEW, link);
                Outcome::Created
            }
            Self::UpdateNode(replaces, of, named, given) => {
                let (rows, check) = role.nodes[*of].update.as_ref().expect("it is granted");
                let Some(id) = known.find(*of, named) else { return Outcome::Changed(false) };
                let node = &known.nodes[&id];
                if !rows.holds(&node.seen(), USER) {
                    return Outcome::Changed(false);
                }
                let after = Node { values: changed(&node.values, given, *replaces), ..node.clone() };
                if !check.holds(&after.seen(), USER) {
                    return Outcome::Refused;
                }
                known.nodes.insert(id, after);
                Outcome::Changed(true)
            }
            Self::UpdateLink(replaces, of, id, given) => {
                let (rows, check) = role.relationships[*of].update.as_ref().expect("it is granted");
                let link = known.links.get(id).filter(|link| link.of == *of && known.link_holds(rows, link));
                let Some(link) = link else { return Outcome::Changed(false) };
                let after = Link { values: changed(&link.values, given, *replaces), ..link.clone() };
                if !known.link_holds(check, &after) {
                    return Outcome::Refused;
                }
                known.links.insert(*id, after);
                Outcome::Changed(true)
            }
            Self::DeleteNode(of, named) => {
                let rows = role.nodes[*of].delete.as_ref().expect("it is granted");
                let found = known.find(*of, named);
                let Some(id) = found.filter(|id| rows.holds(&known.nodes[id].seen(), USER)) else {
                    return Outcome::Changed(false);
                };
                known.nodes.remove(&id);
                known.links.retain(|_, link| !link.ends.contains(&id));
                Outcome::Changed(true)
            }
            Self::DeleteLink(of, id) => {
                let rows = role.relationships[*of].delete.as_ref().expect("it is granted");
                let link = known.links.get(id).filter(|link| link.of == *of);
                if !link.is_some_and(|link| known.link_holds(rows, link)) {
                    return Outcome::Changed(false);
                }
                known.links.remove(id);
                Outcome::Changed(true)
            }
        }
    }
}

fn any_given(chance: &mut Seeded) -> Given {
    let first = chance.random_range(0..PROPERTIES.len());
    let given = values(chance).into_iter().enumerate();
    given.filter(|(place, _)| *place == first || chance.random()).collect()
}

fn any_id<T>(chance: &mut Seeded, things: &BTreeMap<u64, T>) -> Option<u64> {
    things.keys().nth(chance.random_range(0..things.len().max(1))).copied()
}
