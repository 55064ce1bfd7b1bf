//! What a role may do with series, by the names of tenants, types and attributes as they were notified. A type need not be there yet.

use std::collections::{HashMap, HashSet};

use prony_graphql::selection::Value;
use prony_series_store::small_letters;
use prony_source::permissions::{
    Columns, InsertPermission, PermissionFault, Permissions, SelectPermission, TablePermissions,
};

use super::filter::Filter;

/// Names of attributes, in lower case: they match in any case of letters.
#[derive(Debug, Clone)]
pub(crate) struct AttributeNames(Option<HashSet<String>>);

/// What a role may do with the entities of one type.
#[derive(Debug, Default)]
pub(crate) struct TypeRights {
    pub(crate) select: Option<SelectRights>,
    pub(crate) insert: Option<InsertRights>,
    /// Whose rows can be deleted.
    pub(crate) delete: Option<Filter>,
}

#[derive(Debug)]
pub(crate) struct SelectRights {
    pub(crate) visible: Filter,
    pub(crate) attributes: AttributeNames,
    /// That can be summed up.
    pub(crate) aggregated: AttributeNames,
    pub(crate) limit: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct InsertRights {
    pub(crate) check: Filter,
    pub(crate) attributes: AttributeNames,
}

/// Rights by tenant and type. Of a type that has none, nothing can be seen or written.
#[derive(Debug, Default)]
pub(crate) struct Restrictions(HashMap<(String, String), TypeRights>);

/// The tenant and the type that a permission names: `Room` is a type of the default tenant, `factory/Room` one of another. A type of the
/// default tenant whose name has a slash is named with one before it.
pub(crate) fn named_type(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or(("", name))
}

impl AttributeNames {
    fn of(columns: &Columns) -> Self {
        Self(match columns {
            Columns::All => None,
            Columns::Only(names) => Some(names.iter().map(|name| small_letters(name)).collect()),
        })
    }

    fn none() -> Self {
        Self(Some(HashSet::new()))
    }

    pub(crate) const fn has_all(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(&small_letters(name)))
    }
}

impl Restrictions {
    /// # Errors
    /// All permissions that series do not know.
    pub(crate) fn new(permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let mut faults: Vec<_> = permissions.field_faults().collect();
        let mut made = Self::default();
        for (name, granted) in &permissions.tables {
            let mut messages = Vec::new();
            let rights = rights(granted, &mut messages);
            let (tenant, type_name) = named_type(name);
            made.0.insert((tenant.to_owned(), type_name.to_owned()), rights);
            faults
                .extend(messages.into_iter().map(|message| PermissionFault { name: name.clone(), message }));
        }
        if faults.is_empty() { Ok(made) } else { Err(faults) }
    }

    pub(crate) fn of(&self, tenant: &str, type_name: &str) -> Option<&TypeRights> {
        self.0.get(&(tenant.to_owned(), type_name.to_owned()))
    }
}

fn rights(granted: &TablePermissions, faults: &mut Vec<String>) -> TypeRights {
    let TablePermissions { select, insert, update, delete } = granted;
    if update.is_some() {
        faults.push("rows of series are not updated; grant `insert`".to_owned());
    }
    TypeRights {
        select: select.as_ref().map(|select| select_rights(select, faults)),
        insert: insert.as_ref().map(|insert| insert_rights(insert, faults)),
        delete: delete.as_ref().map(|delete| filter("`rows` of `delete`", &delete.rows, faults)),
    }
}

fn filter(what: &str, condition: &Value, faults: &mut Vec<String>) -> Filter {
    Filter::of_condition(condition).unwrap_or_else(|message| {
        faults.push(format!("{what}: {message}"));
        Filter::nothing()
    })
}

fn select_rights(select: &SelectPermission, faults: &mut Vec<String>) -> SelectRights {
    if select.filter.is_some() || select.sort.is_some() {
        let message =
            "entities are filtered by id and service path alone; leave `filter` and `sort` of `select` out";
        faults.push(message.to_owned());
    }
    let aggregated = match (&select.aggregate, select.aggregates) {
        (_, false) => AttributeNames::none(),
        (columns, true) => AttributeNames::of(columns.as_ref().unwrap_or(&select.columns)),
    };
    SelectRights {
        visible: filter("`rows` of `select`", &select.rows, faults),
        attributes: AttributeNames::of(&select.columns),
        aggregated,
        limit: select.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
    }
}

fn insert_rights(insert: &InsertPermission, faults: &mut Vec<String>) -> InsertRights {
    if !insert.set.is_empty() {
        faults.push("values of notifications cannot be `set`".to_owned());
    }
    InsertRights {
        check: filter("`check` of `insert`", &insert.check, faults),
        attributes: AttributeNames::of(&insert.columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sigma at the end of a word was the same letter as another one.
    #[test]
    fn letters_are_compared_as_those_of_attributes_are() {
        let names = AttributeNames::of(&Columns::Only(["ΑΣ".to_owned()].into_iter().collect()));
        assert!(names.has("ΑΣ") && names.has("ασ"));
        assert!(!names.has("ας"));
    }
}
