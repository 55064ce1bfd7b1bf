//! Names that other sources have in the schema.

use std::collections::HashSet;

use prony_graphql::schema::Contribution;

/// Names of types and root fields that a source must leave to others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservedNames {
    types: HashSet<String>,
    fields: HashSet<String>,
}

impl ReservedNames {
    /// Reserves all names of a contribution.
    pub fn add(&mut self, contribution: &Contribution) {
        self.types.extend(contribution.types.iter().map(|(name, _)| name.to_string()));
        let roots = [&contribution.query, &contribution.mutation, &contribution.subscription];
        self.fields.extend(roots.into_iter().flatten().map(|field| field.name.to_string()));
    }

    pub fn has_type(&self, name: &str) -> bool {
        self.types.contains(name)
    }

    /// Whether a root field of any kind of operation has the name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.contains(name)
    }
}
