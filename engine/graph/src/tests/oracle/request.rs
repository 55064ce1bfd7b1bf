//! Generated queries, as far as a role has what they ask for: lists of one type and of all, single things, what is around nodes,
//! aggregates, filters through relationships and their ends, order, and parts of lists.

use std::fmt::Write as _;

use prony_testkit::{Condition, Seeded, condition::graphql_literal};
use rand::RngExt as _;
use serde_json::json;

use super::{
    USER,
    data::{KEYS, NODES, Places, RELATIONSHIPS},
    role::{Role, any_condition},
};

const LISTS: [&str; 3] = ["users", "places", "items"];
const SINGLES: [&str; 3] = ["user", "place", "item"];
const RELATIONSHIP_LISTS: [&str; 2] = ["knows_relationships", "near_relationships"];

/// One for those who have no highest limit, who give the role's where the role need not, and one for the role.
pub(super) fn query(chance: &mut Seeded, places: &Places, role: &Role) -> (String, String) {
    let mut writer = Writer { chance, places, role, text: "{ ".to_owned(), keys: 0 };
    for _ in 0..writer.chance.random_range(1..4) {
        writer.root();
    }
    writer.text.push('}');
    let limit = role.limit.map_or_else(String::new, |limit| format!("limit: {limit} "));
    (writer.text.replace(LIMIT, &limit), writer.text.replace(LIMIT, ""))
}

/// Stands where a list has no limit.
const LIMIT: &str = "\u{1}";

struct Writer<'w> {
    chance: &'w mut Seeded,
    /// Where things are, seen or not.
    places: &'w Places,
    role: &'w Role,
    text: String,
    keys: usize,
}

/// What a filter is about: a type of nodes or relationships, or all of a side.
#[derive(Clone, Copy)]
enum Of {
    Node(usize),
    AnyNode,
    Relationship(usize),
    AnyRelationship,
}

