//! What sources contribute to a schema: a source under its name, one that is hidden, and the one field of a schema of nothing.

use std::sync::Arc;

use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError},
    schema::{
        Contribution, SourceId,
        build::{field_with_arguments, named},
    },
};
use prony_source::{FieldRequest, PreparedField, Source, SourceSchema};

use super::plan::NO_SOURCE;

/// The address of sources that no configuration names.
pub(super) const OF_PROGRAM: &str = "this program";

/// An open source under its name.
#[derive(Debug)]
pub(crate) struct NamedSource {
    pub(crate) name: String,
    pub(crate) source: Arc<dyn Source>,
    /// Without a password, for the log.
    pub(super) address: String,
    /// Whether its names begin with its own name because another source has them without.
    pub(super) is_prefixed: bool,
}

/// What schemas contribute, by their places; a field that is so described where none of them has a query.
pub(super) fn contributions_of(
    schemas: &[Arc<dyn SourceSchema>],
    description: &str,
) -> Vec<(SourceId, Contribution)> {
    let contributions = schemas.iter().enumerate();
    let mut contributions: Vec<(SourceId, Contribution)> =
        contributions.map(|(index, schema)| (SourceId(index as u16), schema.contribution())).collect();
    if contributions.iter().all(|(_, contribution)| contribution.query.is_empty()) {
        contributions.push((NO_SOURCE, no_queries(description)));
    }
    contributions
}

/// The one field of a schema from which nothing can be read, because GraphQL has none without (section 3.3.1).
pub(super) fn no_queries(description: &str) -> Contribution {
    const FIELD: Name = Name::new_static_unchecked("no_queries");
    const BOOLEAN: Name = Name::new_static_unchecked("Boolean");
    let mut field = field_with_arguments(&FIELD, Vec::new(), named(&BOOLEAN));
    field.make_mut().description = Some(prony_graphql::compiler::Node::new_str(description));
    Contribution { query: vec![field], ..Contribution::default() }
}

/// Of a source that a role does not see, or whose schema is refused.
#[derive(Debug)]
pub(super) struct Hidden;

impl SourceSchema for Hidden {
    fn contribution(&self) -> Contribution {
        Contribution::default()
    }

    fn contents(&self) -> String {
        String::new()
    }

    fn list_fields(&self) -> Vec<&str> {
        Vec::new()
    }

    fn plan(&self, _request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        Err(GraphqlError::new(ErrorCode::Forbidden, "your role may not ask this"))
    }
}
