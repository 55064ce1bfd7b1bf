//! Limits on requests; each has a safe default, and reaching one is an error that names it.

use serde::{Deserialize, Serialize};

use super::weights::FieldWeights;

/// Errors of one request that are reported; further ones rarely tell more.
pub(crate) const MAX_REPORTED_ERRORS: usize = 20;

/// What a request may cost before a source sees it. Counts of fields, aliases, root fields and directives are
/// taken after fragments are expanded, over all operations of the document, because all are validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a document. Hand-written and generated documents rarely pass 10 KB; GraphiQL's introspection
    /// query has 2 KB.
    pub max_document_bytes: usize,
    /// Tokens of a document, comments not counted. Parsing and validating cost one to two microseconds each.
    pub max_tokens: usize,
    /// Nesting of selection sets, fragments included, and of list and object literals. Bounds the stack.
    pub max_nesting: usize,
    /// Nested object levels below the root: 1 for `{ members { id } }`. `__schema` and `__type` are exempt; what
    /// they may cost is bounded by `max_nesting` and `max_introspection_bytes`. Beyond 60, `max_nesting` must grow
    /// with it.
    pub max_depth: usize,
    /// Levels of rows below those of the root fields, as clients of the dialect know them: 1 for
    /// `{ meetups { venue { id } } }`; aggregates add none. Without a bound of its own, `max_depth` bounds them.
    pub max_nest_level: usize,
    /// Fields with an alias: the cheap way to ask for one thing many times.
    pub max_aliases: usize,
    /// Bytes of an alias, which stands in the response for each row.
    pub max_alias_bytes: usize,
    /// Root fields; each may be a statement at a database.
    pub max_root_fields: usize,
    /// Directives on anything.
    pub max_directives: usize,
    /// Fields after fragments are expanded, before equal ones are merged: stops fragments that double at each
    /// level.
    pub max_fields: usize,
    /// Variables of one operation.
    pub max_variables: usize,
    /// Operations and fragments of a document.
    pub max_definitions: usize,
    /// Bytes of the shape of variables: about five for each key of each input object.
    pub max_shape_bytes: usize,
    /// Bytes that `__schema` and `__type` may answer with, for each root field: enough for about 2,000 tables.
    pub max_introspection_bytes: usize,
    /// `__schema` and `__type` in a document; tools send one.
    pub max_introspection_fields: usize,
    /// Fields that an operation may answer with at most, lists counting for their limits ([`crate::document::complexity`]):
    /// about as many as a source writes in ten seconds.
    pub max_complexity: u64,
    /// Of fields that count for more or less than one.
    #[serde(skip)]
    pub weights: FieldWeights,
    /// Whether `__schema` and `__type` are answered.
    pub introspection: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_document_bytes: 128 << 10,
            max_tokens: 10_000,
            max_nesting: 64,
            max_depth: 15,
            max_nest_level: 1_000_000_000,
            max_aliases: 1_000,
            max_alias_bytes: 256,
            max_root_fields: 100,
            max_directives: 500,
            max_fields: 2_500,
            max_variables: 256,
            max_definitions: 100,
            max_shape_bytes: 16 << 10,
            max_introspection_bytes: 16 << 20,
            max_introspection_fields: 4,
            max_complexity: 100_000_000,
            weights: FieldWeights::default(),
            introspection: true,
        }
    }
}
