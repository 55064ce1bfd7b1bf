//! What a role may see and write of a graph, as filters by type.

use prony_graph_store::Side;
use prony_graphql::selection::Value;
use prony_source::permissions::{Columns, PermissionFault, Permissions, TablePermissions};

use crate::{
    planning::{filter::Filter, lower_filter::Scope},
    schema::model::{Model, TypeId},
};

/// Of the nodes or relationships of one type.
#[derive(Debug)]
pub(crate) struct TypeRestrictions {
    pub(crate) read: Filter,
    pub(crate) insert_check: Filter,
    pub(crate) update: Filter,
    pub(crate) update_check: Filter,
    pub(crate) delete: Filter,
}

/// Restrictions by type. Of a type that has none, nothing can be seen or written.
#[derive(Debug)]
pub(crate) struct Restrictions {
    nodes: Vec<Option<TypeRestrictions>>,
    relationships: Vec<Option<TypeRestrictions>>,
}

impl Restrictions {
    /// Types are named as in GraphQL, where no two have the same name. Those that are not there are left out: types come and go.
    ///
    /// # Errors
    /// All permissions that a graph does not know, and conditions that do not fit their type.
    pub(crate) fn new(model: &Model, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let none = |side| model.side(side).types.iter().map(|_| None).collect();
        let mut made = Self { nodes: none(Side::Nodes), relationships: none(Side::Relationships) };
        let mut faults = Vec::new();
        for (name, granted) in &permissions.tables {
            let found = [Side::Nodes, Side::Relationships]
                .into_iter()
                .find_map(|side| Some((side, model.side(side).by_type_name(name)?)));
            // A type may come later; until then there is nothing of it to be seen.
            let Some((side, of)) = found else { continue };
            let restrictions = check(granted).and_then(|()| {
                let made = restrictions(model, side, of, granted);
                made.map(|restrictions| (side, of, restrictions)).map_err(|error| error.message)
            });
            match restrictions {
                Ok((Side::Nodes, of, made_of)) => made.nodes[usize::from(of.0)] = Some(made_of),
                Ok((Side::Relationships, of, made_of)) => {
                    made.relationships[usize::from(of.0)] = Some(made_of);
                }
                Err(message) => faults.push(PermissionFault { name: name.clone(), message }),
            }
        }
        if faults.is_empty() { Ok(made) } else { Err(faults) }
    }

    /// By [`TypeId`].
    pub(crate) fn side(&self, side: Side) -> &[Option<TypeRestrictions>] {
        match side {
            Side::Nodes => &self.nodes,
            Side::Relationships => &self.relationships,
        }
    }

    pub(crate) fn of(&self, side: Side, of: TypeId) -> Option<&TypeRestrictions> {
        self.side(side).get(usize::from(of.0))?.as_ref()
    }
}

/// What permissions may say of a graph: which nodes and relationships of a type, with all of their properties.
fn check(granted: &TablePermissions) -> Result<(), String> {
    let all = |columns: &Columns| *columns == Columns::All;
    let is_known =
        granted.select.as_ref().is_none_or(|select| {
            let uses = [&select.filter, &select.sort, &select.aggregate];
            all(&select.columns)
                && uses.iter().all(|columns| columns.as_ref().is_none_or(all))
                && select.aggregates
                && select.limit.is_none()
        }) && granted.insert.as_ref().is_none_or(|insert| all(&insert.columns) && insert.set.is_empty())
            && granted.update.as_ref().is_none_or(|update| all(&update.columns) && update.set.is_empty());
    if is_known {
        return Ok(());
    }
    Err("of a graph, roles are granted all properties of the nodes and relationships that `rows` and `check` let pass: leave \
         `columns`, `limit` and `set` out, and write `aggregates = true`"
        .to_owned())
}

fn restrictions(
    model: &Model,
    side: Side,
    of: TypeId,
    granted: &TablePermissions,
) -> Result<TypeRestrictions, prony_graphql::error::GraphqlError> {
    let scope = Scope { model, side, only: Some(of) };
    let filter = |condition: Option<&Value>| match condition {
        Some(condition) => scope.clauses(Some(condition)),
        None => Ok(Filter::nothing()),
    };
    let update = granted.update.as_ref();
    Ok(TypeRestrictions {
        read: filter(granted.select.as_ref().map(|select| &select.rows))?,
        insert_check: filter(granted.insert.as_ref().map(|insert| &insert.check))?,
        update: filter(update.map(|update| &update.rows))?,
        update_check: filter(update.map(|update| &update.check))?,
        delete: filter(granted.delete.as_ref().map(|delete| &delete.rows))?,
    })
}
