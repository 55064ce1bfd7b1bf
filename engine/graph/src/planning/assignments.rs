//! Values that properties are given.

use std::sync::Arc;

use prony_graph_store::Kind;
use prony_graphql::selection::Value;

/// Values of properties as they were given: store's name, kind, value.
pub(crate) type Assignments = Vec<(Arc<str>, Kind, Value)>;
