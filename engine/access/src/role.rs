//! Roles: what each may do with the sources, and where that was written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use prony_source::{config::Origin, permissions::Permissions};

use crate::interceptors::{InterceptorsByTable, are_called_as};

/// The index of a role in [`AccessSettings::roles`](crate::AccessSettings::roles).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleId(pub(crate) u32);

/// A role with everything that it inherits.
#[derive(Debug, Clone)]
pub struct Role {
    pub name: Arc<str>,
    /// Whether it may do everything, with all rows; `permissions` is empty then.
    pub unrestricted: bool,
    /// The most that an operation may be nested, and may be estimated to cost, beside the limits that hold for all.
    pub max_depth: Option<usize>,
    pub max_complexity: Option<u64>,
    /// Whether it is answered persisted documents alone, and no texts of its own.
    pub only_persisted_documents: bool,
    /// By the sources' names. A source that is not named cannot be seen.
    pub permissions: BTreeMap<String, Permissions>,
    /// Policies that hold for it, by their names; of a role that is `unrestricted` all do.
    pub policies: Arc<BTreeSet<String>>,
    /// What is called around fields of its tables, behind what is called for all roles.
    pub interceptors: InterceptorsByTable,
    pub(crate) places: Places,
}

/// Where permissions were written, for messages about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(pub(crate) BTreeMap<String, SourcePlaces>);

#[derive(Debug, Clone)]
pub(crate) struct SourcePlaces {
    pub(crate) origin: Origin,
    pub(crate) tables: BTreeMap<String, Origin>,
}

impl RoleId {
    /// Of the role in [`AccessSettings::roles`](crate::AccessSettings::roles).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Role {
    /// Whether another role lets do the same, wherever it was written.
    pub(crate) fn grants_as(&self, other: &Self) -> bool {
        self.unrestricted == other.unrestricted
            && self.max_depth == other.max_depth
            && self.max_complexity == other.max_complexity
            && self.only_persisted_documents == other.only_persisted_documents
            && self.permissions == other.permissions
            && self.policies == other.policies
            && are_called_as(&self.interceptors, &other.interceptors)
    }

    /// Where the permissions of a source were written.
    pub fn source_origin(&self, source: &str) -> Option<&Origin> {
        self.places.0.get(source).map(|places| &places.origin)
    }

    /// Where the permissions of a table or type were written, by this role or by one that it inherits.
    pub fn table_origin(&self, source: &str, table: &str) -> Option<&Origin> {
        self.places.0.get(source)?.tables.get(table)
    }
}
