//! Lists of nodes and relationships: all, those of a type, and those whose property fits, `limit` of them behind `skip`.

use prony_graph_store::{Condition, Read, Side, Test};

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
    let number = match of.map(|name| read.schema().side(side).number(name)) {
        Some(None) => return Answer::ok(&b"[]"[..]),
        Some(number) => number,
        None => None,
    };
    let mut body = Vec::new();
    match side {
        Side::Nodes => {
            let nodes = read.nodes(number).skip(page.skip).take(page.limit);
            write_list(&mut body, nodes, |out, node| write_node(out, &node));
        }
        Side::Relationships => {
            let found = read.relationships(number).skip(page.skip).take(page.limit);
            write_list(&mut body, found, |out, of| write_relationship(out, &of));
        }
    }
    Answer::ok(body)
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
        Side::Nodes => {
            let found = read.nodes_where(Some(number), &conditions).skip(page.skip).take(page.limit);
            write_list(&mut body, found, |out, node| write_node(out, &node));
        }
        Side::Relationships => {
            let found = read.relationships_where(Some(number), &conditions).skip(page.skip).take(page.limit);
            write_list(&mut body, found, |out, of| write_relationship(out, &of));
        }
    }
    Ok(Answer::ok(body))
}
