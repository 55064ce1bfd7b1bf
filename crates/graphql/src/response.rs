//! The response: root fields' bytes spliced unparsed into one body, and errors beside them.

use crate::error::GraphqlError;

/// What a source answered for one root field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldResult {
    /// JSON text of the field's value. `None` where an error left the field without a value: it becomes null,
    /// or its parent does where the field's type is non-null (GraphQL specification, section 6.4.4).
    pub data: Option<Vec<u8>>,
    /// Paths start at the root's response key.
    pub errors: Vec<GraphqlError>,
}

impl FieldResult {
    pub fn data(data: Vec<u8>) -> Self {
        Self { data: Some(data), errors: Vec::new() }
    }

    pub fn failed(error: GraphqlError) -> Self {
        Self { data: None, errors: vec![error] }
    }
}
