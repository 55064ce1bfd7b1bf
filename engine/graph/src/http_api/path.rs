//! From a path to the call that it names: segments, percent-encoding, and which of RageDB's routes they fit. What a
//! call does, and which methods it has, is decided elsewhere.

use std::borrow::Cow;

use http::Method;
use prony_graph_store::{Direction, Side};
use prony_source::http_api::percent;

use super::error::CallError;

/// A route has no more segments behind `/db/{graph}/`.
const SEGMENTS_MAX: usize = 8;

/// A database's name and what follows it; none where the path is not below `/db/`.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/db/")?;
    let end = rest.bytes().position(|byte| byte == b'/');
    Some(end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..])))
}

/// Decoded; borrowed where nothing was encoded.
pub(super) type Name<'a> = Cow<'a, str>;

/// Which node is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeName<'a> {
    Key(Name<'a>, Name<'a>),
    Id(u64),
}

/// What has properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner<'a> {
    Node(NodeName<'a>),
    Relationship(u64),
}

/// What of a node's neighborhood is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    Relationships,
    Neighbors,
    Degree,
}

/// Which relationships of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RelationshipFilter<'a> {
    pub(super) direction: Option<Direction>,
    pub(super) types: Option<Vec<Name<'a>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call<'a> {
    Node(NodeName<'a>),
    Relationship(u64),
    /// Of one type, or of all.
    List(Side, Option<Name<'a>>),
    /// Type, property and operation.
    Find(Side, Name<'a>, Name<'a>, Name<'a>),
    /// Start, end and type.
    Relate(NodeName<'a>, NodeName<'a>, Name<'a>),
    Neighborhood(NodeName<'a>, Aspect, RelationshipFilter<'a>),
    Connected(NodeName<'a>, NodeName<'a>, RelationshipFilter<'a>),
    Properties(Owner<'a>),
    Property(Owner<'a>, Name<'a>),
    Schema,
    Types(Side),
    Type(Side, Name<'a>),
    /// A property of a type.
    Declared(Side, Name<'a>, Name<'a>),
    /// A property of a type, with its data type.
    Declare(Side, Name<'a>, Name<'a>, Name<'a>),
    Index(Side, Name<'a>, Name<'a>),
    /// Of one type, or of all.
    Indexes(Side, Option<Name<'a>>),
    HealthCheck,
    /// A script.
    Lua,
}

/// Why a path names no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadPath {
    Unknown,
    /// A 400 with this text.
    Invalid(&'static str),
}

impl From<BadPath> for CallError {
    fn from(error: BadPath) -> Self {
        match error {
            BadPath::Unknown => Self::UnknownRoute,
            BadPath::Invalid(text) => Self::BadRequest(text.into()),
        }
    }
}

/// Whether a method reads; others write.
pub(super) fn is_read(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

const BAD_ID: BadPath = BadPath::Invalid("Invalid id");
const BAD_ENCODING: BadPath =
    BadPath::Invalid("Invalid path: a segment is not UTF-8 in percent-encoding, such as %2F for a slash");

/// Reads what follows `/db/{graph}/`.
pub(super) fn read(path: &str) -> Result<Call<'_>, BadPath> {
    let mut all = [""; SEGMENTS_MAX];
    let mut count = 0;
    let mut begin = 0;
    // By hand: paths are short, and the standard library's search costs more than it finds.
    for (place, byte) in path.bytes().chain([b'/']).enumerate() {
        if byte == b'/' {
            // More are only behind a type list, where they are a fault of the list's.
            if count < SEGMENTS_MAX {
                all[count] = &path[begin..place];
            }
            begin = place + 1;
            count += 1;
        }
    }
    if count > SEGMENTS_MAX {
        let is_node = all[0] == "node";
        return Err(if is_node { BadPath::Invalid("Invalid request") } else { BadPath::Unknown });
    }
    let (first, rest) = all[..count].split_first().unwrap_or((&"", &[]));
    match *first {
        "node" => node(rest),
        "relationship" => relationship(rest),
        "nodes" => list(Side::Nodes, rest),
        "relationships" => list(Side::Relationships, rest),
        "schema" => schema(rest),
        "health_check" if rest.is_empty() => Ok(Call::HealthCheck),
        "lua" if rest.is_empty() => Ok(Call::Lua),
        _ => Err(BadPath::Unknown),
    }
}

/// A number names a node by its id where a route by id fits; anything else is a type, which a key follows. The words of
/// routes are only words as they stand: a key that is one is written with a letter encoded.
fn node<'a>(segments: &[&'a str]) -> Result<Call<'a>, BadPath> {
    match *segments {
        [id] => Ok(Call::Node(NodeName::Id(number(id, BAD_ID)?))),
        [type_name, key] if !is_word(key) => Ok(Call::Node(key_of(type_name, key)?)),
        [first, word, ..] if is_word(word) && (is_number(first) || segments.len() == 2) => {
            at_node(|| Ok(NodeName::Id(number(first, BAD_ID)?)), Naming::Id, &segments[1..])
        }
        [type_name, key, word, ..] if is_word(word) => {
            at_node(|| key_of(type_name, key), Naming::Key, &segments[2..])
        }
        // As `/node/x/relationships/out`.
        [_, word, ..] if is_word(word) => Err(BAD_ID),
        _ => Err(BadPath::Unknown),
    }
}

/// A path whose direction, which is a word in letters of any size, is in small ones.
pub(super) fn canonical(path: &str) -> Cow<'_, str> {
    let as_it_is = Cow::Borrowed(path);
    let mut segments: Vec<&str> = path.split('/').collect();
    // Behind `/db/{graph}/node/`.
    let (word, names_of_node) = match *segments.as_slice() {
        ["", "db", _, "node", id, word, ..] if is_word(word) && is_number(id) => (5, 1),
        ["", "db", _, "node", _, _, word, ..] if is_word(word) => (6, 2),
        _ => return as_it_is,
    };
    let direction = match segments[word] {
        "relationships" | "neighbors" | "degree" => word + 1,
        "connected" => word + 1 + names_of_node,
        _ => return as_it_is,
    };
    let found = segments.get(direction).filter(|found| found.bytes().any(|byte| byte.is_ascii_uppercase()));
    let Some(small) = found.map(|found| found.to_ascii_lowercase()) else { return as_it_is };
    segments[direction] = &small;
    Cow::Owned(segments.join("/"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(segment: &str) -> bool {
    matches!(
        segment,
        "relationships" | "neighbors" | "degree" | "connected" | "relationship" | "properties" | "property"
    )
}

/// How the nodes of a path are named: all by id, or all by type and key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Id,
    Key,
}

/// Reads from the word behind a node on.
fn at_node<'a>(
    node: impl FnOnce() -> Result<NodeName<'a>, BadPath>,
    naming: Naming,
    segments: &[&'a str],
) -> Result<Call<'a>, BadPath> {
    let (word, rest) = segments.split_first().ok_or(BadPath::Unknown)?;
    match *word {
        "relationships" => Ok(Call::Neighborhood(node()?, Aspect::Relationships, relationship_filter(rest)?)),
        "neighbors" => Ok(Call::Neighborhood(node()?, Aspect::Neighbors, relationship_filter(rest)?)),
        "degree" => Ok(Call::Neighborhood(node()?, Aspect::Degree, relationship_filter(rest)?)),
        "connected" => {
            let from = node()?;
            let (to, rest) = other(naming, rest)?;
            Ok(Call::Connected(from, to, relationship_filter(rest)?))
        }
        "relationship" => {
            let from = node()?;
            let (to, rest) = other(naming, rest)?;
            let [type_name] = *rest else { return Err(BadPath::Unknown) };
            Ok(Call::Relate(from, to, decode(type_name)?))
        }
        _ => Ok(owned(Owner::Node(node()?), segments)?),
    }
}

fn other<'a, 's>(naming: Naming, rest: &'s [&'a str]) -> Result<(NodeName<'a>, &'s [&'a str]), BadPath> {
    match (naming, rest) {
        (Naming::Id, [id, rest @ ..]) => {
            Ok((NodeName::Id(number(id, BadPath::Invalid("Invalid id2"))?), rest))
        }
        (Naming::Key, [type_name, key, rest @ ..]) => Ok((key_of(type_name, key)?, rest)),
        _ => Err(BadPath::Unknown),
    }
}

fn owned<'a>(owner: Owner<'a>, segments: &[&'a str]) -> Result<Call<'a>, BadPath> {
    match *segments {
        ["properties"] => Ok(Call::Properties(owner)),
        ["property", name] => Ok(Call::Property(owner, decode(name)?)),
        _ => Err(BadPath::Unknown),
    }
}

/// `[/{all,in,out}[/{T1&T2}]]`
fn relationship_filter<'a>(segments: &[&'a str]) -> Result<RelationshipFilter<'a>, BadPath> {
    let direction = |word: &str| match word {
        _ if word.eq_ignore_ascii_case("all") => Ok(None),
        _ if word.eq_ignore_ascii_case("out") => Ok(Some(Direction::Outgoing)),
        _ if word.eq_ignore_ascii_case("in") => Ok(Some(Direction::Incoming)),
        _ => Err(BadPath::Invalid("Invalid direction parameter")),
    };
    match *segments {
        [] => Ok(RelationshipFilter::default()),
        [word] => Ok(RelationshipFilter { direction: direction(word)?, types: None }),
        [word, types] => {
            Ok(RelationshipFilter { direction: direction(word)?, types: Some(type_list(types)?) })
        }
        _ => Err(BadPath::Invalid("Invalid request")),
    }
}

/// Split at `&`, which may be encoded, before the names are decoded.
fn type_list(segment: &str) -> Result<Vec<Name<'_>>, BadPath> {
    segment.split('&').flat_map(|part| part.split("%26")).map(decode).collect()
}

fn relationship<'a>(segments: &[&'a str]) -> Result<Call<'a>, BadPath> {
    match *segments {
        [id] => Ok(Call::Relationship(number(id, BAD_ID)?)),
        [id, "properties" | "property", ..] => {
            owned(Owner::Relationship(number(id, BAD_ID)?), &segments[1..])
        }
        _ => Err(BadPath::Unknown),
    }
}

