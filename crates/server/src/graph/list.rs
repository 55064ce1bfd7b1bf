//! Lists of nodes and relationships: all, those of a type, and those whose property fits, `limit` of them behind `skip`;
//! by virtual shard, then by type and index, as `RageDB` has them.

use prony_graph_store::{Condition, Node, Read, Relationship, SHARDS, Side, Test};

use super::{
    answer::Answer,
    given::{self, Given},
    json::{write_list, write_node, write_relationship},
};
use crate::http::query;

const LIMIT_DEFAULT: usize = 100;

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) limit: usize,
    pub(super) skip: usize,
}

impl Page {
    pub(super) fn read(query: Option<&str>) -> Result<Self, Answer> {
        let read = |name, otherwise| {
            let Some(query) = query else { return Ok(otherwise) };
            let wrong = || Answer::bad(&format!("Invalid {name} parameter"));
            match query::parameter(query, name).map_err(|()| wrong())?.as_deref() {
                None | Some("") => Ok(otherwise),
                Some(text) if !text.bytes().all(|byte| byte.is_ascii_digit()) => Err(wrong()),
                Some(text) => text.parse::<u64>().map(|number| number as usize).map_err(|_| wrong()),
            }
        };
        Ok(Self { limit: read("limit", LIMIT_DEFAULT)?, skip: read("skip", 0)? })
    }
}

/// Answers a GET of a list.
pub(super) fn all(read: &Read, side: Side, of: Option<&str>, query: Option<&str>) -> Answer {
    let page = match Page::read(query) {
        Ok(page) => page,
        Err(response) => return response,
    };
    let number = of.map(|name| read.schema().side(side).number(name));
    let shards = 0..SHARDS as u8;
    let mut body = Vec::new();
    match (side, number) {
        (_, Some(None)) => body.extend_from_slice(b"[]"),
        (Side::Nodes, Some(number)) => write_nodes(&mut body, page, read.nodes(number)),
        (Side::Nodes, None) => write_nodes(&mut body, page, shards.flat_map(|shard| read.nodes_on(shard))),
        (Side::Relationships, Some(number)) => {
            write_relationships(&mut body, page, read.relationships(number));
        }
        (Side::Relationships, None) => {
            let all = shards.flat_map(|shard| read.relationships_on(shard));
            write_relationships(&mut body, page, all);
        }
    }
    Answer::ok(body)
}

fn write_nodes<'r>(out: &mut Vec<u8>, page: Page, nodes: impl Iterator<Item = Node<'r>>) {
    write_list(out, nodes.skip(page.skip).take(page.limit), |out, node| write_node(out, &node));
}

fn write_relationships<'r>(out: &mut Vec<u8>, page: Page, all: impl Iterator<Item = Relationship<'r>>) {
    write_list(out, all.skip(page.skip).take(page.limit), |out, of| write_relationship(out, &of));
}

/// What a find is for: type, property and operation as the path has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought<'a> {
    pub(super) side: Side,
    pub(super) of: &'a str,
    pub(super) property: &'a str,
    pub(super) operation: &'a str,
}

/// Answers a POST of a find, whose body is the value that is compared with.
pub(super) fn find(
    read: &Read,
    sought: Sought<'_>,
    body: &[u8],
    query: Option<&str>,
) -> Result<Answer, Answer> {
    let Some((test, not)) = Test::parse(sought.operation) else {
        return Err(Answer::bad("Invalid operation parameter"));
    };
    let value = match given::value(body) {
        // It asks for no value, and looks at none.
        _ if test == Test::IsNull => None,
        Some(Given::Value(value)) => Some(value),
        _ => return Err(Answer::bad("Invalid JSON")),
    };
    let page = Page::read(query)?;
    let Some(number) = read.schema().side(sought.side).number(sought.of) else {
        return Ok(Answer::ok(&b"[]"[..]));
    };
    let conditions = [Condition { property: sought.property, test, not, value }];
    let mut body = Vec::new();
    match sought.side {
        Side::Nodes => write_nodes(&mut body, page, read.nodes_where(Some(number), &conditions)),
        Side::Relationships => {
            write_relationships(&mut body, page, read.relationships_where(Some(number), &conditions));
        }
    }
    Ok(Answer::ok(body))
}
