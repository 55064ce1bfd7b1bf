//! What a role may see and write of a graph, as filters by type.

use prony_graph_store::Side;
use prony_graphql::selection::Value;
use prony_source::permissions::{PermissionFault, Permissions, TablePermissions};

use crate::{
    planning::{
        condition,
        filter::Filter,
        lower_filter::Scope,
        rights::{Grant, TypeRights},
    },
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
    pub(crate) rights: TypeRights,
}

/// Restrictions by type. Of a type that has none, nothing can be seen or written.
#[derive(Debug)]
pub(crate) struct Restrictions {
    nodes: Vec<Option<TypeRestrictions>>,
    relationships: Vec<Option<TypeRestrictions>>,
}

impl Restrictions {
    /// Types are named as [`Model::named`] says. Those that are not there are left out: types come and go.
    ///
    /// # Errors
    /// All permissions that a graph does not know, types that are named twice, and conditions that do not fit their type.
    pub(crate) fn new(model: &Model, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let none = |side| model.side(side).types.iter().map(|_| None).collect();
        let mut made = Self { nodes: none(Side::Nodes), relationships: none(Side::Relationships) };
        let mut faults: Vec<_> = permissions.field_faults().collect();
        for (name, granted) in &permissions.tables {
            // A type may come later; until then there is nothing of it to be seen.
            let Some((side, of)) = model.named(name) else { continue };
            if made.of(side, of).is_some() {
                let type_name = &model.side(side).get(of).type_name;
                let message =
                    format!("it is the type `{type_name}`, which has permissions under another name");
                faults.push(PermissionFault { name: name.clone(), message });
                continue;
            }
            match restrictions(model, side, of, granted) {
                Ok(made_of) => made.side_mut(side)[usize::from(of.0)] = Some(made_of),
                Err(messages) => faults.extend(
                    messages.into_iter().map(|message| PermissionFault { name: name.clone(), message }),
                ),
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

    fn side_mut(&mut self, side: Side) -> &mut [Option<TypeRestrictions>] {
        match side {
            Side::Nodes => &mut self.nodes,
            Side::Relationships => &mut self.relationships,
        }
    }

    /// Whether something can be done with a type.
    pub(crate) fn can(&self, side: Side, of: TypeId, grant: Grant) -> bool {
        self.of(side, of).is_some_and(|restrictions| restrictions.rights.can(grant))
    }

    pub(crate) fn of(&self, side: Side, of: TypeId) -> Option<&TypeRestrictions> {
        self.side(side).get(usize::from(of.0))?.as_ref()
    }

    /// The highest `limit` of a list of one type, or of all types of a side together, which is the least of theirs.
    pub(crate) fn limit(&self, side: Side, only: Option<TypeId>) -> Option<u32> {
        let of = |of: &TypeRestrictions| of.rights.limit;
        match only {
            Some(only) => self.of(side, only).and_then(of),
            None => self.side(side).iter().flatten().filter_map(of).min(),
        }
    }
}

fn restrictions(
    model: &Model,
    side: Side,
    of: TypeId,
    granted: &TablePermissions,
) -> Result<TypeRestrictions, Vec<String>> {
    let scope = Scope { model, side, only: Some(of) };
    let mut faults = Vec::new();
    let mut filter = |what: &str, condition: Option<&Value>| {
        let Some(condition) = condition else { return Filter::nothing() };
        let checked = condition::check(model, side, Some(of), condition);
        let lowered = checked.and_then(|()| scope.clauses(Some(condition)).map_err(|error| error.message));
        lowered.unwrap_or_else(|message| {
            faults.push(format!("{what}: {message}"));
            Filter::nothing()
        })
    };
    let update = granted.update.as_ref();
    let (read, insert_check, update, update_check, delete) = (
        filter("`rows` of `select`", granted.select.as_ref().map(|select| &select.rows)),
        filter("`check` of `insert`", granted.insert.as_ref().map(|insert| &insert.check)),
        filter("`rows` of `update`", update.map(|update| &update.rows)),
        filter("`check` of `update`", update.map(|update| &update.check)),
        filter("`rows` of `delete`", granted.delete.as_ref().map(|delete| &delete.rows)),
    );
    let rights = TypeRights::of(model.side(side).get(of), granted).unwrap_or_else(|messages| {
        faults.extend(messages);
        TypeRights::default()
    });
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(TypeRestrictions { read, insert_check, update, update_check, delete, rights })
}