fn list<'a>(side: Side, segments: &[&'a str]) -> Result<Call<'a>, BadPath> {
    match *segments {
        [] => Ok(Call::List(side, None)),
        [type_name] => Ok(Call::List(side, Some(decode(type_name)?))),
        [type_name, property, operation] => {
            Ok(Call::Find(side, decode(type_name)?, decode(property)?, decode(operation)?))
        }
        _ => Err(BadPath::Unknown),
    }
}

fn schema<'a>(segments: &[&'a str]) -> Result<Call<'a>, BadPath> {
    let (side, rest) = match *segments {
        [] => return Ok(Call::Schema),
        ["nodes", ref rest @ ..] => (Side::Nodes, rest),
        ["relationships", ref rest @ ..] => (Side::Relationships, rest),
        _ => return Err(BadPath::Unknown),
    };
    match *rest {
        [] => Ok(Call::Types(side)),
        ["indexes"] => Ok(Call::Indexes(side, None)),
        [type_name] => Ok(Call::Type(side, decode(type_name)?)),
        [type_name, "indexes"] => Ok(Call::Indexes(side, Some(decode(type_name)?))),
        [type_name, "properties", name] => Ok(Call::Declared(side, decode(type_name)?, decode(name)?)),
        [type_name, "properties", name, "index"] => Ok(Call::Index(side, decode(type_name)?, decode(name)?)),
        [type_name, "properties", name, kind] => {
            Ok(Call::Declare(side, decode(type_name)?, decode(name)?, decode(kind)?))
        }
        _ => Err(BadPath::Unknown),
    }
}

