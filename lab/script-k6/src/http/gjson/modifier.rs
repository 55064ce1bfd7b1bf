//! Modifiers: `@reverse` and its like. `@dig` is with the search.

use super::node::Node;
use super::read::parse;

const NAMES: [&str; 13] = [
    "this", "valid", "ugly", "pretty", "reverse", "flatten", "join", "keys", "values", "tostr", "fromstr",
    "group", "dig",
];

pub(super) fn is_one(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Outer `None`: no such modifier; inner: it gives nothing.
#[expect(clippy::option_option, reason = "no such modifier is not the same as nothing found")]
pub(super) fn apply(name: &str, node: &Node, argument: &str) -> Option<Option<Node>> {
    Some(match name {
        // Spaces do not outlive the way into a script.
        "this" | "valid" | "ugly" | "pretty" => Some(node.clone()),
        "reverse" => Some(reverse(node)),
        "flatten" => Some(flatten(node, is_set(argument, "deep"))),
        "join" => Some(join(node, is_set(argument, "preserve"))),
        "keys" => Some(keys(node)),
        "values" => Some(values(node)),
        "tostr" => Some(Node::String(node.to_json())),
        "fromstr" => match node {
            Node::String(text) => parse(text.as_bytes()),
            other => Some(other.clone()),
        },
        "group" => group(node),
        _ => return None,
    })
}

fn is_set(argument: &str, name: &str) -> bool {
    let Some(Node::Object(members)) = parse(argument.as_bytes()) else { return false };
    members.iter().any(|(key, value)| key == name && *value == Node::Bool(true))
}

fn reverse(node: &Node) -> Node {
    match node {
        Node::Array(items) => Node::Array(items.iter().rev().cloned().collect()),
        Node::Object(members) => Node::Object(members.iter().rev().cloned().collect()),
        other => other.clone(),
    }
}

fn flatten(node: &Node, is_deep: bool) -> Node {
    let Node::Array(items) = node else { return node.clone() };
    let mut flat = Vec::new();
    for item in items {
        match item {
            Node::Array(_) if is_deep => match flatten(item, true) {
                Node::Array(inner) => flat.extend(inner),
                other => flat.push(other),
            },
            Node::Array(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    Node::Array(flat)
}

fn join(node: &Node, keeps_all: bool) -> Node {
    let Node::Array(items) = node else { return node.clone() };
    let mut joined: Vec<(String, Node)> = Vec::new();
    for item in items {
        let Node::Object(members) = item else { continue };
        for (key, value) in members {
            match joined.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) if !keeps_all => *known = value.clone(),
                _ => joined.push((key.clone(), value.clone())),
            }
        }
    }
    Node::Object(joined)
}

fn keys(node: &Node) -> Node {
    Node::Array(match node {
        Node::Object(members) => members.iter().map(|(key, _)| Node::String(key.clone())).collect(),
        Node::Array(items) => vec![Node::Null; items.len()],
        _ => vec![Node::Null],
    })
}

fn values(node: &Node) -> Node {
    match node {
        Node::Array(_) => node.clone(),
        Node::Object(members) => Node::Array(members.iter().map(|(_, value)| value.clone()).collect()),
        other => Node::Array(vec![other.clone()]),
    }
}

/// An object of arrays as an array of objects.
fn group(node: &Node) -> Option<Node> {
    let Node::Object(members) = node else { return None };
    let mut groups: Vec<Vec<(String, Node)>> = Vec::new();
    for (key, value) in members {
        let Node::Array(items) = value else { continue };
        for (index, item) in items.iter().enumerate() {
            if index == groups.len() {
                groups.push(Vec::new());
            }
            groups[index].push((key.clone(), item.clone()));
        }
    }
    Some(Node::Array(groups.into_iter().map(Node::Object).collect()))
}
