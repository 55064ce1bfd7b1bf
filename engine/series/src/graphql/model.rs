//! What is served of the entity types, and under which GraphQL names.
//!
//! A type of the default tenant keeps its own name where GraphQL can take it and nothing else has it; the list field is the plural in
//! snake_case, as for tables. What is the same for all types begins with `Series`.

use std::sync::Arc;

use prony_series_store::{AttributeId, Catalog, Table, TableId};
use prony_source::{ReservedNames, dialect::names as dialect_names};

use super::names::{self, Names, ServedAttribute};
use crate::{
    access::{filter::Filter, permissions::Restrictions},
    hidden,
};

/// Types that GraphQL serves; those that came later have the calls over HTTP alone. A schema of so many takes about a second to make.
const TYPES_MAX: usize = 2000;
/// Of all types; as [`TYPES_MAX`].
const ATTRIBUTES_MAX: usize = 20_000;

/// The served types. Names of root fields and of types are unique in it.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(super) types: Vec<Arc<ServedType>>,
    /// For the log: names that GraphQL cannot take, and what is left out.
    pub(super) notes: Vec<String>,
    /// Types that have given way to names of other sources.
    pub(super) collisions: Vec<String>,
    /// Of the catalog that it was made of.
    names_version: u64,
}

/// An entity type of a tenant.
#[derive(Debug, Clone)]
pub(super) struct ServedType {
    pub(super) table: TableId,
    /// The default one is empty.
    pub(super) tenant: Box<str>,
    /// As it was notified.
    pub(super) name: Box<str>,
    /// The object type of entities; other type names are derived from it.
    pub(super) type_name: Box<str>,
    /// `rooms`.
    pub(super) list_name: Box<str>,
    /// `room`.
    pub(super) single_name: Box<str>,
    /// `onRoomRow`.
    pub(super) event_name: Box<str>,
    /// In the order in which they came.
    pub(super) attributes: Vec<ServedAttribute>,
    /// Where it is said what gave the times of rows, if that is kept.
    pub(super) time_attribute: Option<AttributeId>,
    /// The entities that can be seen.
    pub(super) visible: Filter,
    /// The most items of a list, where that is less than the source's own limit.
    pub(super) limit: Option<u32>,
}

impl Model {
    /// Of what there is now, beside what other sources have.
    pub(crate) fn new(catalog: &Catalog, taken: &ReservedNames) -> Self {
        let mut model = Self { names_version: catalog.names_version(), ..Self::default() };
        let all: Vec<(TableId, &Table)> = catalog.served_tables().take(TYPES_MAX).collect();
        let count = catalog.served_tables().count();
        if count > TYPES_MAX {
            let note =
                format!("of {count} types the first {TYPES_MAX} are in GraphQL; the others have HTTP alone");
            model.notes.push(note);
        }
        let (mut names, mut attributes_left) = (Names::beside(taken), ATTRIBUTES_MAX);
        let mut served: Vec<Option<ServedType>> = all.iter().map(|_| None).collect();
        for rank in 0..3 {
            for (place, (id, table)) in all.iter().enumerate() {
                if rank_of(table) == rank {
                    served[place] = Some(model.serve(&mut names, *id, table, &mut attributes_left));
                }
            }
        }
        model.types = served.into_iter().flatten().map(Arc::new).collect();
        model
    }

    fn serve(
        &mut self,
        names: &mut Names<'_>,
        id: TableId,
        table: &Table,
        attributes_left: &mut usize,
    ) -> ServedType {
        let wanted = names::wanted_name(&table.tenant, &table.name);
        let found = names.name_type(&wanted);
        let told = told_name(table);
        if found.has_given_way {
            self.collisions.push(format!(
                "{told} is served as `{}`, its list as `{}`, because another source has its names",
                found.type_name, found.list_name
            ));
        } else if found.type_name != wanted {
            self.notes.push(format!("{told} is served as `{}`", found.type_name));
        }
        let attributes = names::attributes(table, *attributes_left, &found.type_name, names.taken);
        *attributes_left -= attributes.len();
        for attribute in attributes.iter().filter(|of| of.field != of.name) {
            let (name, field) = (&attribute.name, &attribute.field);
            self.notes.push(format!("attribute `{name}` of {told} is served as `{field}`"));
        }
        let (first, all) = (attributes.len(), hidden::visible(table).count());
        if first < all {
            self.notes.push(format!(
                "of {all} attributes of {told} the first {first} are in GraphQL, which serves {ATTRIBUTES_MAX} of all types"
            ));
        }
        ServedType {
            table: id,
            tenant: table.tenant.clone(),
            name: table.name.clone(),
            type_name: found.type_name.into(),
            list_name: found.list_name.into(),
            single_name: found.single_name.into(),
            event_name: found.event_name.into(),
            attributes,
            time_attribute: hidden::time_attribute_of(table),
            visible: Filter::everything(),
            limit: None,
        }
    }

    /// What of it a role sees, by the same names.
    pub(crate) fn restricted(mut self, restrictions: &Restrictions) -> Self {
        let seen = |of: &ServedType| -> Option<ServedType> {
            let select = restrictions.of(&of.tenant, &of.name)?.select.as_ref()?;
            let mut seen = of.clone();
            seen.attributes.retain(|attribute| {
                select.attributes.has(&attribute.name) || select.aggregated.has(&attribute.name)
            });
            for attribute in &mut seen.attributes {
                attribute.is_readable = select.attributes.has(&attribute.name);
                attribute.aggregate.take_if(|_| !select.aggregated.has(&attribute.name));
            }
            // It names attributes that others may not see.
            seen.time_attribute.take_if(|_| !select.attributes.has_all());
            (seen.visible, seen.limit) = (select.visible.clone(), select.limit);
            Some(seen)
        };
        self.types = self.types.iter().filter_map(|of| seen(of)).map(Arc::new).collect();
        // They name what the role may not see.
        self.notes.clear();
        self.collisions.clear();
        self
    }

    /// Whether it was made of the same types and attributes.
    pub(crate) fn is_of(&self, catalog: &Catalog) -> bool {
        self.names_version == catalog.names_version()
    }
}

/// Types that are named first keep their names: those of the default tenant that GraphQL can take, the others of the default tenant,
/// those of other tenants.
fn rank_of(table: &Table) -> u8 {
    match (table.tenant.is_empty(), dialect_names::is_graphql_name(&table.name)) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    }
}

fn told_name(table: &Table) -> String {
    if table.tenant.is_empty() {
        format!("type `{}`", table.name)
    } else {
        format!("type `{}` of tenant `{}`", table.name, table.tenant)
    }
}
