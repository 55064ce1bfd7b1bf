//! Roles: for each type whether and in which of its things they can look, a property that they may not know of, and what they may
//! write.

use std::collections::BTreeSet;

use prony_source::permissions::{
    Columns, DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames,
    TablePermissions, UpdatePermission,
};
use prony_testkit::{Condition, Seeded, condition};
use rand::RngExt as _;
use serde_json::json;

use super::{
    USER,
    data::{Data, KEYS, NODES, Node, PROPERTIES, RELATIONSHIPS, Seen, TEXTS},
};
use crate::tests::harness::Served;

/// What a role may do with a type.
#[derive(Debug, Clone)]
pub(super) struct Grants {
    /// Which things can be seen; none where the type cannot.
    pub(super) select: Option<Condition>,
    /// The properties that can be used: all, or all but one.
    pub(super) properties: Vec<&'static str>,
    pub(super) insert: Option<Condition>,
    /// What can be updated, and what it must pass then.
    pub(super) update: Option<(Condition, Condition)>,
    pub(super) delete: Option<Condition>,
}

#[derive(Debug, Clone)]
pub(super) struct Role {
    pub(super) nodes: [Grants; NODES.len()],
    pub(super) relationships: [Grants; RELATIONSHIPS.len()],
    /// The most items of a list.
    pub(super) limit: Option<usize>,
}

/// Conditions for nodes, or for relationships with conditions for their ends.
pub(super) fn any_condition(
    chance: &mut Seeded,
    properties: &[&'static str],
    is_node: bool,
    depth: usize,
) -> Condition {
    let mut columns = condition::Columns {
        numbers: properties.iter().copied().filter(|name| *name != "s").collect(),
        ..condition::Columns::default()
    };
    if properties.contains(&"s") {
        columns.texts.push(("s", &TEXTS));
    }
    if is_node {
        columns.texts.push(("_key", &KEYS));
    }
    Condition::generate(chance, &columns, depth, &mut |chance, depth| {
        let end = ["from", "to"][chance.random_range(0..2)];
        // A filter of nodes of all types has the properties that all roles can use.
        (!is_node).then(|| (end.to_owned(), any_condition(chance, &["n"], true, depth)))
    })
}

impl Grants {
    fn generate(chance: &mut Seeded, is_node: bool, is_seen: bool) -> Self {
        let any = |chance: &mut Seeded| any_condition(chance, &PROPERTIES, is_node, 2);
        let hidden = chance.random_range(0..5);
        let has = |chance: &mut Seeded| chance.random_range(0..4) > 0;
        Self {
            select: (is_seen || has(chance)).then(|| any(chance)),
            properties: PROPERTIES
                .into_iter()
                .enumerate()
                .filter(|(index, _)| *index == 0 || *index != hidden)
                .map(|(_, name)| name)
                .collect(),
            insert: has(chance).then(|| any(chance)),
            update: has(chance).then(|| (any(chance), any(chance))),
            delete: has(chance).then(|| any(chance)),
        }
    }

    fn granted(&self, names: &mut SessionNames, limit: Option<usize>) -> TablePermissions {
        let mut made = |condition: &Condition| {
            names.condition(&condition.written(&json!("$user"))).expect("it is a condition")
        };
        let columns: BTreeSet<String> = self.properties.iter().map(|name| (*name).to_owned()).collect();
        let columns = Columns::Only(columns);
        TablePermissions {
            select: self.select.as_ref().map(|rows| SelectPermission {
                columns: columns.clone(),
                limit: limit.map(|limit| limit as u64),
                ..SelectPermission::of_rows(made(rows))
            }),
            insert: self.insert.as_ref().map(|check| InsertPermission::checked(made(check))),
            update: self
                .update
                .as_ref()
                .map(|(rows, check)| UpdatePermission::of_rows(made(rows), made(check))),
            delete: self.delete.as_ref().map(|rows| DeletePermission { rows: made(rows) }),
        }
    }
}

impl Role {
    /// It can see some things of the first types, at least.
    pub(super) fn generate(chance: &mut Seeded) -> Self {
        Self {
            nodes: std::array::from_fn(|index| Grants::generate(chance, true, index == 0)),
            relationships: std::array::from_fn(|index| Grants::generate(chance, false, index == 0)),
            limit: (chance.random_range(0..3) == 0).then(|| chance.random_range(1..9)),
        }
    }

    pub(super) fn sees_node(&self, node: &Node) -> bool {
        self.nodes[node.of].select.as_ref().is_some_and(|rows| rows.holds(&node.seen(), USER))
    }

    /// A copy of the graph without what it may not see.
    pub(super) fn visible(&self, data: &Data) -> Served {
        let (served, places) = data.make();
        served.write(|write| {
            for (of, at) in data.relationships.iter().zip(&places.relationships) {
                let ends = data.seen(of);
                let seen = Seen { key: None, values: &of.values, ends: Some(ends) };
                let is_seen = ends.iter().all(|end| self.sees_node(end))
                    && self.relationships[of.of].select.as_ref().is_some_and(|rows| rows.holds(&seen, USER));
                if !is_seen {
                    write.delete_relationship(*at)?;
                }
            }
            for (node, at) in data.nodes.iter().zip(&places.nodes) {
                if !self.sees_node(node) {
                    write.delete_node(*at)?;
                }
            }
            Ok(())
        });
        served
    }

    /// As a source takes it; the session has one variable.
    pub(super) fn permissions(&self) -> Permissions {
        let mut names = SessionNames::default();
        names.index("user");
        let mut permissions = Permissions::default();
        let all = NODES.iter().zip(&self.nodes).chain(RELATIONSHIPS.iter().zip(&self.relationships));
        for (of, grants) in all {
            let granted = grants.granted(&mut names, self.limit);
            let is_empty = granted.select.is_none()
                && granted.insert.is_none()
                && granted.update.is_none()
                && granted.delete.is_none();
            if !is_empty {
                permissions.tables.insert((*of).to_owned(), granted.into());
            }
        }
        permissions
    }
}
