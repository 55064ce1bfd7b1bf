//! What a console says of a graph, or of what a role sees of it: how much there is, and a query to begin with.

use prony_graph_store::Side;

use crate::{
    planning::rights::PropertyUse,
    schema::{grants::Grants, model::TypeId},
};

const PROPERTIES: usize = 3;
/// Of the list, and of neighbours of its nodes.
const NODES: [u32; 2] = [5, 3];

impl<'m> Grants<'m> {
    /// `2 node types, 1 relationship type`.
    pub(crate) fn contents(self) -> String {
        let counted = |side: Side, what: &str| match self.selected(side).count() {
            1 => format!("1 {what} type"),
            count => format!("{count} {what} types"),
        };
        format!("{}, {}", counted(Side::Nodes, "node"), counted(Side::Relationships, "relationship"))
    }

    pub(crate) fn list_fields(self) -> Vec<&'m str> {
        self.selected(Side::Nodes).map(|(_, of)| &*of.list_name).collect()
    }

    /// Types of nodes as the store has them.
    pub(crate) fn type_names(self) -> Vec<String> {
        self.selected(Side::Nodes).map(|(_, of)| of.name.to_string()).collect()
    }

    /// A query over the first type, and what is around its nodes; of a role without types, none.
    pub(crate) fn example(self) -> Option<String> {
        let Some((id, of)) = self.selected(Side::Nodes).next() else {
            let of_any = "query Example {\n  graph_nodes(limit: 5) {\n    _id\n    _type\n    _key\n  }\n}\n";
            return self.restrictions.is_none().then(|| of_any.to_owned());
        };
        let properties = self.properties(Side::Nodes, id, PropertyUse::Read).take(PROPERTIES);
        let fields: Vec<&str> =
            ["_key"].into_iter().chain(properties.map(|property| &*property.field)).collect();
        let limit_of = |id: TypeId| {
            let rights = self.restrictions.and_then(|all| all.of(Side::Nodes, id));
            rights.and_then(|of| of.rights.limit)
        };
        let [nodes, neighbors] = NODES;
        let nodes = limit_of(id).unwrap_or(nodes).min(nodes);
        // Neighbours may be of any type.
        let highest = self.selected(Side::Nodes).filter_map(|(id, _)| limit_of(id));
        let neighbors = highest.chain([neighbors]).min().unwrap_or_default();
        Some(format!(
            "query Example {{\n  {}(limit: {nodes}) {{\n    {}\n    neighbors(limit: {neighbors}) {{\n      _type\n      _key\n    }}\n  }}\n}}\n",
            of.list_name,
            fields.join("\n    ")
        ))
    }
}
