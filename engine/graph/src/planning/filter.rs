//! Which items pass and in which order they come, as a request asks for it.

use std::sync::Arc;

use prony_graph_store::{Kind, Test};
use prony_graphql::selection::Value;

/// What filters and orders look at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Subject {
    Id,
    Key,
    Type,
    Property(Arc<str>, Kind),
}

/// Which items pass. Three-valued as in SQL: a comparison with a property that is missing is unknown, and so is its negation;
/// neither lets the item pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// A comparison with null.
    Unknown,
    Test {
        subject: Subject,
        test: Test,
        not: bool,
        operand: Value,
    },
    IsNull {
        subject: Subject,
        is_null: bool,
    },
    Like {
        subject: Subject,
        pattern: Value,
        insensitive: bool,
    },
    /// Of the node where a relationship starts.
    From(Box<Filter>),
    To(Box<Filter>),
}

impl Filter {
    pub(crate) fn everything() -> Self {
        Self::All(Vec::new())
    }

    pub(crate) fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    pub(crate) fn is_everything(&self) -> bool {
        matches!(self, Self::All(parts) if parts.is_empty())
    }
}

/// What is missing comes last ascending and first descending.
#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) subject: Subject,
    pub(crate) descending: bool,
}
