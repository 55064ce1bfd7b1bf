//! One line of a bulk creation: what it says, and making it.

use std::{borrow::Cow, fmt, sync::Arc};

use prony_graph_store::{Ref, Refusal, Side, Store, Value, Write};
use prony_source::dialect::row_refused;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{
    execute::write_access::{LACKS_VALUE, WriteAccess, WriteFault},
    http_api::{
        access::RoleAccess,
        property::JsonProperties,
        role_write::{NotGiven, given},
        write::{Properties, TypeName},
    },
    planning::rights::{Grant, PropertyUse},
    schema::model::TypeId,
};

/// `{"type": "User", "key": "Max", "properties": {"age": 42}}`. A node as responses have it fits too; its id is not kept.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeLine<'a> {
    #[serde(borrow, rename = "type")]
    type_name: Cow<'a, str>,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow, default)]
    properties: JsonProperties<'a>,
    #[serde(default, rename = "id")]
    _id: Option<IgnoredAny>,
}

/// `{"type": "KNOWS", "from": 1026, "to": {"type": "User", "key": "Max"}, "properties": {}}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RelationshipLine<'a> {
    #[serde(borrow, rename = "type")]
    type_name: Cow<'a, str>,
    #[serde(borrow)]
    from: NodeRef<'a>,
    #[serde(borrow)]
    to: NodeRef<'a>,
    #[serde(borrow, default)]
    properties: JsonProperties<'a>,
    #[serde(default, rename = "id")]
    _id: Option<IgnoredAny>,
}

/// An existing node.
#[derive(Debug)]
enum NodeRef<'a> {
    Id(u64),
    Key(KeyOf<'a>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyOf<'a> {
    #[serde(borrow, rename = "type")]
    type_name: Cow<'a, str>,
    #[serde(borrow)]
    key: Cow<'a, str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for NodeRef<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodeRefVisitor;
        impl<'de> Visitor<'de> for NodeRefVisitor {
            type Value = NodeRef<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an id, or an object with `type` and `key`")
            }

            fn visit_u64<E>(self, id: u64) -> Result<Self::Value, E> {
                Ok(NodeRef::Id(id))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
                KeyOf::deserialize(MapAccessDeserializer::new(map)).map(NodeRef::Key)
            }
        }
        deserializer.deserialize_any(NodeRefVisitor)
    }
}

/// Makes what a line says.
///
/// # Errors
/// Why it is not made, for the report.
pub(super) fn create(
    store: &Arc<Store>,
    write: &mut Write<'_>,
    side: Side,
    text: &[u8],
) -> Result<(), String> {
    match side {
        Side::Nodes => create_node(store, write, text),
        Side::Relationships => create_relationship(store, write, text),
    }
}

fn parse<'t, L: Deserialize<'t>>(text: &'t [u8]) -> Result<L, String> {
    // Serde would take a list for an object whose names are left out.
    if !text.starts_with(b"{") {
        return Err("it is no object".to_owned());
    }
    serde_json::from_slice(text).map_err(|error| no_line(&error))
}

fn create_node(store: &Arc<Store>, write: &mut Write<'_>, text: &[u8]) -> Result<(), String> {
    let line: NodeLine<'_> = parse(text)?;
    let properties = Properties::of(&line.properties);
    properties
        .check(store, Side::Nodes, TypeName::Name(&line.type_name))
        .map_err(|refusal| refusal.to_string())?;
    let made = write.create_node(&line.type_name, &line.key, &properties.values);
    made.map(drop).map_err(|refusal| refusal.to_string())
}

fn create_relationship(store: &Arc<Store>, write: &mut Write<'_>, text: &[u8]) -> Result<(), String> {
    let line: RelationshipLine<'_> = parse(text)?;
    let properties = Properties::of(&line.properties);
    let check = properties.check(store, Side::Relationships, TypeName::Name(&line.type_name));
    check.map_err(|refusal| refusal.to_string())?;
    let (from, to) = (find(write, &line.from, "from")?, find(write, &line.to, "to")?);
    let made = write.create_relationship(&line.type_name, from, to, &properties.values);
    made.map(drop).map_err(|refusal| refusal.to_string())
}

