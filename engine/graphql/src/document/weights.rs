//! What fields count for in the estimate of an operation, where that is not one each.

use std::{collections::HashMap, sync::Arc};

/// What one field counts for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FieldWeight {
    /// Of the field itself; one where nothing is said.
    pub weight: Option<u64>,
    /// Items of a list that is asked for without a limit.
    pub items: Option<u64>,
}

type OfFields = HashMap<Box<str>, FieldWeight>;

/// Weights of fields, by the type that they belong to and their name; clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldWeights(Option<Arc<HashMap<Box<str>, OfFields>>>);

impl FieldWeights {
    /// Of types, fields and what each counts for.
    pub fn new(weights: impl IntoIterator<Item = (String, String, FieldWeight)>) -> Self {
        let mut found: HashMap<Box<str>, OfFields> = HashMap::new();
        for (parent, field, weight) in weights {
            found.entry(parent.into()).or_default().insert(field.into(), weight);
        }
        Self((!found.is_empty()).then(|| Arc::new(found)))
    }

    /// What a field of a type counts for.
    pub(crate) fn find(&self, parent: &str, field: &str) -> FieldWeight {
        let known = self.0.as_ref().and_then(|types| types.get(parent)?.get(field));
        known.copied().unwrap_or_default()
    }

    /// Types and fields that have one, in no order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let types = self.0.iter().flat_map(|types| types.iter());
        types.flat_map(|(parent, fields)| fields.keys().map(move |field| (&**parent, &**field)))
    }
}