impl Writer<'_> {
    fn key(&mut self) {
        self.keys += 1;
        let _ = write!(self.text, "k{}: ", self.keys);
    }

    fn one_of(&mut self, seen: &[usize]) -> usize {
        seen[self.chance.random_range(0..seen.len())]
    }

    fn node_type(&mut self) -> usize {
        let seen: Vec<usize> = (0..NODES.len()).filter(|of| self.role.nodes[*of].select.is_some()).collect();
        self.one_of(&seen)
    }

    fn relationship_types(&self) -> Vec<usize> {
        (0..RELATIONSHIPS.len()).filter(|of| self.role.relationships[*of].select.is_some()).collect()
    }

    fn properties(&self, of: Of) -> &[&'static str] {
        match of {
            Of::Node(of) => &self.role.nodes[of].properties,
            Of::Relationship(of) => &self.role.relationships[of].properties,
            // Those of all types that a role can use of each.
            Of::AnyNode | Of::AnyRelationship => &["n"],
        }
    }

    fn root(&mut self) {
        self.key();
        match self.chance.random_range(0..10) {
            8 | 9 => {
                let (field, places, of) = if self.chance.random() {
                    ("graph_node", &self.places.nodes, Of::AnyNode)
                } else {
                    ("graph_relationship", &self.places.relationships, Of::AnyRelationship)
                };
                let id = places[self.chance.random_range(0..places.len())].id();
                let _ = write!(self.text, "{field}(_id: {id})");
                self.members(of, 3);
            }
            0 | 1 => {
                let of = self.node_type();
                self.text.push_str(LISTS[of]);
                self.list_arguments(Of::Node(of), false);
                self.members(Of::Node(of), 3);
            }
            2 => {
                self.text.push_str("graph_nodes");
                self.list_arguments(Of::AnyNode, false);
                self.members(Of::AnyNode, 3);
            }
            3 => {
                let of = self.node_type();
                let node = format!(
                    "{}(_key: {})",
                    SINGLES[of],
                    json!(KEYS[self.chance.random_range(0..KEYS.len())])
                );
                self.text.push_str(&node);
                self.members(Of::Node(of), 3);
            }
            4 => {
                let of = self.node_type();
                let _ = write!(self.text, "{}_aggregate", LISTS[of]);
                self.filter_only(Of::Node(of));
                self.aggregate(Of::Node(of));
            }
            5 | 6 => {
                let seen = self.relationship_types();
                let of = self.one_of(&seen);
                self.text.push_str(RELATIONSHIP_LISTS[of]);
                if self.chance.random() {
                    self.list_arguments(Of::Relationship(of), false);
                    self.members(Of::Relationship(of), 3);
                } else {
                    self.text.push_str("_aggregate");
                    self.filter_only(Of::Relationship(of));
                    self.aggregate(Of::Relationship(of));
                }
            }
            _ => {
                self.text.push_str("graph_relationships");
                self.list_arguments(Of::AnyRelationship, false);
                self.members(Of::AnyRelationship, 3);
            }
        }
    }

    fn filter(&mut self, of: Of) -> String {
        let is_node = matches!(of, Of::Node(_) | Of::AnyNode);
        let properties = self.properties(of).to_vec();
        let filter: Condition = any_condition(self.chance, &properties, is_node, 2);
        graphql_literal(&filter.written(&json!(USER)))
    }

    fn filter_only(&mut self, of: Of) {
        if self.chance.random() {
            let filter = self.filter(of);
            let _ = write!(self.text, "(where: {filter})");
        }
    }

    /// Which relationships of a node are meant.
    fn around(&mut self, arguments: &mut Vec<String>) {
        if self.chance.random_range(0..3) == 0 {
            arguments.push(format!("direction: {}", ["in", "out", "all"][self.chance.random_range(0..3)]));
        }
        if self.chance.random_range(0..3) == 0 {
            let seen = self.relationship_types();
            let names: Vec<&str> =
                seen.into_iter().filter(|_| self.chance.random()).map(|of| RELATIONSHIPS[of]).collect();
            arguments.push(format!("types: [{}]", names.join(" ")));
        }
    }

    /// `is_around` of a list around a node.
    fn list_arguments(&mut self, of: Of, is_around: bool) {
        let mut arguments = Vec::new();
        if is_around {
            self.around(&mut arguments);
            if self.chance.random_range(0..3) == 0 {
                let (name, other) = match of {
                    Of::Node(_) | Of::AnyNode => ("relationship", Of::AnyRelationship),
                    _ => ("node", Of::AnyNode),
                };
                let filter = self.filter(other);
                arguments.push(format!("{name}: {filter}"));
            }
        }
        if self.chance.random() {
            let filter = self.filter(of);
            arguments.push(format!("where: {filter}"));
        }
        if self.chance.random() {
            let direction = if self.chance.random() { "asc" } else { "desc" };
            let property = self.properties(of)[0];
            arguments.push(format!("sort: {{{property}: {direction}}}"));
        }
        arguments.push(match self.chance.random_range(0..3) {
            0 => format!(
                "limit: {}",
                self.chance.random_range(0..self.role.limit.map_or(9, |limit| limit + 1))
            ),
            _ => LIMIT.to_owned(),
        });
        arguments.push(format!("offset: {}", self.chance.random_range(0..3)));
        let _ = write!(self.text, "({})", arguments.join(" "));
    }

    fn aggregate(&mut self, of: Of) {
        let last = self.properties(of).last().copied().unwrap_or("n");
        let _ = write!(self.text, " {{ count max {{ {last} }} min {{ n }} sum {{ n }} }} ");
    }

    fn members(&mut self, of: Of, depth: usize) {
        self.text.push_str(" { _id _type ");
        let properties = self.properties(of).to_vec();
        match of {
            Of::Node(_) => {
                let _ = write!(self.text, "_key {} ", properties.join(" "));
            }
            Of::AnyNode => {
                let seen = self.node_type();
                let own = self.role.nodes[seen].properties.join(" ");
                let _ = write!(self.text, "_key ... on {} {{ {own} }} ", NODES[seen]);
            }
            Of::Relationship(_) => {
                let _ = write!(self.text, "{} ", properties.join(" "));
            }
            Of::AnyRelationship => {
                let seen = self.relationship_types();
                let seen = self.one_of(&seen);
                let own = self.role.relationships[seen].properties.join(" ");
                let _ = write!(self.text, "... on {} {{ {own} }} ", RELATIONSHIPS[seen]);
            }
        }
        if depth > 0 {
            for _ in 0..self.chance.random_range(0..3) {
                self.key();
                match of {
                    Of::Node(_) => self.around_node(true, depth - 1),
                    Of::AnyNode => self.around_node(false, depth - 1),
                    _ => {
                        self.text.push_str(["from", "to", "node"][self.chance.random_range(0..3)]);
                        self.members(Of::AnyNode, depth - 1);
                    }
                }
            }
        }
        self.text.push_str("} ");
    }

    /// Lists of neighbours of one type are those of types.
    fn around_node(&mut self, is_typed: bool, depth: usize) {
        match self.chance.random_range(0..if is_typed { 6 } else { 4 }) {
            0 => {
                self.text.push_str("degree");
                let mut arguments = Vec::new();
                self.around(&mut arguments);
                if !arguments.is_empty() {
                    let _ = write!(self.text, "({})", arguments.join(" "));
                }
                self.text.push(' ');
            }
            1 | 2 => {
                self.text.push_str("neighbors");
                self.list_arguments(Of::AnyNode, true);
                self.members(Of::AnyNode, depth);
            }
            3 => {
                self.text.push_str("relationships");
                self.list_arguments(Of::AnyRelationship, true);
                self.members(Of::AnyRelationship, depth);
            }
            4 => {
                let of = self.node_type();
                self.text.push_str(LISTS[of]);
                self.list_arguments(Of::Node(of), true);
                self.members(Of::Node(of), depth);
            }
            _ => {
                let of = self.node_type();
                let _ = write!(self.text, "{}_aggregate", LISTS[of]);
                self.filter_only(Of::Node(of));
                self.aggregate(Of::Node(of));
            }
        }
    }
}