/// Makes what lines say, as far as a role may.
#[derive(Debug)]
pub(super) struct RoleCreator<'a> {
    role: &'a RoleAccess,
    access: WriteAccess<'a>,
}

impl<'a> RoleCreator<'a> {
    pub(super) fn new(role: &'a RoleAccess, store: &'a Store) -> Self {
        Self { role, access: role.write_access(store) }
    }

    /// As [`create`]; a line that is not made leaves nothing, and others stay.
    pub(super) fn create(&self, write: &mut Write<'_>, side: Side, text: &[u8]) -> Result<(), String> {
        match side {
            Side::Nodes => self.create_node(write, text),
            Side::Relationships => self.create_relationship(write, text),
        }
    }

    fn create_node(&self, write: &mut Write<'_>, text: &[u8]) -> Result<(), String> {
        let line: NodeLine<'_> = parse(text)?;
        let of = self.creatable(Side::Nodes, &line.type_name)?;
        let given = self.given((Side::Nodes, of), &line.properties)?;
        let made = write.attempt(|write| self.access.create_node(write, of, &line.key, &given));
        made.map(drop).map_err(not_written)
    }

    fn create_relationship(&self, write: &mut Write<'_>, text: &[u8]) -> Result<(), String> {
        let line: RelationshipLine<'_> = parse(text)?;
        let of = self.creatable(Side::Relationships, &line.type_name)?;
        let given = self.given((Side::Relationships, of), &line.properties)?;
        let ends = (self.find(write, &line.from, "from")?, self.find(write, &line.to, "to")?);
        let made = write.attempt(|write| self.access.create_relationship(write, of, ends, &given));
        made.map(drop).map_err(not_written)
    }

    fn creatable(&self, side: Side, name: &str) -> Result<TypeId, String> {
        let of = self.role.type_named(side, name).filter(|of| self.role.can(side, *of, Grant::Insert));
        of.ok_or_else(|| format!("your role may not create anything of type `{name}`"))
    }

    fn given<'b>(
        &'b self,
        of: (Side, TypeId),
        members: &'b JsonProperties<'_>,
    ) -> Result<Vec<(&'b str, Value<'b>)>, String> {
        given(self.role, of, PropertyUse::Insert, members).map_err(|why| match why {
            NotGiven::NotPermitted(name) => format!("your role may not give `{name}`"),
            NotGiven::NotOfKind(refusal) => refusal.to_string(),
            NotGiven::LacksPreset => LACKS_VALUE.to_owned(),
        })
    }

    /// A node that is hidden is as one that is not there.
    fn find(&self, write: &Write<'_>, end: &NodeRef<'_>, name: &'static str) -> Result<Ref, String> {
        let at = find(write, end, name)?;
        self.access.check_end(at, name).map_err(|fault| match (fault, end) {
            (WriteFault::NoEnd(_), NodeRef::Key(_)) => no_node(name),
            (fault, _) => not_written(fault),
        })?;
        Ok(at)
    }
}

fn not_written(fault: WriteFault) -> String {
    match fault {
        WriteFault::Refused(refusal) => refusal.to_string(),
        WriteFault::NoEnd(_) => Refusal::NoNode.to_string(),
        WriteFault::RowRefused => row_refused().message,
        WriteFault::Invalid(error) => error.message,
    }
}

fn no_node(name: &str) -> String {
    format!("`{name}`: there is no node of this type and key")
}

/// An id is only looked up where the relationship is made.
fn find(write: &Write<'_>, end: &NodeRef<'_>, name: &str) -> Result<Ref, String> {
    match end {
        NodeRef::Id(id) => Ref::from_id(*id).ok_or_else(|| format!("`{name}`: {id} is no id of a node")),
        NodeRef::Key(of) => write.find(&of.type_name, &of.key).ok_or_else(|| no_node(name)),
    }
}

/// The parser counts lines of its own, of which there is only one.
fn no_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) if error.column() > 0 => format!("{what} at byte {}", error.column()),
        _ => text,
    }
}
