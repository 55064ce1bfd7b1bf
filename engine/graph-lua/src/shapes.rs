//! The tables that are known as something of a graph by their metatables.

use mlua::{Lua, Table};

/// A metatable for each kind of table. Their methods are the prelude's.
#[derive(Debug, Clone)]
pub(crate) struct Shapes {
    pub(crate) node: Table,
    pub(crate) relationship: Table,
    pub(crate) link: Table,
    /// Of a table without members that is an object, and no list.
    pub(crate) object: Table,
}

/// What objects of a reply are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Plain,
    Node,
    Relationship,
}

impl Shape {
    pub(crate) fn parse(word: Option<&str>) -> Self {
        match word {
            Some("node") => Self::Node,
            Some("relationship") => Self::Relationship,
            _ => Self::Plain,
        }
    }
}

impl Shapes {
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        let protected = || {
            let table = lua.create_table()?;
            table.raw_set("__metatable", false)?;
            Ok::<_, mlua::Error>(table)
        };
        Ok(Self { node: protected()?, relationship: protected()?, link: protected()?, object: protected()? })
    }

    pub(crate) fn of(&self, shape: Shape) -> Option<&Table> {
        match shape {
            Shape::Plain => None,
            Shape::Node => Some(&self.node),
            Shape::Relationship => Some(&self.relationship),
        }
    }

    /// The members that stand first in the JSON of a table with this metatable, in their order; none where it is none of these.
    pub(crate) fn order(&self, metatable: &Table) -> Option<&'static [&'static str]> {
        [
            (&self.node, &["id", "type", "key", "properties"][..]),
            (&self.relationship, &["id", "type", "from", "to", "properties"]),
            (&self.link, &["node_id", "rel_id"]),
            (&self.object, &[]),
        ]
        .into_iter()
        .find_map(|(known, order)| (known == metatable).then_some(order))
    }
}
