//! Names that others have in the schema: other sources, and the configuration.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use prony_graphql::schema::Contribution;

/// Names of types and fields that a source must leave to others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservedNames {
    types: HashSet<String>,
    fields: HashSet<String>,
    /// Fields that the configuration adds to types, by the names of the types.
    fields_of_types: BTreeMap<String, BTreeSet<String>>,
}

impl ReservedNames {
    /// Reserves all names of a contribution.
    pub fn add(&mut self, contribution: &Contribution) {
        self.types.extend(contribution.types.iter().map(|(name, _)| name.to_string()));
        let roots = [&contribution.query, &contribution.mutation, &contribution.subscription];
        self.fields.extend(roots.into_iter().flatten().map(|field| field.name.to_string()));
    }

    /// Reserves a field of a type, such as one that is joined to it.
    pub fn add_field(&mut self, type_name: &str, field: &str) {
        self.fields_of_types.entry(type_name.to_owned()).or_default().insert(field.to_owned());
    }

    /// The reserved fields of a type, in the order of their names.
    pub fn fields_of(&self, type_name: &str) -> impl Iterator<Item = &str> {
        self.fields_of_types.get(type_name).into_iter().flatten().map(String::as_str)
    }

    pub fn has_type(&self, name: &str) -> bool {
        self.types.contains(name)
    }

    /// Whether a root field of any kind of operation has the name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.contains(name)
    }
}