fn key_of<'a>(type_name: &'a str, key: &'a str) -> Result<NodeName<'a>, BadPath> {
    Ok(NodeName::Key(decode(type_name)?, decode(key)?))
}

/// Digits alone: neither a sign nor a space.
fn number(text: &str, otherwise: BadPath) -> Result<u64, BadPath> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().map_err(|_| otherwise)
    } else {
        Err(otherwise)
    }
}

/// One segment's text (RFC 3986, section 2.1).
pub(super) fn decode(segment: &str) -> Result<Name<'_>, BadPath> {
    percent::text(segment).ok_or(BAD_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_alone_are_in_letters_of_any_size() {
        for (path, expected) in [
            ("/db/g/node/User/OUT/neighbors/OUT", "/db/g/node/User/OUT/neighbors/out"),
            ("/db/g/node/17/relationships/In/LIKES&OUT", "/db/g/node/17/relationships/in/LIKES&OUT"),
            ("/db/g/node/User/Max/degree/aLL", "/db/g/node/User/Max/degree/all"),
            ("/db/g/node/User/Max/connected/User/IN/Out", "/db/g/node/User/Max/connected/User/IN/out"),
            ("/db/g/node/17/connected/18/OUT", "/db/g/node/17/connected/18/out"),
            ("/db/g/node/User/Max/connected/User/OUT", "/db/g/node/User/Max/connected/User/OUT"),
            ("/db/g/node/User/OUT", "/db/g/node/User/OUT"),
            ("/db/OUT/node/User/Max/property/OUT", "/db/OUT/node/User/Max/property/OUT"),
            ("/db/g/node/User/Max/neighbors", "/db/g/node/User/Max/neighbors"),
            ("/db/g/nodes/OUT", "/db/g/nodes/OUT"),
            ("/dbs", "/dbs"),
        ] {
            assert_eq!(canonical(path), expected);
            let call = |path| split(path).map(|(_, rest)| read(rest).map_err(|_| ()).is_ok());
            assert_eq!(call(path), call(expected), "{path}");
        }
    }
}
